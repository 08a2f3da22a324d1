"""The papers' own numbers and closed forms."""

import numpy as np
import pytest
from dynamics_cases import quintic
from oracle import close, random_state

import robodyn_ros as rd


def test_kuka_lwr4_gravity_torque_stretched_out():
    model = rd.robots.kuka_lwr4()
    q = np.zeros(7)
    q[1] = np.pi / 2.0
    expected = [0.0, -47.28, -0.40, 13.37, -0.41, -0.28, -0.009]
    np.testing.assert_allclose(rd.gravity_torque(model, q), expected, atol=0.006)


@pytest.mark.parametrize(
    ("rotors", "expected", "tolerance"),
    [
        (False, [0.00012, 0.0030, 0.0035, 0.0059, 0.0425, 0.0825, 3.148], 0.03),
        (True, [0.395, 0.399, 0.782, 2.03, 2.11, 3.22, 6.24], 0.003),
    ],
)
def test_kuka_lwr4_eigenvalues_of_the_mass_matrix(rotors, expected, tolerance):
    model = rd.robots.kuka_lwr4()
    model = model if rotors else model.replace(rotor_inertia=0.0)
    values = np.linalg.eigvalsh(rd.mass_matrix(model, np.zeros(7)))
    np.testing.assert_allclose(values, expected, rtol=tolerance)


def test_khalil_example_7_1():
    """A and Q of the first three links of the RX-90, with general inertial parameters."""
    random = np.random.default_rng(71)
    D3, G3 = 0.45, -9.81
    rows = []
    for alpha, a in ((0.0, 0.0), (np.pi / 2, 0.0), (0.0, D3)):
        B = random.normal(scale=0.3, size=(3, 3))
        second = B @ B.T  # second moments of mass: physically possible
        rows.append(
            rd.DHRow(
                alpha=alpha,
                a=a,
                mass=random.uniform(1.0, 5.0),
                com=random.normal(scale=0.2, size=3),
                inertia=np.trace(second) * np.eye(3) - second,
                rotor_inertia=random.uniform(0.1, 1.0),
            )
        )
    model = rd.from_dh(rows, convention="modified", gravity=(0.0, 0.0, G3))
    Ia1, Ia2, Ia3 = model.rotor_inertia
    _, (M2, MX2, MY2, MZ2, XX2, XY2, XZ2, YY2, YZ2, ZZ2), third = (
        model.inertial_parameters().reshape(3, 10)
    )
    M3, MX3, MY3, MZ3, XX3, XY3, XZ3, YY3, YZ3, ZZ3 = third
    ZZ1 = model.inertial_parameters()[9]

    for seed in range(3):
        (q,) = random_state(model, seed, 1)
        S2, C2, S3, C3 = np.sin(q[1]), np.cos(q[1]), np.sin(q[2]), np.cos(q[2])
        S23, C23 = np.sin(q[1] + q[2]), np.cos(q[1] + q[2])
        A11 = (
            Ia1 + ZZ1 + S2**2 * XX2 + 2 * C2 * S2 * XY2 + C2**2 * YY2
            + S23**2 * XX3 + 2 * C23 * S23 * XY3 + C23**2 * YY3
            + 2 * C2 * C23 * D3 * MX3 - 2 * C2 * S23 * D3 * MY3 + C2**2 * D3**2 * M3
        )  # fmt: skip
        A12 = S2 * XZ2 + C2 * YZ2 + S23 * XZ3 + C23 * YZ3 - S2 * D3 * MZ3
        A13 = S23 * XZ3 + C23 * YZ3
        A22 = Ia2 + ZZ2 + ZZ3 + 2 * C3 * D3 * MX3 - 2 * S3 * D3 * MY3 + D3**2 * M3
        A23 = ZZ3 + C3 * D3 * MX3 - S3 * D3 * MY3
        A33 = Ia3 + ZZ3
        A = [[A11, A12, A13], [A12, A22, A23], [A13, A23, A33]]
        close(rd.mass_matrix(model, q), A, 1e-13)

        Q2 = -G3 * (C2 * MX2 - S2 * MY2 + C23 * MX3 - S23 * MY3 + D3 * C2 * M3)
        Q3 = -G3 * (C23 * MX3 - S23 * MY3)
        close(rd.gravity_torque(model, q), [0.0, Q2, Q3], 1e-13)


def two_rods(q, qd, qdd, l1, l2):
    """The textbook model of a 2R arm of thin rods, per part: inertial, velocity, gravity."""
    m1, m2, g = 10.0, 5.0, 9.81
    I1, I2, d1, d2 = m1 * l1**2 / 12, m2 * l2**2 / 12, l1 / 2, l2 / 2
    a1, a2, a3 = I1 + m1 * d1**2 + I2 + m2 * d2**2 + m2 * l1**2, m2 * l1 * d2, I2 + m2 * d2**2
    q1, q2 = q.T
    c2, s2 = np.cos(q2), np.sin(q2)
    M11, M12, M22 = a1 + 2 * a2 * c2, a3 + a2 * c2, a3
    inertial = np.array([M11 * qdd[:, 0] + M12 * qdd[:, 1], M12 * qdd[:, 0] + M22 * qdd[:, 1]])
    velocity = np.array(
        [-a2 * s2 * (qd[:, 1] ** 2 + 2 * qd[:, 0] * qd[:, 1]), a2 * s2 * qd[:, 0] ** 2]
    )
    far = m2 * g * d2 * np.cos(q1 + q2)
    gravity = np.array([(m1 * d1 + m2 * l1) * g * np.cos(q1) + far, far])
    return inertial.T, velocity.T, gravity.T


@pytest.mark.parametrize("lengths", [(1.0, 1.0), (0.5, 0.8)])
def test_de_lucas_slides_torque_of_the_2r_arm_split_in_three(lengths):
    model = rd.robots.planar_2r(*lengths)
    t = np.linspace(0.0, 1.0, 101)
    start, end = np.radians([90.0, -180.0]), np.radians([0.0, 90.0])
    q, qd, qdd, _ = quintic(start, end, 1.0, t)
    inertial, velocity, gravity = two_rods(q, qd, qdd, *lengths)
    close(rd.inverse_dynamics(model, q, np.zeros(2), qdd, gravity=False), inertial, 1e-12)
    close(rd.velocity_torque(model, q, qd), velocity, 1e-12)
    close(rd.gravity_torque(model, q), gravity, 1e-12)
    close(rd.inverse_dynamics(model, q, qd, qdd), inertial + velocity + gravity, 1e-12)
    # At the ends nothing moves or accelerates: gravity alone is left
    close(rd.inverse_dynamics(model, q, qd, qdd)[[0, -1]], gravity[[0, -1]], 1e-12)


def test_planar_2r_has_the_textbook_factorization():
    # The slides' C with C qd = c and Mdot - 2 C skew-symmetric is the Christoffel one.
    model = rd.robots.planar_2r()
    q, qd = random_state(model, 2)
    h = -5.0 * 0.5 * np.sin(q[1])
    C = [[h * qd[1], h * (qd[0] + qd[1])], [-h * qd[0], 0.0]]
    close(rd.coriolis_matrix(model, q, qd, christoffel=True), C, 1e-13)
