"""Checks of a model: errors name the link or joint, the fault and the remedy."""

import warnings

import numpy as np
import numpy.typing as npt

from ..errors import ModelError, ModelWarning
from .rigid_body import Array, RigidBody
from .robot import RobotModel

ROUNDING = 1e-6  # relative rounding error of a description's printed digits
POINT = 1e-9  # [m^2], square of the radius of gyration below which a body counts as a point
SINGULAR = 1e-14  # relative eigenvalue below which a mass matrix is singular
NOT_NEGATIVE = (
    *("rotor_inertia", "viscous", "coulomb", "stiction", "stribeck"),
    *("friction_load", "friction_width", "presliding"),
    "joint_damping",
)
ZERO_INERTIA = 1e-14  # relative to the largest inertia; smaller is a rounded zero


def check_model(
    model: RobotModel,
    *,
    strict: bool = False,
    error: type[ModelError] = ModelError,
    original: RobotModel | None = None,
) -> None:
    """Reject a model without meaningful dynamics; warn about (`strict`: reject) a bad inertia.

    A copy is not warned about again if its inertia is no worse than that of its `original`.
    """
    known = _bodies(original) if original else [None] * (len(model.link_names) + 1)
    for i, body, before in zip(range(len(known)), _bodies(model), known, strict=True):
        warning = _check_body(body, _described(model, i), error, before)
        if warning and strict:
            raise error(warning + "; correct its inertia or load without strict=True")
        if warning:
            warnings.warn(warning, ModelWarning, stacklevel=3)
    for k in range(model.n):
        _check_coordinate(model, k, error)
    if not np.all(np.isfinite(model.gravity)):
        raise error(f"gravity must be 3 finite numbers [m/s^2], got {model.gravity}")
    _check_mass_matrix(model, error)


def check_loaded(model: RobotModel, i: int, original: RobotModel) -> None:
    """Check a copy of a checked model in which body i alone has become heavier.

    What is added to its mass matrix is not negative: that stays regular.
    """
    if warning := _check_body(model.body(i), _described(model, i), ModelError, original.body(i)):
        warnings.warn(warning, ModelWarning, stacklevel=3)


def _described(model: RobotModel, i: int) -> str:
    """Return how errors name body i; the one after the last is the base."""
    if i < len(model.link_names):
        link = model.link_names[i]
    else:
        link = next((link for link, frame in model.frames.items() if frame.body < 0), "base")
    return f"link '{link}' (with all that is fixed to it)"


def _bodies(model: RobotModel) -> list[RigidBody]:
    return [*map(model.body, range(len(model.link_names))), model.base_body]


def _excess(moments: npt.NDArray[np.floating]) -> float:
    """Return by how much the largest principal moment exceeds the sum of the others."""
    return float(moments[2] - moments[0] - moments[1])


def _check_body(
    body: RigidBody, what: str, error: type[ModelError], before: RigidBody | None
) -> str:
    """Reject a negative mass or inertia; return a warning about an inconsistent one, or ''."""
    if not np.isfinite(body.mass) or body.mass < 0.0:
        raise error(
            f"{what} has mass {body.mass:g} kg; a mass must be finite and not negative: correct it"
        )
    if not (np.all(np.isfinite(body.com)) and np.all(np.isfinite(body.inertia))):
        raise error(f"{what} has a centre of mass or inertia that is not finite; correct it")
    moments = np.linalg.eigvalsh(body.inertia)
    slack = ROUNDING * max(np.abs(moments).max(), POINT * body.mass)
    if moments[0] < -slack:
        raise error(
            f"{what} has principal moments {_list(moments)} kg m^2 about its centre of mass; "
            "none may be negative: correct its inertia"
        )
    # A payload of consistent inertia never adds to the excess of the body that it is fixed to.
    known = 0.0 if before is None else max(0.0, _excess(np.linalg.eigvalsh(before.inertia)))
    if _excess(moments) > known + slack:
        return (
            f"{what} has principal moments {_list(moments)} kg m^2, which no distribution of "
            "mass has (the two smaller must sum to at least the largest)"
        )
    return ""


