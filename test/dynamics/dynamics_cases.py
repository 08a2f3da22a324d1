"""Robots, motions, derivatives and functions that the tests of the dynamics share."""

from functools import cache, partial

import numpy as np
from oracle import Pinocchio, random_rotation, random_tree

import robodyn_ros as rd
from robodyn_ros.dynamics.kinematics import external_torque_rate, jacobian_rate

ARMS = ("lwr_iii", "kuka_lwr4", "stanford", "planar_2r", "rx90", "puma_4dof")
CHAINS = ("chain RRRRRRR", "chain RRPRRRR", "chain PRRPRPR")  # those of facts and paper
TREES = ("tree 1", "tree 2", "tree 5")
MIMICS = ("mimic 3", "mimic 5")
SOME = ("kuka_lwr4", "stanford", CHAINS[2], *TREES, *MIMICS)


@cache
def robot(name):
    """An arm of the papers, a random tree ('tree 5', 'mimic 5'), or a chain ('chain RRP')."""
    kind, _, rest = name.partition(" ")
    if kind == "tree":
        return random_tree(int(rest))
    if kind == "mimic":
        model = random_tree(int(rest), mimic=0.4)
        assert model.coupled
        return model
    if kind == "chain":
        return chain(rest)
    return getattr(rd.robots, kind)()


def chain(pattern, seed=0):
    """A random chain with revolute (R) and prismatic (P) joints in this order."""
    model = random_tree(seed, len(pattern), branching=0.0)
    return model.replace(prismatic=[letter == "P" for letter in pattern])


@cache
def pinocchio(name):
    return Pinocchio(robot(name))


def with_tool(model, seed=0):
    """The robot with a frame fixed to its last body, and one fixed to the base."""
    random = np.random.default_rng(seed)
    tool = rd.Frame(len(model.link_names) - 1, random_rotation(random), random.normal(size=3))
    table = rd.Frame(-1, random_rotation(random), random.normal(size=3))
    return model.replace(frames={**model.frames, "tool": tool, "table": table})


def with_friction(model, seed=0):
    """The robot with viscous, Coulomb and Stribeck friction in every joint."""
    random = np.random.default_rng(seed)
    coulomb = random.uniform(0.5, 2.0, model.n)
    return model.replace(
        viscous=random.uniform(0.1, 2.0, model.n),
        coulomb=coulomb,
        stiction=coulomb * random.uniform(1.1, 2.0, model.n),
        stribeck=random.uniform(0.5, 5.0, model.n),
    )


class Motion:
    """A smooth motion of all joints: `at(t)` is q, qd, qdd, qddd, `with_snap(t)` also qdddd."""

    def __init__(self, model, seed=0):
        random = np.random.default_rng(seed)
        self.amplitude, self.rate, self.phase = random.uniform(0.3, 1.5, (3, model.n))
        self.middle = random.normal(size=model.n)

    def at(self, t):
        A, w, angle = self.amplitude, self.rate, self.rate * t + self.phase
        s, c = np.sin(angle), np.cos(angle)
        return self.middle + A * s, A * w * c, -A * w**2 * s, -A * w**3 * c

    def with_snap(self, t):
        snap = self.amplitude * self.rate**4 * np.sin(self.rate * t + self.phase)
        return *self.at(t), snap


def derivative(f, h=1e-3):
    """f'(0) by differences of fourth order; f may return an array."""
    return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)


def gradient(f, q, h=1e-3):
    """df/dq along the last axis."""
    return np.stack([derivative(lambda s, e=e: f(q + s * e), h) for e in np.eye(q.size)], axis=-1)


def mass_matrix_rate(model, q, qd):
    return derivative(lambda s: rd.mass_matrix(model, q + s * qd))


def quintic(start, end, duration, t):
    """Rest to rest by a polynomial of fifth order: q, qd, qdd, qddd, one row per time."""
    s = (np.asarray(t) / duration)[:, None]
    way = np.subtract(end, start)
    q = start + way * (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5)
    qd = way / duration * (30.0 * s**2 - 60.0 * s**3 + 30.0 * s**4)
    qdd = way / duration**2 * (60.0 * s - 180.0 * s**2 + 120.0 * s**3)
    qddd = way / duration**3 * (60.0 - 360.0 * s + 360.0 * s**2)
    return q, qd, qdd, qddd


def _last(function, **options):
    """A kinematic function of a point on the robot's last link."""
    return lambda model, *state: function(model, *state, model.link_names[-1], **options)


POINT = {"point": (0.1, -0.2, 0.3)}
Q, QD, QDD, TAU = "q", "qd", "qdd", "tau"

