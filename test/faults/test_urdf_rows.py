"""Rows 19 to 25: descriptions that a node must refuse, and those that it must get right.

What is refused in detail, and why, is in test/model/test_urdf_faults.py; here a real node gets the
description, as from robot_description.
"""

import time

import numpy as np
from fault_rig import Case, Recorder, cases, own_domain, rclpy
from model.urdf_texts import COUPLED, COUPLINGS, PAIR, TREE, bare, joint, limit, link, robot

import robodyn_ros as rd

from rclpy.signals import SignalHandlerOptions  # isort: skip
from std_msgs.msg import String  # isort: skip

from robodyn_ros.nodes.controller_node import ControllerNode  # isort: skip
from robodyn_ros.nodes.dynamics_node import DynamicsNode  # isort: skip
from robodyn_ros.nodes.simulator_node import SimulatorNode  # isort: skip

PAIR_TEXT = robot(*PAIR)
LONGEST = 2.0  # [s] until a node has refused


class Described:
    """A node that has been given this description."""

    wall = 0.0

    def __init__(self, text, make=DynamicsNode, **parameters):
        given = [x for item in parameters.items() for x in ("-p", "robot.{}:={}".format(*item))]
        rclpy.init(
            args=["--ros-args", "--log-level", "fatal", *given],
            domain_id=own_domain(),
            signal_handler_options=SignalHandlerOptions.NO,
        )
        try:
            self.node = make()
            self.log = Recorder(self)
            self.node.get_logger = lambda: self.log
            begun = time.process_time()
            self.node.receive("robot_description", String(data=text))
            self.took = time.process_time() - begun
            self.node.destroy_node()
        finally:
            rclpy.try_shutdown()

    @property
    def said(self):
        return " | ".join(text for _, text in self.log.warnings)


def refused(text, *elements, within=LONGEST, **node):
    """The node ends, with exit code 1 and a sentence that names the element."""

    def play():
        found = Described(text, **node)
        assert found.node.robot is None
        assert found.node.stopped and found.node.exit_code == 1
        assert found.took < within
        for element in elements:
            assert element in found.said, found.said

    return play


def taken(text, *says, **node):
    """The node is ready; what is odd is said."""

    def play():
        found = Described(text, **node)
        assert found.node.robot is not None, found.said
        assert not found.node.stopped
        for word in says:
            assert word in found.said, found.said

    return play


def changed(old, new):
    assert old in PAIR_TEXT
    return PAIR_TEXT.replace(old, new, 1)


def moved_by(more, kind="revolute", axis="0 0 1"):
    return robot(bare("base"), link("a"), joint("j1", "base", "a", kind, axis=axis, more=more))


def massless_is_lumped():
    """A frame without mass on a fixed joint is normal; one that moves is not."""
    tool = robot(*PAIR, bare("tool"), joint("to_tool", "a", "tool", "fixed"))
    taken(tool)()
    moving = robot(*PAIR, bare("tool"), joint("j2", "a", "tool", more=limit()))
    refused(moving, "'j2' meets no inertia")()


ODD = changed('izz="0.04"', 'izz="0.4"')  # more than the other two together


def strict_mode(make):
    """Refused where that is wanted; where not, and where there is nothing odd, taken."""

    def play():
        taken(ODD, "link 'a'", make=make)()
        taken(PAIR_TEXT, make=make, strict="true")()
        refused(ODD, "link 'a'", make=make, strict="true")()

    return play


def as_pinocchio(text, **told):
    """Every coordinate moves what it should, by how much Pinocchio says, at rest and in motion."""

    def play():
        from model.pinocchio_oracle import Oracle

        model, oracle = rd.load_urdf(text), Oracle(text, **told)
        random = np.random.default_rng(21)
        for _ in range(5):
            q, qd, qdd = (random.uniform(-0.4, 0.4, model.n) for _ in range(3))
            M, tau = oracle.mass_matrix(model.joint_names, q), torques(oracle, model, q)
            right = {"rtol": 0.0, "atol": 1e-12}
            np.testing.assert_allclose(rd.mass_matrix(model, q), M, **right)
            np.testing.assert_allclose(rd.momentum(model, q, qd), M @ qd, **right)
            np.testing.assert_allclose(rd.gravity_torque(model, q), tau(0 * qd, 0 * qd), **right)
            velocity = tau(qd, 0 * qd) - tau(0 * qd, 0 * qd)
            np.testing.assert_allclose(rd.velocity_torque(model, q, qd), velocity, **right)
            np.testing.assert_allclose(
                rd.inverse_dynamics(model, q, qd, qdd), tau(qd, qdd), **right
            )

    return play


