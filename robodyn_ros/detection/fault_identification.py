"""What a residual's history tells: a collision, a payload, or a drive or sensor that fails.

Every hypothesis says which torque u(t) it adds to a joint, linear in few parameters phi, from an
onset on. The residual sees it through the observer's filter, beside what the model has wrong:

    y = -N theta + F(onset) phi + noise,      theta ~ ModelErrors,      F = filter(u)

The hypothesis that leaves least of y, at a price per parameter, is named.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy.typing as npt

from ..model.robot import RobotModel
from .fault_hypotheses import SEARCHES
from .fault_window import FaultWindow
from .model_errors import ModelErrors

ON_A_JOINT = ("free_swinging", "effectiveness", "bias", "locked", "friction", "sensor_freeze")
KINDS = ("none", "collision", "payload", *ON_A_JOINT, "effort_scale")
NOTABLE = 0.05  # of all samples' variance: to explain less is not worth a name


@dataclass(frozen=True, eq=False)
class FaultReport:
    """What best explains a window of the residual."""

    kind: str  # one of KINDS
    joint: str | None = None  # of a fault; of a collision the outermost that feels it
    # Mass [kg] of a payload, share of effectiveness or effort, bias [N m or N], friction as a
    # multiple of the model's or, where the model's is not taken off, what was added [N m or N]
    value: float | None = None
    onset: float | None = None  # [s]
    confidence: float = 0.0  # 0 to 1: how much more of r the runner-up leaves
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
    """Which fault best explains a window of a log, (T,) and (T, n) each as for `residual`.

    noise: standard deviation of each joint's residual [N m or N] but for what `errors` of the
    model explain; by default from the log's own jitter. friction: take the model's friction off.

    The window should begin before the fault, and the robot should move. Reported torque that is
    too large by a factor looks just like a motor that gives too little; only the step of the
    reported torque at the onset tells them apart, so an effort scale above 1 is named only if the
    window holds that step. A joint without load that friction stops at once may be free or locked.
    """
    log = (t, q, qd, tau)
    window = FaultWindow(model, log, gain, noise, friction, errors or ModelErrors())
    fits = [fit for search in SEARCHES for fit in search(window)]
    gains = {kind: max([0.0, *(f.gain for f in fits if f.kind == kind)]) for kind in KINDS}
    scores = {kind: min(1.0, g / window.misfit) for kind, g in gains.items()}
    named = max(fits, key=lambda fit: fit.gain)
    if named.gain <= NOTABLE * window.y.size:
        quiet = min(1.0, 2.0 * window.y.size / window.misfit)
        return FaultReport("none", confidence=quiet, scores=scores | {"none": 1.0})
    second = max(g for kind, g in gains.items() if kind != named.kind)
    left = max(window.misfit - named.gain, 1.0)
    confidence = 1.0 - left / max(window.misfit - second, left)
    joint = None if named.joint is None else model.joint_names[named.joint]
    onset = float(window.t[named.start])
    return FaultReport(named.kind, joint, named.value, onset, confidence, scores)
