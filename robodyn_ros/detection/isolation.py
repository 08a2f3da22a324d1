"""Contact isolation: which link is touched.

`isolate` needs the residual alone. A force on a link loads only the joints between it and the
base. So the outermost joint with a residual carries the touched link, unless the force passes
through that joint's axis: then the residual does not determine the link.

`ContactIsolator` also knows posture, shape and noise. It compares pushes all over the surface
of the arm, and answers with the link on which they explain the residual best.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import checked
from ..dynamics.kinematics import forward_kinematics
from ..errors import ArgumentError
from ..model.packed_model import aligned_copy, frame_with_axis_z
from ..model.rigid_body import as_numbers
from ..model.robot import RobotModel
from ..model.surface import LinkSurfaces
from .contact_evidence import EVIDENCE, FIT, FORCE, FOUND, POINT, SQUARE, weigh_link
from .isolation_settings import IsolationSettings
from .thresholds import as_thresholds

Array = npt.NDArray[np.float64]

WEAK = 2.0  # times its expected square: a residual below is taken for noise
AS_WELL = 1.0  # log likelihood: two pushes that differ by less fit alike
POSSIBLE = 0.01  # posterior: a less likely link is not mentioned
LIKELY = 0.1  # posterior of an inner link that is mentioned before the named one


@dataclass(frozen=True, eq=False)
class Isolation:
    """The touched link, or None if the residual does not determine it.

    beyond: a push on `innermost`, or on a link that it carries, explains the residual as well,
    such as a force through a joint's axis. Force and point are None where they are unknown.
    """

    link: str | None
    confidence: float  # 0 to 1; of ContactIsolator, the probability of `name`
    reason: str = ""
    beyond: bool = False
    innermost: str | None = None  # the first link that may be touched
    force: Array | None = None  # (3,) [N], base axes
    point: Array | None = None  # (3,) [m], base frame
    place: Array | None = None  # (3,) [m], the point in the link's frame
    posterior: Mapping[str, float] = field(default_factory=dict)  # of each link

    @property
    def probability(self) -> float:
        """Probability of `link` alone; 0 without one, NaN if it is not known."""
        return self.posterior.get(self.link, math.nan) if self.link else 0.0

    @property
    def name(self) -> str:
        """The answer for people: 'link_5', 'link_5 or beyond', or empty."""
        return f"{self.innermost or self.link or ''}{' or beyond' if self.beyond else ''}"


def isolate(
    model: RobotModel, r: npt.ArrayLike, noise: npt.ArrayLike, *, clear: float = 2.0
) -> Isolation:
    """Return the link that a residual (n,) [N m or N] points to.

    noise: largest residual without contact (n,) [N m or N], e.g. a threshold. The outermost joint
    above its noise must exceed it by the factor `clear`; all joints above must lie on one branch.
    """
    (r,) = checked(model, r=r)
    share = np.abs(r) / np.maximum(as_thresholds("noise", noise, model.n).base, 1e-12)
    loaded = [row for row in range(len(model.link_names)) if share[model.coordinate[row]] > 1.0]
    if not loaded:
        return Isolation(None, 0.0, "no joint exceeds its noise")
    outermost = loaded[-1]
    branch = set()
    row = outermost
    while row >= 0:
        branch.add(row)
        row = int(model.parent[row])
    if not set(loaded) <= branch:
        return Isolation(None, 0.0, "joints on several branches exceed their noise")
    strength = float(share[model.coordinate[outermost]])
    if strength < clear:
        joint = model.body_joint_names[outermost]
        reason = f"joint '{joint}' barely exceeds its noise: the force may act on the link before"
        return Isolation(None, 0.0, reason)
    rows = range(outermost + 1, len(model.link_names))
    beyond = [float(share[model.coordinate[i]]) for i in rows if _carries(model, outermost, i)]
    quiet = max(beyond, default=0.0)
    # By how much this joint exceeds those beyond it, as a share between 0 and 1
    confidence = 1.0 - math.exp(-(strength - quiet) / clear)
    return Isolation(model.link_names[outermost], max(confidence, 0.0))


def _carries(model: RobotModel, row: int, other: int) -> bool:
    while other > row:
        other = int(model.parent[other])
    return other == row


class ContactIsolator:
    """Compares pushes on all links of a robot by how well they explain a residual."""

    def __init__(
        self,
        model: RobotModel,
        surfaces: LinkSurfaces,
        settings: IsolationSettings | None = None,
    ) -> None:
        bodies = len(model.link_names)
        if surfaces.start.size != bodies + 1:
            raise ArgumentError(
                f"surfaces are of {surfaces.start.size - 1} links, robot '{model.name}' has "
                f"{bodies}"
            )
        if not len(surfaces.points):
            raise ArgumentError("surfaces have no points: no link can be named")
        self.model, self.surfaces = model, surfaces
        self.settings = settings or IsolationSettings()
        self._cones = self.settings.cones()
        # The kernel's frames are turned so that the joint axis is z
        turns = [frame_with_axis_z(axis) for axis in model.axis]
        edges = zip(surfaces.start[:-1], surfaces.start[1:], strict=True)
        rows = [slice(a, b) for a, b in edges]
        pairs = list(zip(rows, turns, strict=True))
        self._points = np.concatenate([surfaces.points[part] @ turn for part, turn in pairs])
        self._normals = np.concatenate([surfaces.normals[part] @ turn for part, turn in pairs])
        self._start = np.array(surfaces.start, dtype=np.int64)
        self._block = aligned_copy(model.packed)

    def locate(self, q: npt.ArrayLike, y: npt.ArrayLike, covariance: npt.ArrayLike) -> Isolation:
        """Return the link that a residual y (n,) [N m or N] at posture q (n,) points to.

        y: mean since the contact began, without bias. covariance: (n, n) of its noise, or (n,)
        variances. The model's error is added to it by the settings.
        """
        work = self.located_by_link(q, y, covariance)
        while True:
            try:
                next(work)
            except StopIteration as done:
                return cast(Isolation, done.value)

    def located_by_link(
        self, q: npt.ArrayLike, y: npt.ArrayLike, covariance: npt.ArrayLike
    ) -> Generator[None, None, Isolation]:
        """Return the same as a generator that pauses between links, to spread the work."""
        q, y = checked(self.model, q=q, y=y)
        q, y = q.copy(), y.copy()
        noise = self._noise(covariance)
        if float(y @ np.linalg.solve(noise, y)) < WEAK * y.size:
            return Isolation(None, 0.0, "the residual is hardly above its noise")
        precision = np.linalg.inv(noise + self._model_error(y, noise))
        arrays = (self._points, self._normals, self._start, precision, y, self._cones)
        found = np.zeros((len(self.model.link_names), int(FOUND)))
        for row in range(len(found)):
            if row:
                yield
            if weigh_link(self._block, q, *arrays, row, found):
                raise ArgumentError(f"q is too large for robot '{self.model.name}': {q}")
        return self._answer(found, q)

    def _answer(self, found: Array, q: Array) -> Isolation:
        """Return the answer from the rows that the kernel filled at posture q."""
        model, lead = self.model, self.settings.lead
        evidence, fit = found[:, int(EVIDENCE)], found[:, int(FIT)]
        posterior = np.exp(evidence - evidence.max())
        posterior /= posterior.sum()
        best = int(np.argmax(posterior))
        probability = dict(zip(model.link_names, posterior.tolist(), strict=True))
        sure = lead == 1.0 or posterior[best] >= lead * (1.0 - posterior[best])
        near = posterior * lead >= posterior[best]
        first = best if sure else int(np.flatnonzero(near)[0])
        rows = range(len(posterior))
        carried = np.array([_carries(model, first, i) for i in rows])
        name = model.link_names[first]
        if not sure:
            names = [model.link_names[i] for i in np.flatnonzero(near)]
            reason = f"a push on {' or '.join(names)} explains the residual"
            if not carried[near].all():
                return Isolation(None, 0.0, reason, posterior=probability)
            total = float(posterior[carried].sum())
            return Isolation(None, total, reason, True, name, posterior=probability)
        outer = np.flatnonzero(carried & (np.array(rows) != first))
        alike = [i for i in outer if fit[i] > fit[first] - AS_WELL and posterior[i] > POSSIBLE]
        inner = [i for i in range(first) if _carries(model, i, first)]
        inner = [i for i in inner if fit[i] > fit[first] - AS_WELL and posterior[i] > LIKELY]
        force, point = self._force(found[first])
        if inner and not alike:
            innermost = model.link_names[inner[0]]
            reason = f"a push on {innermost} explains the residual as well"
            total = sum(
                probability[model.link_names[i]] for i in rows if _carries(model, inner[0], i)
            )
            return Isolation(name, total, reason, True, innermost, force, point, None, probability)
        if not alike:
            pose = forward_kinematics(model, q, name)
            place = pose[:3, :3].T @ (point - pose[:3, 3])
            return Isolation(
                name, probability[name], "", False, name, force, point, place, probability
            )
        others = " or ".join(model.link_names[i] for i in alike)
        reason = f"a push on {others} through the joint's axis explains the residual as well"
        total = float(posterior[carried].sum())
        return Isolation(name, total, reason, True, name, posterior=probability)

    def _noise(self, covariance: npt.ArrayLike) -> Array:
        n, S = self.model.n, as_numbers("covariance", covariance)
        if S.shape not in ((n,), (n, n)):
            raise ArgumentError(f"covariance must be ({n}, {n}) or ({n},), got {covariance!r}")
        S = np.diag(S) if S.ndim == 1 else S
        if not np.linalg.eigvalsh(S)[0] > 0.0:
            raise ArgumentError(f"covariance must be positive definite, got {covariance!r}")
        return S

    def _model_error(self, y: Array, noise: Array) -> Array:
        """Return the covariance (n, n) of what the model has wrong, for this residual."""
        variance = np.diag(noise)
        largest = np.max(y**2 / variance)  # N m and N become comparable
        own, others = self.settings.model_error * y, self.settings.cross_talk**2 * largest
        return np.diag(own**2 + others * variance)

    def _force(self, row: Array) -> tuple[Array | None, Array]:
        """Return force and point of a link's push; no force where its deviation is too large."""
        force, point = row[int(FORCE) : int(FORCE) + 3], row[int(POINT) : int(POINT) + 3]
        size = float(np.linalg.norm(force))
        deviation = math.sqrt(max(float(row[int(SQUARE)]) - size**2, 0.0))
        known = deviation <= self.settings.force_error * size
        return (force.copy() if known else None), point.copy()