def torques(oracle, model, q):
    """tau(qd, qdd) at this posture, by Pinocchio's recursion over all joints."""
    from model.pinocchio_oracle import pin

    G, names = oracle.coupling(model.joint_names), model.joint_names
    full = oracle.configuration(names, q)
    return lambda qd, qdd: G.T @ pin.rnea(oracle.model, oracle.data, full, G @ qd, G @ qdd)


def normalized_axis():
    long = rd.load_urdf(moved_by(limit(), axis="0 0 5"))
    short = rd.load_urdf(moved_by(limit()))
    np.testing.assert_allclose(long.axis, short.axis)


BOMB = '<!DOCTYPE b [<!ENTITY a0 "ha">' + "".join(
    f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)
)
FILE = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]><robot name="&x;"/>'
DTD = '<!DOCTYPE r SYSTEM "http://127.0.0.1:9/x">' + PAIR_TEXT


def with_mesh(path):
    shape = f'<geometry><mesh filename="{path}"/></geometry>'
    return PAIR_TEXT.replace("</link>", f"<visual>{shape}</visual></link>")


LOOP = (joint("j2", "a", "b", more=limit()), joint("j3", "b", "a", more=limit()))
CASES = [
    Case(19, "negative mass", "X", refused(changed('value="1.0"', 'value="-1"'), "'a'")),
    Case(19, "NaN mass", "X", refused(changed('value="1.0"', 'value="nan"'), "'a'")),
    Case(19, "indefinite inertia", "X", refused(changed('ixx="0.02"', 'ixx="-1"'), "'a'")),
    Case(19, "negative mass of the base", "X", refused(robot(link("base", -1.0), *PAIR[1:]),
                                                       "'base'")),
    Case(19, "indefinite inertia of the base", "X",
         refused(robot(link("base", inertia=(-1.0, 0.03, 0.04)), *PAIR[1:]), "'base'")),
    Case(19, "massless moving body", "X", massless_is_lumped),
    Case(19, "triangle inequality", "warning", taken(ODD, "link 'a'")),
    Case(19, "triangle inequality, strict detector", "X", strict_mode(DynamicsNode)),
    Case(19, "triangle inequality, strict controller", "X", strict_mode(ControllerNode)),
    Case(19, "triangle inequality, strict simulator", "X", strict_mode(SimulatorNode)),
    Case(20, "loop", "X", refused(robot(bare("base"), link("a"), link("b"), *LOOP), "'j")),
    Case(20, "two roots", "X", refused(robot(*PAIR, bare("other"), link("c"),
                                             joint("j9", "other", "c", more=limit())), "'other'")),
    Case(20, "orphan", "X", refused(robot(*PAIR, link("lost")), "'lost'")),
    Case(20, "duplicate link", "X", refused(robot(*PAIR, link("a")), "'a'")),
    Case(
        20,
        "duplicate joint",
        "X",
        refused(robot(*PAIR, link("b"), joint("j1", "a", "b", more=limit())), "'j1'"),
    ),
    Case(21, "all kinds of joints, branches", "right", as_pinocchio(TREE)),
    Case(22, "mimic joints", "coupled", as_pinocchio(COUPLED, mimic=COUPLINGS)),
    Case(22, "floating joint", "X", refused(moved_by("", "floating"), "'j1'", "lock")),
    Case(22, "planar joint", "X", refused(moved_by("", "planar"), "'j1'", "root")),
    Case(23, "zero axis", "X", refused(moved_by(limit(), axis="0 0 0"), "'j1'")),
    Case(23, "lower above upper", "X", refused(moved_by(limit(1, -1)), "'j1'")),
    Case(23, "axis of length 5", "normalized", normalized_axis),
    Case(24, "entity bomb", "X", refused(BOMB + ']><robot name="&a11;"/>', "DOCTYPE", within=1.0)),
    Case(24, "external entity", "X", refused(FILE, "DOCTYPE", within=1.0)),
    Case(24, "external DTD", "X", refused(DTD, "DOCTYPE", within=1.0)),
    Case(24, "50 MB", "X", refused(PAIR_TEXT + " " * 50_000_000, "5 MB", within=1.0)),
    Case(24, "200,000 levels", "X", refused("<robot>" + "<a>" * 200_000, "64 levels", within=1.0)),
    Case(25, "mesh that climbs out", "never opened", taken(with_mesh("../../../etc/passwd"))),
    Case(25, "mesh by http", "never opened", taken(with_mesh("http://127.0.0.1:9/mesh.stl"))),
]  # fmt: skip


@cases(*CASES)
def test_urdf(case):
    case.play()
