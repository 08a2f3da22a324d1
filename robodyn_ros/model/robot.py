"""RobotModel: a robot as read-only arrays, with one row per moving body."""

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, ModelError
from .packed_model import pack, pack_body
from .rigid_body import Array, ReadOnlyArrays, RigidBody, as_inertia, as_numbers, as_vector

GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2], z up

# One number per joint each
PER_JOINT = ("q_min", "q_max", "qd_max", "tau_max", "continuous", "rotor_inertia")
FRICTION = ("viscous", "coulomb", "stiction", "stribeck")
# The rest of the friction law, with the values that leave it out
REST_OF_FRICTION = {
    "friction_offset": 0.0,
    "friction_load": 0.0,
    "friction_width": 0.0,
    "presliding": 0.0,
    "friction_speed": np.inf,
}
# Elasticity between motors and links, with the values of rigid joints
ELASTICITY = {"joint_stiffness": np.inf, "joint_damping": 0.0}
SAME_FOR_ALL = REST_OF_FRICTION | ELASTICITY


HEADINGS = ("joint", "link", "parent", "type", "range", "effort", "speed", "rotor", "mass")


def _same_for_all(name: str) -> Any:
    """Return a field with one number per joint, the same for all unless given."""
    return field(default_factory=lambda: np.array(SAME_FOR_ALL[name]))


@dataclass(frozen=True, eq=False)
class Frame(ReadOnlyArrays):
    """A named frame fixed to a moving body, or to the base (body -1)."""

    body: int
    rotation: Array  # (3, 3), its axes seen from the body's frame
    place: Array  # (3,) [m], its origin in the body's frame


@dataclass(frozen=True, eq=False)
class Payload:
    """A body that a link holds rigidly."""

    link: str
    mass: float  # [kg]
    com: Sequence[float] = (0.0, 0.0, 0.0)  # [m], in the link's frame
    inertia: Any = 0.0  # [kg m^2] about its centre of mass, link axes: (3, 3), diagonal or number


