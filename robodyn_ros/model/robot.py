"""RobotModel: what a robot is, as frozen arrays with one row per movable joint."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, ModelError
from .block import frame_block, pack
from .rigid_body import RigidBody

Array = npt.NDArray[np.float64]

GRAVITY = (0.0, 0.0, -9.81)  # [m/s^2], z up


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame fixed to a moving body, or to the base (body -1)."""

    body: int
    rotation: Array  # (3, 3), its axes seen from the body's frame
    place: Array  # (3,) [m], its origin in the body's frame


@dataclass(frozen=True, eq=False)
class Payload:
    """Something held rigidly by a link."""

    link: str
    mass: float  # [kg]
    com: Sequence[float] = (0.0, 0.0, 0.0)  # [m], in the link's frame
    inertia: Any = None  # (3, 3) [kg m^2] about its centre of mass, link axes; None: a point mass


@dataclass(frozen=True, eq=False, repr=False)
class RobotModel:
    """A fixed-base tree of rigid bodies. Nothing in it changes; `replace` gives a changed copy.

    One row per moving body, parents before children. Usually each body has a joint coordinate of
    its own; a mimic joint shares one: its position is `ratio * q[coordinate] + offset`.
    """

    name: str

    # One entry per coordinate: what q, qd and tau count.
    joint_names: tuple[str, ...]
    q_min: Array
    q_max: Array
    qd_max: Array
    tau_max: Array
    continuous: npt.NDArray[np.bool_]  # turns without end: q and q + 2 pi are one posture
    rotor_inertia: Array  # [kg m^2 or kg], reflected to the joint
    viscous: Array  # [N m s/rad or N s/m]
    coulomb: Array  # [N m or N]
    stiction: Array  # [N m or N], friction at the onset of motion; as coulomb: no Stribeck effect
    stribeck: Array  # [s/rad or s/m], how fast stiction fades with speed: B of [Khalil] (7.26)

    # One row per moving body.
    link_names: tuple[str, ...]
    body_joint_names: tuple[str, ...]  # with the mimic joints
    parent: npt.NDArray[np.int64]  # row of the parent; -1: the base
    prismatic: npt.NDArray[np.bool_]
    coordinate: npt.NDArray[np.int64]
    ratio: Array
    offset: Array
    axis: Array  # (N, 3), unit, in the body's frame
    rotation: Array  # (N, 3, 3), body frame seen from the parent's, at position 0
    place: Array  # (N, 3) [m], its origin there
    mass: Array  # (N,) [kg]
    com: Array  # (N, 3) [m]
    inertia: Array  # (N, 3, 3) [kg m^2], about the centre of mass, body axes

    # Every link by name, also those on fixed joints, and the base.
    frames: Mapping[str, Frame]
    gravity: Array = field(default_factory=lambda: np.array(GRAVITY))

    # Derived: the number of coordinates, whether some joints share one (mimic joints), and the
    # flat arrays that the compiled kernels read.
    n: int = field(init=False)
    coupled: bool = field(init=False)
    block: Array = field(init=False)
    block_without_gravity: Array = field(init=False)
    friction_block: Array = field(init=False)
    frame_blocks: Mapping[str, Array] = field(init=False)
    bound: dict[str, Any] = field(init=False)  # kernels at work on these arrays, made on demand

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        for item in dataclasses.fields(self):
            value = getattr(self, item.name, None)
            if isinstance(value, np.ndarray):
                value = value.copy()
                value.setflags(write=False)
                put(item.name, value)
        put("n", len(self.joint_names))
        if self.n == 0:
            raise ModelError(f"robot '{self.name}' has no movable joint")
        put("coupled", len(self.link_names) != self.n or bool(np.any(self.ratio != 1.0)))
        put("block", pack(self, self.gravity))
        put("block_without_gravity", pack(self, np.zeros(3)))
        losses = [self.viscous, self.coulomb, self.stiction, self.stribeck]
        put("friction_block", np.concatenate([[self.n, 0.0], *losses]))
        put("bound", {})
        put("frame_blocks", {link: frame_block(self, f) for link, f in self.frames.items()})

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"bound": {}}  # bound kernels know addresses: they stay behind

    def body(self, i: int) -> RigidBody:
        """Body i, in its own frame."""
        return RigidBody(float(self.mass[i]), self.com[i], self.inertia[i])

    def frame(self, link: str) -> Frame:
        """Where a link's frame sits: on which body, how turned, where."""
        try:
            return self.frames[link]
        except KeyError:
            known = ", ".join(self.frames)
            raise ArgumentError(
                f"robot '{self.name}' has no link '{link}'; it has {known}"
            ) from None

    def inertial_parameters(self) -> Array:
        """(10 N,): per body [m, mcx, mcy, mcz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz] about its frame.

        The inertia is taken about the origin of the joint frame, as in [Khalil] (7.3).
        """
        rows = []
        for i in range(len(self.link_names)):
            body = self.body(i)
            inertia = body.inertia_about_origin()[np.triu_indices(3)]
            rows.append([body.mass, *(body.mass * body.com), *inertia])
        return np.array(rows).ravel()

    def replace(self, *, payload: Payload | None = None, **changes: Any) -> RobotModel:
        """A copy with another payload, gravity, rotor inertia, friction, limits or masses.

        Per-coordinate values may be one number for all joints.
        """
        from .checks import check_model  # here, because the checks read models

        fields = {item.name for item in dataclasses.fields(self) if item.init}
        for name, value in changes.items():
            if name not in fields:
                raise ArgumentError(f"'{name}' is no property of a robot; use one of {fields}")
            current = getattr(self, name)
            if isinstance(current, np.ndarray):
                try:
                    value = np.array(np.broadcast_to(value, current.shape), dtype=current.dtype)
                except (TypeError, ValueError):
                    raise ArgumentError(
                        f"{name} must have shape {current.shape}, got {value!r}"
                    ) from None
                changes[name] = value
        if "coulomb" in changes and "stiction" not in changes:
            # What breaks loose at the onset of motion stays as much above sliding friction.
            changes["stiction"] = changes["coulomb"] + self.stiction - self.coulomb
        if payload is not None:
            mass, com, inertia = (
                np.array(changes.get(k, getattr(self, k))) for k in ("mass", "com", "inertia")
            )
            frame = self.frame(payload.link)
            if frame.body < 0:
                raise ArgumentError(
                    f"a payload on '{payload.link}' would not move: it is the base"
                )
            held = RigidBody(
                float(payload.mass),
                np.asarray(payload.com, dtype=float),
                np.zeros((3, 3))
                if payload.inertia is None
                else np.asarray(payload.inertia, float),
            ).seen_from(frame.rotation, frame.place)
            i = frame.body
            joined = RigidBody(float(mass[i]), com[i], inertia[i]) + held
            mass[i], com[i], inertia[i] = joined.mass, joined.com, joined.inertia
            changes.update(mass=mass, com=com, inertia=inertia)
        changed = dataclasses.replace(self, **changes)
        check_model(changed)
        return changed

    def __repr__(self) -> str:
        return f"<RobotModel '{self.name}': {self.n} joints, {self.mass.sum():.3g} kg moving>"

    def __str__(self) -> str:
        from .table import text  # here, because the table reads models

        return text(self)
