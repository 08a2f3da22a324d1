"""The regressor of [LuMeng1993]: sixteen parameters, the closed form, and the 2-joint example."""

import numpy as np
import pytest
from dynamics_cases import ARMS, CHAINS, MIMICS, TREES, chain, robot, with_tool
from oracle import close, random_state

import robodyn_ros as rd
from robodyn_ros.dynamics.lu_meng import (
    STANDARD_FROM_SIXTEEN,
    link_regressor,
    lu_meng_parameters,
    lu_meng_regressor,
)
from robodyn_ros.dynamics.regressor import regressor

every_robot = pytest.mark.parametrize("name", [*ARMS, *CHAINS, *TREES, *MIMICS])
uncoupled = pytest.mark.parametrize("name", [*ARMS, *CHAINS, *TREES])
M, MX, MXX, IZZ = 0, 1, 4, 12  # places in theta: m, m px, m px^2, Izz


@every_robot
def test_the_constant_map_gives_the_standard_parameters(name):
    model = robot(name)
    theta = lu_meng_parameters(model).reshape(-1, 16)
    close(theta @ STANDARD_FROM_SIXTEEN.T, model.inertial_parameters().reshape(-1, 10), 1e-14)


def test_the_sixteen_parameters_are_those_of_106_and_125():
    model = robot("tree 2")
    theta, p, inertia = lu_meng_parameters(model)[16:32], model.com[1], model.inertia[1]
    products = [p[0] ** 2, p[1] ** 2, p[2] ** 2, p[0] * p[1], p[0] * p[2], p[1] * p[2]]
    close(theta[:10], model.mass[1] * np.array([1.0, *p, *products]), 1e-15)
    close(theta[10:13], np.diag(inertia), 1e-15)
    close(theta[13:], [-inertia[0, 1], -inertia[0, 2], -inertia[1, 2]], 1e-15)


@every_robot
def test_sixteen_parameters_give_the_torque_2(name):
    model = robot(name).replace(rotor_inertia=0.0)
    state = random_state(model, 1, 3)
    tau = lu_meng_regressor(model, *state) @ lu_meng_parameters(model)
    close(tau, rd.inverse_dynamics(model, *state))


@uncoupled
def test_closed_form_47_is_the_recursion_85(name):
    model = robot(name)
    state = random_state(model, 3, 3)
    closed = [link_regressor(model, link, *state).Y for link in model.link_names]
    close(np.hstack(closed), lu_meng_regressor(model, *state))


@uncoupled
def test_w_is_the_momentum_30(name):
    model = robot(name).replace(rotor_inertia=0.0)
    q, qd = random_state(model, 4)
    parts = [link_regressor(model, link, q, qd, qd) for link in model.link_names]
    theta = lu_meng_parameters(model)
    p, ctqd, g = rd.momentum_terms(model, q, qd)
    close(np.hstack([part.W for part in parts]) @ theta, p)
    close(np.hstack([part.Y_kinetic for part in parts]) @ theta, -ctqd)
    close(np.hstack([part.Y_gravity for part in parts]) @ theta, g)


@pytest.mark.parametrize("name", ["kuka_lwr4", "tree 5"])
def test_a_load_in_a_fixed_frame_has_columns_of_its_own(name):
    model = with_tool(robot(name).replace(rotor_inertia=0.0))
    state = random_state(model, 5, 3)
    com, inertia = np.array([0.1, -0.2, 0.3]), np.diag([0.01, 0.02, 0.025])
    load = rd.Payload("tool", 1.5, com, inertia)
    extra = rd.inverse_dynamics(model.replace(payload=load), *state)
    extra -= rd.inverse_dynamics(model, *state)
    x, y, z = com
    products = np.array([1, x, y, z, x * x, y * y, z * z, x * y, x * z, y * z])
    theta = np.concatenate([1.5 * products, [0.01, 0.02, 0.025, 0, 0, 0]])
    close(link_regressor(model, "tool", *state).Y @ theta, extra, 1e-9)
    assert not link_regressor(model, "table", *state).Y.any()  # the base does not move


def test_what_overflows_only_for_sixteen_parameters_is_refused():
    """Three axes in a plane: no column of the ten is as large as that of m px^2, Iyy + Izz."""
    axes = [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, np.cos(0.45), -np.sin(0.45))]
    model = chain("RRR").replace(axis=axes, rotation=np.eye(3), place=0.0)
    still, qdd = np.zeros(3), np.array([1.75e308, -0.85e308, 0.0])
    assert np.isfinite(regressor(model, still, still, qdd)).all()
    with pytest.raises(rd.ArgumentError, match="one of q, qd, qdd is too large"):
        lu_meng_regressor(model, still, still, qdd)