@dataclass(frozen=True, eq=False, repr=False)
class RobotModel(ReadOnlyArrays):
    """A fixed-base tree of rigid bodies, immutable; `replace` returns a changed copy.

    Each moving body has a row, parents before children. Usually each body has a joint coordinate
    of its own; a mimic joint shares one: its position is `ratio * q[coordinate] + offset`.
    """

    name: str

    # One entry per coordinate, in the order of q, qd and tau
    joint_names: tuple[str, ...]
    q_min: Array
    q_max: Array
    qd_max: Array
    tau_max: Array
    continuous: npt.NDArray[np.bool_]  # unlimited revolute joint: q and q + 2 pi are one posture
    rotor_inertia: Array  # [kg m^2 or kg], reflected to the joint
    viscous: Array  # [N m s/rad or N s/m]
    coulomb: Array  # [N m or N]
    stiction: Array  # [N m or N], static friction; equal to coulomb: no Stribeck effect
    stribeck: Array  # [s/rad or s/m], decay of stiction with speed: B of [Khalil2019] (7.26)

    # One row per moving body
    link_names: tuple[str, ...]
    body_joint_names: tuple[str, ...]  # mimic joints included
    parent: npt.NDArray[np.int64]  # row of the parent; -1: the base
    prismatic: npt.NDArray[np.bool_]
    coordinate: npt.NDArray[np.int64]
    ratio: Array
    offset: Array
    axis: Array  # (N, 3), unit, in the body's frame
    rotation: Array  # (N, 3, 3), body frame seen from the parent's, at position 0
    place: Array  # (N, 3) [m], body origin in the parent's frame, at position 0
    mass: Array  # (N,) [kg]
    com: Array  # (N, 3) [m]
    inertia: Array  # (N, 3, 3) [kg m^2], about the centre of mass, body axes

    # Every link by name, links on fixed joints and the base included
    frames: Mapping[str, Frame]
    base_body: RigidBody = field(default_factory=RigidBody)
    gravity: Array = field(default_factory=lambda: np.array(GRAVITY))

    # The rest of the friction law, one entry per coordinate; see `friction_torque`
    friction_offset: Array = _same_for_all("friction_offset")  # [N m or N], the same both ways
    friction_load: Array = _same_for_all("friction_load")  # dry friction per torque in the gear
    # [rad/s or m/s], velocities over which dry friction changes sign, and [rad or m], the travel
    friction_width: Array = _same_for_all("friction_width")
    presliding: Array = _same_for_all("presliding")
    friction_speed: Array = _same_for_all("friction_speed")  # [rad/s or m/s], beyond it: constant

    # Springs between motors and links, one entry per coordinate; see `elastic_inverse_dynamics`
    joint_stiffness: Array = _same_for_all("joint_stiffness")  # [N m/rad or N/m]; inf: rigid
    joint_damping: Array = _same_for_all("joint_damping")  # [N m s/rad or N s/m]

    # Path or text of the URDF that has the links' shapes, read by `surface_points`; empty: none
    geometry: str = ""

    # Derived
    n: int = field(init=False)  # number of coordinates
    coupled: bool = field(init=False)  # whether joints share a coordinate (mimic joints)
    packed: Array = field(init=False)  # the parameters as one flat array, for the kernels
    bound: dict[Any, Any] = field(init=False)  # cache of kernels bound to this model

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("n", len(self.joint_names))
        for name in SAME_FOR_ALL:
            value = np.asarray(getattr(self, name), dtype=np.float64)
            put(name, np.full(self.n, value) if value.ndim == 0 else value)
        self._freeze()
        self._check_structure()
        put("frames", MappingProxyType(dict(self.frames)))
        put("coupled", len(self.link_names) != self.n or bool(np.any(self.ratio != 1.0)))
        put("packed", pack(self))
        put("bound", {})

    def _check_structure(self) -> None:
        """Reject arrays that do not fit together: kernels follow their indices unchecked."""
        if self.n == 0:
            raise ModelError(f"robot '{self.name}' has no movable joint")
        bodies = len(self.link_names)
        shapes: list[tuple[tuple[int, ...], tuple[str, ...]]] = [
            ((self.n,), (*PER_JOINT, *FRICTION, *SAME_FOR_ALL)),
            ((bodies,), ("parent", "prismatic", "coordinate", "ratio", "offset", "mass")),
            ((bodies, 3), ("axis", "place", "com")),
            ((bodies, 3, 3), ("rotation", "inertia")),
            ((3,), ("gravity",)),
        ]
        for shape, names in shapes:
            for name in names:
                found = getattr(self, name).shape
                if found != shape:
                    raise ArgumentError(
                        f"{name} must have shape {shape}, got {found}, for these {self.n} "
                        f"joint_names and {bodies} link_names"
                    )
        if len(set(self.joint_names)) != self.n or len(set(self.link_names)) != bodies:
            raise ArgumentError("joint_names and link_names must not repeat a name")
        for name in ("axis", "rotation", "place", "ratio", "offset"):
            if not np.isfinite(getattr(self, name)).all():
                raise ArgumentError(f"{name} must be finite")
        if not np.allclose(np.linalg.norm(self.axis, axis=1), 1.0, atol=1e-9):
            raise ArgumentError("each axis must have length 1")
        if not np.allclose(self.rotation @ np.swapaxes(self.rotation, 1, 2), np.eye(3), atol=1e-6):
            raise ArgumentError("each rotation must be a rotation matrix")
        if np.any(self.parent < -1) or np.any(self.parent >= np.arange(bodies)):
            raise ArgumentError("each body's parent must be -1 or a row before it")
        if np.any(self.coordinate < 0) or np.any(self.coordinate >= self.n):
            raise ArgumentError(f"each body's coordinate must be 0 to {self.n - 1}")
        if any(not -1 <= frame.body < bodies for frame in self.frames.values()):
            raise ArgumentError("each frame's body must be -1 or a row")

    def __getstate__(self) -> dict[str, Any]:
        # Bound kernels hold addresses and cannot be pickled.
        return self.__dict__ | {"bound": {}, "frames": dict(self.frames)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        object.__setattr__(self, "frames", MappingProxyType(state["frames"]))

    def body(self, i: int) -> RigidBody:
        """Return the rigid body of row i, in its own frame."""
        return RigidBody(float(self.mass[i]), self.com[i], self.inertia[i])

    def frame(self, link: str) -> Frame:
        """Return the frame of a link: its body, rotation and place on that body."""
        try:
            return self.frames[link]
        except (KeyError, TypeError):
            known = ", ".join(self.frames)
            raise ArgumentError(
                f"robot '{self.name}' has no link '{link}'; it has {known}"
            ) from None

    def inertial_parameters(self) -> Array:
        """Return (10 N,): per body [m, mcx, mcy, mcz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz].

        In kg, kg m and kg m^2; I is about the origin of the joint frame, [Khalil2019] (7.3).
        """
        bodies = map(self.body, range(len(self.link_names)))
        return np.concatenate([body.inertial_parameters() for body in bodies])

    def replace(self, *, payload: Payload | None = None, **changes: Any) -> "RobotModel":
        """Return a copy with fields (one number, or one per joint) changed, or with a payload."""
        from .checks import check_loaded, check_model  # here, because the checks read models

        known = [item.name for item in dataclasses.fields(self) if item.init]
        for name, value in changes.items():
            if name not in known:
                raise ArgumentError(
                    f"'{name}' is no property of a robot; these are: payload, {', '.join(known)}"
                )
            current = getattr(self, name)
            if isinstance(current, np.ndarray):
                try:
                    value = np.array(np.broadcast_to(value, current.shape), dtype=current.dtype)
                except (TypeError, ValueError):
                    raise ArgumentError(
                        f"{name} must have shape {current.shape}, got {value!r}"
                    ) from None
                changes[name] = value
        if "continuous" not in changes and ("q_min" in changes or "q_max" in changes):
            limits = (changes.get(k, getattr(self, k)) for k in ("q_min", "q_max"))
            changes["continuous"] = self.continuous & np.all([np.isinf(x) for x in limits], axis=0)
        if "coulomb" in changes and "stiction" not in changes:
            # Keep the difference between static and Coulomb friction.
            changes["stiction"] = changes["coulomb"] + self.stiction - self.coulomb
        changed = dataclasses.replace(self, **changes) if changes or payload is None else self
        if payload is not None:
            changed = changed._loaded(payload)
        if changes or payload is None:
            check_model(changed, original=self)
        else:
            check_loaded(changed, self.frame(payload.link).body, original=self)
        return changed

    def _loaded(self, payload: Payload) -> "RobotModel":
        """Return a copy with a payload, unchecked: one body changes, which takes little time."""
        if not isinstance(payload, Payload):
            raise ArgumentError(f"payload must be a Payload, got {payload!r}")
        frame = self.frame(payload.link)
        i = frame.body
        if i < 0:
            raise ArgumentError(f"a payload on '{payload.link}' would not move: it is the base")
        held = RigidBody(
            float(as_numbers("mass of the payload", payload.mass)),
            as_vector("com of the payload", payload.com),
            as_inertia("inertia of the payload", payload.inertia),
        )
        if held.mass < 0.0 or np.linalg.eigvalsh(held.inertia)[0] < 0.0:
            raise ArgumentError(f"mass and inertia of the payload must not be negative: {payload}")
        joined = self.body(i) + held.seen_from(frame.rotation, frame.place)
        loaded = copy.copy(self)
        for name in ("mass", "com", "inertia"):
            values = getattr(self, name).copy()
            values[i] = getattr(joined, name)
            values.setflags(write=False)
            object.__setattr__(loaded, name, values)
        object.__setattr__(loaded, "packed", pack_body(self.packed, loaded, i))
        return loaded

    def __repr__(self) -> str:
        return f"<RobotModel '{self.name}': {self.n} joints, {self.mass.sum():.3g} kg moving>"

    def __str__(self) -> str:
        """Return the robot as a table, one line per moving body, in SI units."""
        gravity = " ".join(f"{x:g}" for x in self.gravity)
        moving = self.mass.sum()
        masses = f"{moving:.3f} kg moving of {moving + self.base_body.mass:.3f} kg"
        title = f"{self.name}: {self.n} joints, {masses}, gravity ({gravity}) m/s^2"
        table = [HEADINGS, *(self._table_row(i) for i in range(len(self.link_names)))]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        return "\n".join([title, lines[0], "-" * max(map(len, lines)), *lines[1:]])

    def _table_row(self, i: int) -> tuple[str, ...]:
        k = int(self.coordinate[i])
        joint, mass = self.body_joint_names[i], f"{self.mass[i]:.3f}"
        parent = "base" if self.parent[i] < 0 else self.link_names[self.parent[i]]
        kind = "prismatic" if self.prismatic[i] else "revolute"
        if joint != self.joint_names[k]:  # a mimic joint has no limits of its own
            leader = f"{self.ratio[i]:.3g} x {self.joint_names[k]}"
            return joint, self.link_names[i], parent, kind + ", mimic", leader, "", "", "", mass
        span = f"{self.q_min[k]:.3g} … {self.q_max[k]:.3g}"
        if self.continuous[k]:
            span = "continuous"
        limits = (self.tau_max[k], self.qd_max[k], self.rotor_inertia[k])
        numbers = (f"{x:.3g}" for x in limits)
        return joint, self.link_names[i], parent, kind, span, *numbers, mass
