"""Assembly of a RobotModel from joints with their links, the last step of every description."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .rigid_body import Array, RigidBody
from .robot import GRAVITY, Frame, RobotModel

INFINITE = float("inf")


@dataclass(frozen=True, eq=False)
class JointRow:
    """One movable joint and the body it carries, parents before children."""

    joint: str
    link: str
    parent: int = -1  # index of the row it sits on; -1: the base
    prismatic: bool = False
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    rotation: Array = field(default_factory=lambda: np.eye(3))
    place: Array = field(default_factory=lambda: np.zeros(3))
    body: RigidBody = field(default_factory=RigidBody)
    q_min: float = -INFINITE
    q_max: float = INFINITE
    qd_max: float = INFINITE
    tau_max: float = INFINITE
    continuous: bool = False
    rotor_inertia: float = 0.0
    viscous: float = 0.0
    coulomb: float = 0.0
    mimics: str | None = None  # leader of a mimic joint: position = ratio * q + offset
    ratio: float = 1.0
    offset: float = 0.0


def assemble(
    name: str,
    rows: Sequence[JointRow],
    frames: Mapping[str, Frame] | None = None,
    base: str = "base_link",
    base_body: RigidBody | None = None,
    gravity: Sequence[float] | Array = GRAVITY,
) -> RobotModel:
    """Return the RobotModel of these rows; `frames` are further named frames."""
    own = [row for row in rows if row.mimics is None]
    number = {row.joint: k for k, row in enumerate(own)}
    coordinate = [number[row.mimics or row.joint] for row in rows]

    def stacked(items: Sequence[JointRow | RigidBody], key: str) -> Any:
        return np.array([getattr(item, key) for item in items], dtype=float)

    def with_mimics(key: str, power: int) -> Array:
        """Return a friction or inertia per coordinate, mimic joints added to their leader's."""
        total = np.zeros(len(own))
        for row, k in zip(rows, coordinate, strict=True):
            total[k] += abs(row.ratio) ** power * getattr(row, key)
        return total

    all_frames = {base: Frame(-1, np.eye(3), np.zeros(3))}
    for i, row in enumerate(rows):
        all_frames[row.link] = Frame(i, np.eye(3), np.zeros(3))
    all_frames.update(frames or {})
    coulomb = with_mimics("coulomb", 1)
    return RobotModel(
        name=name,
        joint_names=tuple(row.joint for row in own),
        **{key: stacked(own, key) for key in ("q_min", "q_max", "qd_max", "tau_max")},
        continuous=np.array([row.continuous for row in own], dtype=bool),
        rotor_inertia=with_mimics("rotor_inertia", 2),
        viscous=with_mimics("viscous", 2),
        coulomb=coulomb,
        stiction=coulomb,
        stribeck=np.zeros(len(own)),
        link_names=tuple(row.link for row in rows),
        body_joint_names=tuple(row.joint for row in rows),
        parent=np.array([row.parent for row in rows], dtype=np.int64),
        prismatic=np.array([row.prismatic for row in rows], dtype=bool),
        coordinate=np.array(coordinate, dtype=np.int64),
        **{key: stacked(rows, key) for key in ("ratio", "offset", "axis", "rotation", "place")},
        **{key: stacked([row.body for row in rows], key) for key in ("mass", "com", "inertia")},
        frames=all_frames,
        base_body=base_body or RigidBody(),
        gravity=np.array(gravity, dtype=float),
    )