# Name of a function of states: the function, and the names of its states.
FUNCTIONS = {
    "inverse_dynamics": (rd.inverse_dynamics, (Q, QD, QDD)),
    "inverse_dynamics, no gravity": (partial(rd.inverse_dynamics, gravity=False), (Q, QD, QDD)),
    "inverse_dynamics, friction": (partial(rd.inverse_dynamics, friction=True), (Q, QD, QDD)),
    "gravity_torque": (rd.gravity_torque, (Q,)),
    "velocity_torque": (rd.velocity_torque, (Q, QD)),
    "mass_matrix_column": (partial(rd.mass_matrix_column, i=0), (Q,)),
    "momentum": (rd.momentum, (Q, QD)),
    "feedback_linearizing_torque": (
        partial(rd.feedback_linearizing_torque, kp=4.0, kd=2.0),
        (Q, QD, "q_d", "qd_d", "qdd_d"),
    ),
    "ne_star": (rd.ne_star, (Q, QD, "qd_a", QDD)),
    "ne_star, 1010": (partial(rd.ne_star, variant="1010"), (Q, QD, "qd_a", QDD)),
    "coriolis_matrix": (rd.coriolis_matrix, (Q, QD)),
    "coriolis_matrix, christoffel": (partial(rd.coriolis_matrix, christoffel=True), (Q, QD)),
    "coriolis_matrix, 1010": (partial(rd.coriolis_matrix, variant="1010"), (Q, QD)),
    "coriolis_matrix_by_columns": (rd.coriolis_matrix_by_columns, (Q, QD)),
    "coriolis_product_by_kawasaki": (rd.coriolis_product_by_kawasaki, (Q, QD, "qd_r")),
    "equations_of_motion": (rd.equations_of_motion, (Q, QD)),
    "momentum_terms": (rd.momentum_terms, (Q, QD)),
    "momentum_terms_by_sweeps": (rd.momentum_terms_by_sweeps, (Q, QD)),
    "mass_matrix": (rd.mass_matrix, (Q,)),
    "forward_dynamics": (rd.forward_dynamics, (Q, QD, TAU)),
    "forward_dynamics, friction": (partial(rd.forward_dynamics, friction=True), (Q, QD, TAU)),
    "forward_dynamics, mass_matrix": (
        partial(rd.forward_dynamics, method="mass_matrix"),
        (Q, QD, TAU),
    ),
    "force_rate": (rd.force_rate, (Q, QD, QDD, "qddd")),
    "force_rate, friction": (partial(rd.force_rate, friction=True), (Q, QD, QDD, "qddd")),
    "force_jerk": (rd.force_jerk, (Q, QD, QDD, "qddd", "qdddd")),
    "force_jerk, friction": (
        partial(rd.force_jerk, friction=True),
        (Q, QD, QDD, "qddd", "qdddd"),
    ),
    "ne_star_jerk": (
        rd.ne_star_jerk,
        (Q, QD, QDD, "qddd", "qd_a", "qdd_a", "qddd_a", "qdddd_a"),
    ),
    "link_motion": (rd.link_motion, (Q, QD, QDD, "qddd")),
    "joint_wrenches": (rd.joint_wrenches, (Q, QD, QDD)),
    "jacobian_rate": (_last(jacobian_rate, **POINT), (Q, QD)),
    "external_torque_rate": (
        lambda model, q, qd: external_torque_rate(
            model, q, qd, {model.link_names[-1]: ((1, 2, 3, 4, 5, 6), (6, 5, 4, 3, 2, 1))}
        ),
        (Q, QD),
    ),
    "regressor": (rd.regressor, (Q, QD, QDD)),
    "regressor, no gravity": (partial(rd.regressor, gravity=False), (Q, QD, QDD)),
    "slotine_li_regressor": (rd.slotine_li_regressor, (Q, QD, "qd_r", "qdd_r")),
    "momentum_regressor": (rd.momentum_regressor, (Q, QD)),
    "lu_meng_regressor": (rd.lu_meng_regressor, (Q, QD, QDD)),
    "rotor_columns": (rd.rotor_columns, (QDD,)),
    "friction_columns": (rd.friction_columns, (QD,)),
    "friction_columns, smooth": (partial(rd.friction_columns, width=0.1), (QD,)),
    "friction_torque": (rd.friction_torque, (QD,)),
    "friction_torque, smooth": (partial(rd.friction_torque, width=0.1), (QD,)),
    "friction_rate": (rd.friction_rate, (QD, QDD)),
    "kinetic_energy": (rd.kinetic_energy, (Q, QD)),
    "potential_energy": (rd.potential_energy, (Q,)),
    "forward_kinematics": (_last(rd.forward_kinematics), (Q,)),
    "forward_kinematics, all": (rd.forward_kinematics, (Q,)),
    "jacobian": (_last(rd.jacobian, **POINT), (Q,)),
    "jacobian_rate_product": (_last(rd.jacobian_rate_product, **POINT), (Q, QD)),
    "external_torque": (
        lambda model, q: rd.external_torque(model, q, {model.link_names[-1]: (1, 2, 3, 4, 5, 6)}),
        (Q,),
    ),
}


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)