def test_mimic_joints_batches_and_unknown_links_are_refused():
    coupled, model = robot("mimic 5"), robot("stanford")
    state = np.zeros((3, coupled.n))
    with pytest.raises(rd.ArgumentError, match="mimic"):
        link_regressor(coupled, coupled.link_names[0], *state)
    with pytest.raises(rd.ArgumentError, match="one state"):
        link_regressor(model, model.link_names[0], *np.zeros((3, 2, model.n)))
    with pytest.raises(rd.ArgumentError, match="hand"):
        link_regressor(model, "hand", *np.zeros((3, model.n)))


# The example of sections III-C and IV-C: two links of lengths l1 and l2, point masses at the
# origins of their frames, and a bar as load in frame {3} at the end of link 2.
URDF = """<robot name="two links">
  <link name="base"/>
  <link name="one">{body}</link> <link name="two">{body}</link> <link name="three"/>
  <joint name="j1" type="continuous"><parent link="base"/><child link="one"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="j2" type="continuous"><parent link="one"/><child link="two"/>
    <origin xyz="{l1} 0 0"/><axis xyz="0 0 1"/></joint>
  <joint name="grip" type="fixed"><parent link="two"/><child link="three"/>
    <origin xyz="{l2} 0 0"/></joint>
</robot>"""
BODY = """<inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""
G = 9.81


class Example:
    """The arm with random lengths and a random state, and the paper's abbreviations."""

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        self.l1, self.l2 = random.uniform(0.2, 1.5, 2)
        urdf = URDF.format(l1=float(self.l1), l2=float(self.l2), body=BODY)
        self.model = rd.load_urdf(urdf, rotor_inertia=0.0).replace(gravity=(0.0, -G, 0.0))
        self.q, self.qd, self.qdd = random.uniform(-3.0, 3.0, (3, 2))
        self.c1, self.c2, self.c12 = np.cos([self.q[0], self.q[1], self.q.sum()])
        self.s1, self.s2, self.s12 = np.sin([self.q[0], self.q[1], self.q.sum()])

    def link(self, name):
        return link_regressor(self.model, name, self.q, self.qd, self.qdd)


examples = pytest.mark.parametrize("x", [Example(seed) for seed in range(5)], ids=range(5))


@examples
def test_example_w1_and_w2(x):
    l1, l2, c2, (d1, d2) = x.l1, x.l2, x.c2, x.qd
    m = [
        (l1**2 + l2**2 + 2 * l1 * l2 * c2) * d1 + (l2**2 + l1 * l2 * c2) * d2,
        (l2**2 + l1 * l2 * c2) * d1 + l2**2 * d2,
    ]
    mx = [2 * (l1 * c2 + l2) * d1 + (l1 * c2 + 2 * l2) * d2, (l1 * c2 + 2 * l2) * d1 + 2 * l2 * d2]
    W = x.link("three").W
    close(W[:, [M, MX, MXX]], np.transpose([m, mx, [d1 + d2, d1 + d2]]), 1e-13)
    close(W[:, 10:13], [[0, 0, d1 + d2], [0, 0, d1 + d2]], 1e-13)


@examples
def test_example_y1_y2_and_y3(x):
    l1, l2, s2, c1, c12, (d1, d2) = x.l1, x.l2, x.s2, x.c1, x.c12, x.qd
    parts = x.link("three")
    Y = parts.Y_kinetic + parts.Y_gravity
    pull = l1 * s2 * d1 * (d1 + d2)
    close(Y[:, M], [(l1 * c1 + l2 * c12) * G, l2 * pull + l2 * c12 * G], 1e-13)
    close(Y[:, MX], [c12 * G, pull + c12 * G], 1e-13)
    assert np.abs(Y[:, MXX]).max() < 1e-13  # y141 and Y13
    assert np.abs(parts.Y_kinetic[:, 10:]).max() < 1e-13  # Y2


