"""Settings of a ContactIsolator, apart from it so that declaring them compiles no kernel."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..settings import ParameterSet, setting

MOST_CONES = 4


@dataclass(frozen=True)
class IsolationSettings(ParameterSet):
    """Settings of a ContactIsolator: how arms are touched, and what the residual is worth."""

    lead: float = setting(
        1.0,
        "least odds of the named link against all others; 1: always name one",
        low=1.0,
        high=1e6,
    )
    force: tuple[float, ...] = setting(
        (10.0, 100.0),
        "usual sizes of a push, standard deviations; likely in inverse proportion",
        "N",
        low=1e-3,
        high=1e5,
    )
    cone: tuple[float, ...] = setting(
        (0.25,),
        "usual ratios of force across to force along the surface's normal, equally likely",
        low=1e-3,
        high=10.0,
    )
    any_direction: float = setting(
        0.05, "share of forces that point anywhere, e.g. pulls", low=0.0, high=1.0
    )
    model_error: float = setting(
        0.2, "error of a joint's residual, as a share of it", low=0.0, high=1.0
    )
    cross_talk: float = setting(
        0.0025,
        "error of every joint, as a share of the largest residual, both relative to their noise",
        low=0.0,
        high=1.0,
    )
    force_error: float = setting(
        0.5, "a force with a larger relative deviation is unknown", low=0.0, high=10.0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("force", "cone"):
            count = len(getattr(self, name))
            if not 1 <= count <= MOST_CONES:  # each is tried at every point of every link
                raise ArgumentError(f"{name} must be 1 to {MOST_CONES} numbers, got {count}")

    def cones(self) -> npt.NDArray[np.float64]:
        """Return the cones (K, 4), columns as in `contact_evidence`."""
        rare = [1.0 / size for size in self.force]
        aimed = (1.0 - self.any_direction) / len(self.cone)
        rows = []
        for size in self.force:
            share = 1.0 / size / sum(rare)
            rows += [(size, size * ratio, aimed * share, 1.0) for ratio in self.cone]
            rows.append((size, size, self.any_direction * share, 0.0))
        table = np.array([row for row in rows if row[2] > 0.0]).reshape(-1, 4)
        table[:, 2] = np.log(table[:, 2])
        return table
