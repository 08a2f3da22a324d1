"""Pinocchio's view of a URDF, mapped by joint name to the coordinates of our model.

The mapping is made here from what a test says about its robot: which joints are locked, cut away
or coupled. Nothing is asked of the model under test but its joint names.
"""

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")


class Oracle:
    def __init__(self, xml, *, locked=None, mimic=None, cut=()):
        self.model = pin.buildModelFromXML(xml)
        self.locked = locked or {}
        self.mimic = mimic or {}  # follower -> (leader, ratio, offset)
        self._remove(cut)
        self.data = self.model.createData()

    def _remove(self, cut):
        """Take the mass from everything that the cut joints carry."""
        gone = {self.model.getJointId(name) for name in cut}
        for j in range(1, self.model.njoints):
            if self.model.parents[j] in gone:
                gone.add(j)
            if j in gone:
                self.model.inertias[j] = pin.Inertia.Zero()

    def configuration(self, names, q):
        position = {**self.locked, **dict(zip(names, q, strict=True))}
        for name, (leader, ratio, offset) in self.mimic.items():
            position[name] = ratio * position[leader] + offset
        full = pin.neutral(self.model)
        for name, value in position.items():
            joint = self.model.joints[self.model.getJointId(name)]
            turns = joint.nq == 2  # a continuous joint is stored as cosine and sine
            full[joint.idx_q : joint.idx_q + joint.nq] = (
                [np.cos(value), np.sin(value)] if turns else value
            )
        return full

    def coupling(self, names):
        """G with v_full = G qd."""
        G = np.zeros((self.model.nv, len(names)))
        for k, name in enumerate(names):
            G[self._row(name), k] = 1.0
        for name, (leader, ratio, _) in self.mimic.items():
            if leader in names:
                G[self._row(name), list(names).index(leader)] = ratio
        return G

    def _row(self, name):
        return self.model.joints[self.model.getJointId(name)].idx_v

    def mass_matrix(self, names, q):
        M = pin.crba(self.model, self.data, self.configuration(names, q))
        M = np.triu(M) + np.triu(M, 1).T
        G = self.coupling(names)
        return G.T @ M @ G

    def placement(self, names, q, link):
        """Rotation and place of a link in the frame of the URDF's root."""
        pin.framesForwardKinematics(self.model, self.data, self.configuration(names, q))
        frame = self.data.oMf[self.model.getFrameId(link, pin.FrameType.BODY)]
        return frame.rotation, frame.translation


def relative_error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()