@examples
def test_example_regressor_63_and_64(x):
    """With c2 beside 2 l1 l2, and 2 l2 in place of 2 l2^2, which the printed (61), (63) lost."""
    l1, l2, c1, c2, s2, c12 = x.l1, x.l2, x.c1, x.c2, x.s2, x.c12
    (d1, d2), (a1, a2) = x.qd, x.qdd
    expected = [
        [
            (l1**2 + 2 * l1 * l2 * c2 + l2**2) * a1 + l2 * (l1 * c2 + l2) * a2
            - l1 * l2 * s2 * d2 * (2 * d1 + d2) + (l1 * c1 + l2 * c12) * G,
            2 * (l1 * c2 + l2) * a1 + (l1 * c2 + 2 * l2) * a2
            - l1 * s2 * d2 * (2 * d1 + d2) + c12 * G,
            a1 + a2,
            a1 + a2,
        ],
        [
            l2 * (l1 * c2 + l2) * a1 + l2**2 * a2 + l1 * l2 * s2 * d1**2 + l2 * c12 * G,
            (l1 * c2 + 2 * l2) * a1 + 2 * l2 * a2 + l1 * s2 * d1**2 + c12 * G,
            a1 + a2,
            a1 + a2,
        ],
    ]  # fmt: skip
    close(x.link("three").Y[:, [M, MX, MXX, IZZ]], expected, 1e-13)
    close(x.link("two").Y[:, M], [l1**2 * a1 + l1 * c1 * G, 0.0], 1e-13)
    assert not x.link("one").Y[:, M].any()


@examples
def test_example_h_c_and_g_of_the_conventional_approach(x):
    """Section III-C, step 2: h11, h12, h22, Y_c and Y_G, for m2, m3, m3 px, m3 px^2, Izz."""
    l1, l2, c1, c2, s2, c12 = x.l1, x.l2, x.c1, x.c2, x.s2, x.c12
    (d1, d2), still = x.qd, np.zeros(2)

    def Y(qd, qdd):
        two, three = (link_regressor(x.model, link, x.q, qd, qdd).Y for link in ("two", "three"))
        return np.column_stack([two[:, M], three[:, [M, MX, MXX, IZZ]]])

    Y_G = Y(still, still)
    h1, h2 = (Y(still, unit) - Y_G for unit in np.eye(2))
    h11 = [l1**2, l1**2 + 2 * l1 * l2 * c2 + l2**2, 2 * (l1 * c2 + l2), 1, 1]
    h12 = [0, l2**2 + l1 * l2 * c2, l1 * c2 + 2 * l2, 1, 1]
    h22 = [0, l2**2, 2 * l2, 1, 1]
    close(h1, [h11, h12], 1e-13)
    close(h2, [h12, h22], 1e-13)
    turning = -l1 * s2 * d2 * (2 * d1 + d2)
    Y_c = [[0, l2 * turning, turning, 0, 0], [0, l1 * l2 * s2 * d1**2, l1 * s2 * d1**2, 0, 0]]
    close(Y(x.qd, still) - Y_G, Y_c, 1e-12)
    close(Y_G[0], np.array([l1 * c1, l1 * c1 + l2 * c12, c12, 0, 0]) * G, 1e-13)
    close(Y_G[1], np.array([0, l2 * c12, c12, 0, 0]) * G, 1e-13)


@examples
def test_example_recursion_85(x):
    """Section IV-C: the same entries by beta and pi, now from the recursion."""
    l1, l2, c2, s2 = x.l1, x.l2, x.c2, x.s2
    (d1, d2), (a1, a2) = x.qd, x.qdd
    b1 = l1 * s2 * a1 - l1 * c2 * d1**2 + x.s12 * G - l2 * (d1 + d2) ** 2
    b2 = l1 * c2 * a1 + l1 * s2 * d1**2 + x.c12 * G + l2 * (a1 + a2)
    pi_33 = l1 * (s2 * b1 + c2 * b2) + l2 * b2
    pi_34 = (l2 + l1 * c2) * (a1 + a2) - l1 * s2 * (d1 + d2) ** 2 + b2
    # The bar in frame {2}: l2 further out along x
    shift = np.array([[1, 0, 0, 0], [l2, 1, 0, 0], [l2**2, 2 * l2, 1, 0], [0, 0, 0, 1]])
    Y = lu_meng_regressor(x.model, x.q, x.qd, x.qdd)[:, 16:]
    expected = [
        [pi_33, pi_34, a1 + a2, a1 + a2],
        [l2 * b2, l2 * (a1 + a2) + b2, a1 + a2, a1 + a2],
    ]
    close(Y[:, [M, MX, MXX, IZZ]] @ shift, expected, 1e-13)
    close(Y[:, M], [l1**2 * a1 + l1 * x.c1 * G, 0.0], 1e-13)  # pi_32


def test_section_v_b_steps_1_to_4_give_the_acceleration():
    model = robot("puma_4dof").replace(rotor_inertia=0.0)
    q, qd, tau = random_state(model, 6, 3)
    pi = model.inertial_parameters()
    bias = regressor(model, q, qd, np.zeros(model.n)) @ pi
    columns = [regressor(model, q, qd, e) @ pi - bias for e in np.eye(model.n)]
    qdd = np.linalg.solve(np.transpose(columns), tau - bias)
    close(qdd, rd.forward_dynamics(model, q, qd, tau), 1e-9)
