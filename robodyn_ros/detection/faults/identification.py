"""Fault identification: collision, payload, or a defect of a drive or sensor.

Every hypothesis adds a torque u(t), linear in a few parameters phi, from an onset on. The residual
is its filtered version, besides model errors and noise:

    y = -N theta + F(onset) phi + noise,      theta ~ ModelErrors,      F = filter(u)

The hypothesis that explains most of y, at a price per parameter, is reported.
"""

from dataclasses import dataclass, field

import numpy.typing as npt

from ...model.robot import RobotModel
from ..model_errors import ModelErrors
from .hypotheses import SEARCHES
from .window import FaultWindow

ON_A_JOINT = ("free_swinging", "effectiveness", "bias", "locked", "friction", "sensor_freeze")
KINDS = ("none", "collision", "payload", *ON_A_JOINT, "effort_scale")
MIN_EXPLAINED = 0.05  # of the variance: hypotheses that explain less are not reported


@dataclass(frozen=True, eq=False)
class FaultReport:
    """Best explanation of a residual window."""

    kind: str  # one of KINDS
    joint: str | None = None  # of a fault; of a collision the outermost one with a residual
    # Mass [kg] of a payload, share of effectiveness or effort, bias [N m or N], friction as a
    # multiple of the model's or, where the model's is not taken off, what was added [N m or N]
    value: float | None = None
    onset: float | None = None  # [s]
    confidence: float = 0.0  # 0 to 1: lead over the runner-up
    scores: dict[str, float] = field(default_factory=dict)  # per kind, share of r explained


def identify_fault(
    model: RobotModel,
    t: npt.ArrayLike,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    gain: float = 50.0,
    noise: npt.ArrayLike | None = None,
    friction: bool = False,
    errors: ModelErrors | None = None,
) -> FaultReport:
    """Return the fault that best explains a window of a log, arrays as for `residual`.

    noise: standard deviation of each joint's residual (n,) [N m or N] without model `errors`; by
    default estimated from the log. friction: subtract the model's friction.

    The window should begin before the fault, and the robot should move. A reported torque that is
    too large by a factor looks like a motor that gives too little; only the step of the reported
    torque at the onset distinguishes them, so an effort scale above 1 needs that step in the
    window. An unloaded joint that friction stops at once may be free-swinging or locked.
    """
    log = (t, q, qd, tau)
    window = FaultWindow(model, log, gain, noise, friction, errors or ModelErrors())
    fits = [fit for search in SEARCHES for fit in search(window)]
    gains = {kind: max([0.0, *(f.gain for f in fits if f.kind == kind)]) for kind in KINDS}
    scores = {kind: min(1.0, g / window.misfit) for kind, g in gains.items()}
    named = max(fits, key=lambda fit: fit.gain)
    if named.gain <= MIN_EXPLAINED * window.y.size:
        quiet = min(1.0, 2.0 * window.y.size / window.misfit)
        return FaultReport("none", confidence=quiet, scores=scores | {"none": 1.0})
    second = max(g for kind, g in gains.items() if kind != named.kind)
    left = max(window.misfit - named.gain, 1.0)
    confidence = 1.0 - left / max(window.misfit - second, left)
    joint = None if named.joint is None else model.joint_names[named.joint]
    onset = float(window.t[named.start])
    return FaultReport(named.kind, joint, named.value, onset, confidence, scores)
