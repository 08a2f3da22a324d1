"""Independent programs to compare with: Pinocchio and MuJoCo, built from a RobotModel's arrays."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from robodyn_ros.model.assemble import JointRow, assemble
from robodyn_ros.model.rigid_body import RigidBody
from robodyn_ros.model.robot import RobotModel


def close(actual, expected, tolerance=1e-10):
    """Assert a relative difference below the tolerance, of the whole array's size."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    size = max(np.abs(expected).max(initial=0.0), 1e-3)
    error = np.abs(actual - expected).max(initial=0.0) / size
    assert error < tolerance, f"relative error {error:.2e}\nactual\n{actual}\nexpected\n{expected}"


def depth_first(parent, root=-1):
    for i in np.flatnonzero(np.asarray(parent) == root):
        yield int(i)
        yield from depth_first(parent, i)


class Pinocchio:
    """The same robot in Pinocchio, joint by joint; mimic joints by the matrix v_full = G v."""

    def __init__(self, model: RobotModel):
        self.robot = model
        self.model = pin.Model()
        self.model.gravity.linear = model.gravity
        self.G = np.zeros((len(model.link_names), model.n))
        ids = [0] * len(model.link_names)
        for i in depth_first(model.parent):  # the order Pinocchio's matrix algorithms rely on
            name = model.body_joint_names[i]
            kind = pin.JointModelPrismaticUnaligned if model.prismatic[i] else None
            joint = (kind or pin.JointModelRevoluteUnaligned)(model.axis[i].copy())
            parent = ids[model.parent[i]] if model.parent[i] >= 0 else 0
            place = pin.SE3(model.rotation[i].copy(), model.place[i].copy())
            ids[i] = self.model.addJoint(parent, joint, place, name)
            inertia = pin.Inertia(
                float(model.mass[i]), model.com[i].copy(), model.inertia[i].copy()
            )
            self.model.appendBodyToJoint(ids[i], inertia, pin.SE3.Identity())
            self.G[i, model.coordinate[i]] = model.ratio[i]
        self.ids = ids
        # P brings Pinocchio's order into ours.
        self.P = np.zeros((len(ids), len(ids)))
        for i, k in enumerate(ids):
            self.P[i, self.model.joints[k].idx_v] = 1.0
        self.data = self.model.createData()

    def full(self, v):
        return self.P.T @ (self.G @ v)

    def positions(self, q):
        return self.P.T @ (self.G @ q + self.robot.offset)

    def reduce(self, tau):
        return self.G.T @ (self.P @ tau)

    def reduce_matrix(self, A):
        S = self.P.T @ self.G
        return S.T @ A @ S

    @property
    def rotors(self):
        return np.diag(self.robot.rotor_inertia)

    def inverse_dynamics(self, q, qd, qdd):
        q, v, a = self.positions(q), self.full(qd), self.full(qdd)
        return self.reduce(pin.rnea(self.model, self.data, q, v, a)) + self.rotors @ qdd

    def mass_matrix(self, q):
        M = pin.crba(self.model, self.data, self.positions(q))
        M = np.triu(M) + np.triu(M, 1).T
        return self.reduce_matrix(M) + self.rotors

    def gravity(self, q):
        return self.reduce(pin.computeGeneralizedGravity(self.model, self.data, self.positions(q)))

    def coriolis(self, q, qd):
        C = pin.computeCoriolisMatrix(self.model, self.data, self.positions(q), self.full(qd))
        return self.reduce_matrix(C)

    def force_rate(self, q, qd, qdd, qddd):
        q_, v, a = self.positions(q), self.full(qd), self.full(qdd)
        dq, dv, da = pin.computeRNEADerivatives(self.model, self.data, q_, v, a)
        da = np.triu(da) + np.triu(da, 1).T
        rate = dq @ v + dv @ a + da @ self.full(qddd)
        return self.reduce(rate) + self.rotors @ qddd

    def frame(self, link):
        """Pinocchio's frame for a link of the robot, made when first asked for."""
        if not self.model.existFrame(link + "_frame"):
            place = self.robot.frame(link)
            joint = self.ids[place.body] if place.body >= 0 else 0
            se3 = pin.SE3(np.array(place.rotation), np.array(place.place))
            frame = pin.Frame(link + "_frame", joint, 0, se3, pin.FrameType.OP_FRAME)
            self.model.addFrame(frame)
            self.data = self.model.createData()
        return self.model.getFrameId(link + "_frame")


def random_rotation(random):
    Q, R = np.linalg.qr(random.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q if np.linalg.det(Q) > 0 else Q[:, ::-1]


def random_body(random):
    """A physically possible body: the inertia of a handful of point masses."""
    points, masses = random.normal(scale=0.2, size=(6, 3)), random.uniform(0.1, 1.0, 6)
    com = masses @ points / masses.sum()
    arms = points - com
    inertia = sum(
        m * ((r @ r) * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True)
    )
    return RigidBody(float(masses.sum()), com, inertia)


def random_tree(seed, bodies=None, *, branching=0.3, prismatic=0.3, mimic=0.0) -> RobotModel:
    """A random fixed-base tree: all joint types, random axes and rotations, seeded."""
    random = np.random.default_rng(seed)
    bodies = int(random.integers(1, 31)) if bodies is None else bodies
    rows: list[JointRow] = []
    for i in range(bodies):
        branch = i > 0 and random.random() < branching
        parent = int(random.integers(-1, i)) if branch else i - 1
        axis = random.normal(size=3)
        if random.random() < 0.3:  # some axes along a coordinate axis, either way
            axis = np.eye(3)[random.integers(3)] * random.choice([-1.0, 1.0])
        own = [row.joint for row in rows if row.mimics is None]
        follows = bool(own) and random.random() < mimic
        rows.append(
            JointRow(
                joint=f"j{i}",
                link=f"l{i}",
                parent=parent,
                prismatic=bool(random.random() < prismatic),
                axis=axis / np.linalg.norm(axis),
                rotation=random_rotation(random),
                place=random.normal(scale=0.3, size=3),
                body=random_body(random),
                rotor_inertia=float(random.uniform(0.0, 0.5)),
                mimics=str(random.choice(own)) if follows else None,
                ratio=float(random.uniform(-2.0, 2.0)) if follows else 1.0,
                offset=float(random.uniform(-0.5, 0.5)) if follows else 0.0,
            )
        )
    gravity = random.normal(scale=6.0, size=3)
    return assemble(f"tree {seed}", rows, gravity=gravity)


def random_state(model, seed, count=2):
    """`count` random vectors of n numbers: q, qd, …."""
    random = np.random.default_rng(seed)
    return tuple(random.normal(size=model.n) for _ in range(count))