def _check_coordinate(model: RobotModel, k: int, error: type[ModelError]) -> None:
    joint = model.joint_names[k]
    if not abs(model.friction_offset[k]) < np.inf or not model.friction_load[k] < 1.0:
        raise error(
            f"joint '{joint}' has friction_offset {model.friction_offset[k]:g} and friction_load "
            f"{model.friction_load[k]:g}; these must be finite and below 1: correct them"
        )
    for name in NOT_NEGATIVE:
        value = getattr(model, name)[k]
        if not np.isfinite(value) or value < 0.0:
            raise error(
                f"joint '{joint}' has {name} {value:g}; it must be finite and >= 0: correct it"
            )
    if not model.q_min[k] <= model.q_max[k]:
        raise error(
            f"joint '{joint}' has lower limit {model.q_min[k]:g} above upper limit "
            f"{model.q_max[k]:g}; swap or correct them"
        )
    for name in ("qd_max", "tau_max", "friction_speed", "joint_stiffness"):
        value = getattr(model, name)[k]
        if not value > 0.0:
            raise error(f"joint '{joint}' has {name} {value:g}; it must be > 0: correct it")


def _check_mass_matrix(model: RobotModel, error: type[ModelError]) -> None:
    """Reject a singular mass matrix: no acceleration would follow from a torque."""
    random = np.random.default_rng(0)
    worst = np.zeros(model.n)
    for _ in range(3):  # a posture may be singular by chance
        M = mass_matrix_by_jacobians(model, random.uniform(-1.0, 1.0, model.n))
        if not np.all(np.isfinite(M)):
            raise error("the mass matrix is not finite; correct the masses and lengths")
        inertia = np.diag(M)
        if np.all(inertia > ZERO_INERTIA * inertia.max()):
            # Scale to a unit diagonal: a light finger on a heavy arm is valid.
            size = np.sqrt(inertia)
            values, vectors = np.linalg.eigh(M / size / size[:, None])
            if values[0] > SINGULAR * model.n:
                return
            worst = np.abs(vectors[:, 0])
        else:
            worst = -inertia
    joint = model.joint_names[int(np.argmax(worst))]
    raise error(
        f"joint '{joint}' meets no inertia: a moving link without mass makes the mass matrix "
        "singular; give the link a mass, give the joint a rotor inertia, or lock the joint"
    )


def mass_matrix_by_jacobians(model: RobotModel, q: Array) -> Array:
    """Return M (n, n), the sum of m Jv^T Jv + Jw^T I Jw: slow, but needs no compiler."""
    bodies = len(model.link_names)
    R, (o, z) = np.zeros((bodies, 3, 3)), np.zeros((2, bodies, 3))
    Jv, Jw, Hw = np.zeros((3, bodies, model.n, 3))  # of the centres of mass; Hw = I Jw
    path: list[list[int]] = []  # the joints that move each body
    for i, p in enumerate(model.parent):
        R_p, o_p = (np.eye(3), np.zeros(3)) if p < 0 else (R[p], o[p])
        x = model.ratio[i] * q[model.coordinate[i]] + model.offset[i]
        R[i] = R_p @ model.rotation[i]
        o[i] = o_p + R_p @ model.place[i]
        z[i] = R[i] @ model.axis[i]
        if model.prismatic[i]:
            o[i] += z[i] * x
        else:
            R[i] = rotation_about(z[i], x) @ R[i]
        path.append([*(path[p] if p >= 0 else ()), i])

        j = np.array(path[i])
        turns = (model.ratio[j] * ~model.prismatic[j])[:, None] * z[j]
        slides = (model.ratio[j] * model.prismatic[j])[:, None] * z[j]
        c = o[i] + R[i] @ model.com[i]
        np.add.at(Jv[i], model.coordinate[j], slides + np.cross(turns, c - o[j]))
        np.add.at(Jw[i], model.coordinate[j], turns)
        Hw[i] = Jw[i] @ (R[i] @ model.inertia[i] @ R[i].T)
    M = np.tensordot(model.mass[:, None, None] * Jv, Jv, axes=([0, 2], [0, 2]))
    M += np.tensordot(Hw, Jw, axes=([0, 2], [0, 2]))
    return M + np.diag(model.rotor_inertia)


def rotation_about(axis: Array, angle: float) -> Array:
    """Return the rotation matrix (3, 3) about a unit axis (Rodrigues), angle [rad]."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def _list(values: npt.NDArray[np.floating]) -> str:
    return ", ".join(f"{v:.3g}" for v in values)
