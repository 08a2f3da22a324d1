"""Unknown parameters of a robot, by name, and their columns of the regressor.

    payload                 a load on a link: mass and first moments, or all ten parameters
    payload.mass            the same with a known centre
    links, LINK             the ten inertial parameters of all links, or of one
    friction, viscous, coulomb, JOINT.viscous, JOINT.coulomb
    rotors, JOINT.rotor_inertia
    all                     links, rotors and friction

The torque is that of the model as given, and linear in the unknown parameters:

    tau = NE*(model) + Y_u (theta - inside)

`inside` are the values that the model has. Each group of parameters has a set of physically
consistent values and a metric for the projection to that set: see `physical_consistency`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...dynamics.regressor import friction_columns, rotor_columns
from ...errors import ArgumentError, positive
from ...model.rigid_body import Array, as_vector, bodies_of, parameters_of, pseudo_inertia
from ...model.robot import RobotModel
from .physical_consistency import ConsistentBodies, nearest_load

Bounds = Mapping[str, tuple[float, float]]

INERTIAL = ("mass", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
FRICTION = ("viscous", "coulomb")
OF_JOINTS = (*FRICTION, "rotor_inertia")
GROUPS = ("payload", "links", "friction", "rotors")
MIN_LINK_SIZE = 0.05  # [m], for the metric of links with little inertia


@dataclass(frozen=True, eq=False)
class Load:
    """What is known of a payload: its place, and the largest distance of its centre from there.

    Its inertia about `place` is taken as that of a ball, 2 m reach^2: then the load is physically
    consistent exactly if its centre is within `reach`. inertia: estimate all ten parameters;
    `reach` is then only the unit of length. First moments and inertia refer to `place`.
    """

    link: str = ""  # by default the last link
    place: Any = (0.0, 0.0, 0.0)  # [m], in the link's frame
    reach: float = 0.1  # [m]
    inertia: bool = False

    def __post_init__(self) -> None:
        as_vector("place of the load", self.place)
        positive("reach", self.reach, "m")


@dataclass(frozen=True, eq=False)
class _Part:
    """Parameters that are adapted, and kept consistent, together."""

    group: str
    names: tuple[str, ...]
    inside: Array  # (k,), values of the model
    start: Array  # (k,), the first estimate
    gain: Array  # (k, k), inverse of the metric
    nearest: Callable[[Array], Array]
    basis: Array | None = None  # (10 N, k), share of a unit in the inertial parameters
    kind: str = ""  # of the joint parameters
    joints: list[int] = field(default_factory=list)


class Unknowns:
    """Unknown parameters of a model. theta: (u,), in the order of `names`."""

    def __init__(
        self, model: RobotModel, unknown: str | Iterable[str], load: Load, bounds: Bounds
    ) -> None:
        self.model = model
        words = (unknown,) if isinstance(unknown, str) else tuple(unknown)
        self._bounds = _checked_bounds(bounds)
        parts = [part for word in words for part in self._parts_of(word, load)]
        self.names: tuple[str, ...] = tuple(name for part in parts for name in part.names)
        for name in self.names:
            if self.names.count(name) > 1:
                raise ArgumentError(f"'{name}' is unknown twice over in {words}; name it once")
        for name in self._bounds:
            if name not in self.names:
                raise ArgumentError(
                    f"there are no bounds to '{name}': it is not among the unknown "
                    f"{', '.join(self.names) or '(nothing)'}"
                )
        self._parts = parts
        ends = np.cumsum([0, *(len(part.names) for part in parts)])
        self._where = [slice(*pair) for pair in zip(ends[:-1], ends[1:], strict=True)]
        self.inside, self.start = self._joined("inside"), self._joined("start")
        rows = 10 * len(model.link_names)
        self._basis = np.zeros((rows, len(self.names)))
        self.moves_bodies = False
        for part, here in zip(parts, self._where, strict=True):
            if part.basis is not None:
                self._basis[:, here], self.moves_bodies = part.basis, True

    def gain(self, gains: float | Mapping[str, float]) -> Array:
        """Return the adaptation gain (u, u) from one number for all groups, or one each."""
        matrix = np.zeros((len(self.names), len(self.names)))
        for part, here in zip(self._parts, self._where, strict=True):
            matrix[here, here] = _gain_of(part.group, gains) * part.gain
        return matrix

    def columns(self, Y: Array | None, velocity: Array, qdd: Array, width: float) -> Array:
        """Return the columns of the regressor (n, u).

        Y: regressor of the inertial parameters, if some of them are unknown. Friction acts at
        `velocity`, with tanh(velocity / width) for the sign, rotors act at qdd.
        """
        columns = np.zeros((self.model.n, len(self.names))) if Y is None else Y @ self._basis
        for part, here in zip(self._parts, self._where, strict=True):
            if part.kind == "rotor_inertia":
                columns[:, here] = rotor_columns(self.model, qdd)[:, part.joints]
            elif part.kind:
                friction = friction_columns(self.model, velocity, width=width)
                columns[:, here] = friction[:, FRICTION.index(part.kind) :: 3][:, part.joints]
        return columns

    def nearest(self, theta: Array) -> Array:
        """Return the physically consistent values (u,) nearest to theta."""
        out = np.empty_like(theta)
        for part, here in zip(self._parts, self._where, strict=True):
            out[here] = part.nearest(theta[here])
        return out

    def adapted(self, theta: Array) -> RobotModel:
        """Return the model with these values."""
        changes: dict[str, Any] = {}
        for part, here in zip(self._parts, self._where, strict=True):
            if part.kind:
                values = changes.setdefault(part.kind, np.array(getattr(self.model, part.kind)))
                values[part.joints] = theta[here]
        if self.moves_bodies:
            changes |= self._bodies(self._basis @ (theta - self.inside))
        return self.model.replace(**changes) if changes else self.model

    def _bodies(self, added: Array) -> dict[str, Array]:
        """Return masses, centres and inertias with these inertial parameters added."""
        changed = added.reshape(-1, 10).any(axis=1)  # the others stay bit-identical
        now = bodies_of((self.model.inertial_parameters() + added).reshape(-1, 10)[changed])
        bodies = {name: np.array(getattr(self.model, name)) for name in now}
        for name, values in now.items():
            bodies[name][changed] = values
        return bodies

    def _joined(self, field: str) -> Array:
        return np.concatenate([np.zeros(0), *(getattr(part, field) for part in self._parts)])

    def _parts_of(self, word: str, load: Load) -> list[_Part]:
        model, several = self.model, {"all": ("links", "friction", "rotors"), "friction": FRICTION}
        if word in several:
            return [part for each in several[word] for part in self._parts_of(each, load)]
        if word in ("payload", "payload.mass"):
            return [self._load(load, centre_known=word == "payload.mass")]
        if word == "links":
            return [self._link(i) for i in range(len(model.link_names))]
        if word in model.link_names:
            return [self._link(model.link_names.index(word))]
        if word in FRICTION:
            return [self._joints(word, model.joint_names)]
        if word == "rotors":
            return [self._joints("rotor_inertia", model.joint_names)]
        joint, _, kind = word.rpartition(".") if isinstance(word, str) else ("", "", "")
        if joint in model.joint_names and kind in OF_JOINTS:
            return [self._joints(kind, (joint,))]
        raise ArgumentError(
            f"nothing unknown is called {word!r}; there are all, payload, payload.mass, links, "
            f"friction, viscous, coulomb, rotors, a link ({', '.join(model.link_names)}) or a "
            f"joint's, as '{model.joint_names[0]}.viscous'"
        )

    def _load(self, load: Load, centre_known: bool) -> _Part:
        low, high = self._bounds.get("payload.mass", (0.0, np.inf))
        basis, gain = self._held(load), np.eye(1)
        nearest: Callable[[Array], Array] = partial(np.clip, a_min=low, a_max=high)
        if load.inertia and not centre_known:
            possible = ConsistentBodies(np.diag([load.reach**2] * 3 + [1.0]), low, high)
            gain, nearest = possible.gain, possible.nearest
        elif not centre_known:
            gain = np.diag([1.0] + [load.reach**2] * 3)
            nearest = partial(nearest_load, reach=load.reach, low=low, high=high)
            basis[:, 0] += basis[:, [4, 7, 9]] @ np.full(3, 2.0 * load.reach**2)  # of the ball
        count = len(gain)
        names = tuple(f"payload.{name}" for name in INERTIAL[:count])
        none = np.zeros(count)
        return _Part("payload", names, none, nearest(none), gain, nearest, basis[:, :count])

    def _held(self, load: Load) -> Array:
        """Return the share (10 N, 10) of a load's parameters in those of the links."""
        link = load.link or self.model.link_names[-1]
        frame = self.model.frame(link)
        if frame.body < 0:
            raise ArgumentError(f"a payload on '{link}' would not move: it is the base")
        T = np.eye(4)  # from the place of the load to the body that carries it
        T[:3, :3], T[:3, 3] = frame.rotation, frame.place + frame.rotation @ load.place
        basis = np.zeros((10 * len(self.model.link_names), 10))
        for k, unit in enumerate(np.eye(10)):
            held = parameters_of(T @ pseudo_inertia(unit) @ T.T)
            basis[10 * frame.body : 10 * frame.body + 10, k] = held
        return basis

    def _link(self, i: int) -> _Part:
        link = self.model.link_names[i]
        inside = self.model.inertial_parameters()[10 * i : 10 * i + 10]
        unit = pseudo_inertia(inside)
        unit[:3, :3] += unit[3, 3] * MIN_LINK_SIZE**2 * np.eye(3)
        if not unit[3, 3] > 0.0:
            raise ArgumentError(f"link '{link}' has no mass to begin with; give it a guess")
        possible = ConsistentBodies(unit, *self._bounds.get(f"{link}.mass", (0.0, np.inf)))
        basis = np.zeros((10 * len(self.model.link_names), 10))
        basis[10 * i : 10 * i + 10] = np.eye(10)
        names = tuple(f"{link}.{name}" for name in INERTIAL)
        start = possible.nearest(inside)
        return _Part("links", names, inside, start, possible.gain, possible.nearest, basis)

    def _joints(self, kind: str, joints: Iterable[str]) -> _Part:
        names = tuple(f"{joint}.{kind}" for joint in joints)
        where = [self.model.joint_names.index(joint) for joint in joints]
        known = getattr(self.model, kind)[where]
        low, high = np.array([self._bounds.get(name, (0.0, np.inf)) for name in names]).T
        nearest = partial(np.clip, a_min=low, a_max=high)
        # Newton-Euler includes the rotors, but not the friction
        group, inside = ("rotors", known) if kind == "rotor_inertia" else ("friction", 0.0 * known)
        return _Part(
            group, names, inside, nearest(known), np.eye(len(names)), nearest, None, kind, where
        )


def _checked_bounds(bounds: Bounds) -> Bounds:
    for name, pair in bounds.items():
        if not name.endswith((".mass", *(f".{kind}" for kind in OF_JOINTS))):
            raise ArgumentError(f"only masses, friction and rotors have bounds, not '{name}'")
        try:
            low, high = pair
            good = 0.0 <= low <= high and high > 0.0
        except (TypeError, ValueError):
            good = False
        if not good:
            raise ArgumentError(f"bounds of '{name}' must be 0 <= low <= high, 0 < high: {pair!r}")
    return bounds


def _gain_of(group: str, gains: float | Mapping[str, float]) -> float:
    if isinstance(gains, Mapping):
        if group not in gains or any(name not in GROUPS for name in gains):
            raise ArgumentError(
                f"gain needs '{group}' and may have {', '.join(GROUPS)}, got {dict(gains)!r}"
            )
        return _gain_of(group, gains[group])
    if not (isinstance(gains, (int, float)) and 0.0 < gains < np.inf):
        raise ArgumentError(f"gain must be positive and finite, got {gains!r} for {group}")
    return float(gains)
