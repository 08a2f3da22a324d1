"""Arms in free motion: no alarm on unseen runs, and the force that is found in 95 % of moments.

A force at the last link, in a random direction, grows within 50 ms at 300 moments of the unseen
motion: its torque J^T f is taken off the measured one. It is found if a contact is told within
100 ms of its onset, and none before. The smallest such force of every moment is searched for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import recorded_arms
from real_figures import RealFigure, scaled, todays_settings
from recorded_arms import Recording
from rich.console import Console
from rich.progress import track

import robodyn_ros as rd

Array = np.ndarray
RAMP, WITHIN = 0.05, 0.1  # [s]
HISTORY = 2.0  # [s] of motion at least before a force
FORCES = np.geomspace(1.0, 1000.0, 235)  # [N] that are tried, 3 % apart
MOVING = 0.1  # [rad/s] of a joint of an arm in motion
MOMENTS = 300
SHARE = 95  # [%] of the moments
SEED = 19
NEEDS = {
    "FR3": ("fr3/fr3_hand.urdf",),
    "Panda in motion": ("panda/panda_gaz.urdf", "panda/exciting_1khz.csv"),
}


@dataclass(frozen=True)
class Fold:
    """Logs to tune on, and an unseen one."""

    known: list[rd.Log]
    unseen: rd.Log
    gain: float = 50.0  # [1/s]


@dataclass(frozen=True)
class Sensitivity:
    """What a method does on unseen motion."""

    alarms: int
    seconds: float
    force: float  # [N] found in 95 % of the moments
    equal: float  # [N] the same with thresholds at which the unseen motion is just quiet


def halves(recording: Recording) -> list[rd.Log]:
    """The two halves of a log."""
    middle = recording.log.t.size // 2
    return [recording.log.part(0, middle), recording.log.part(middle)]


def folds_of_halves(recording: Recording, gain: float = 50.0) -> list[Fold]:
    """Each half, tuned on the other."""
    first, second = halves(recording)
    return [Fold([first], second, gain), Fold([second], first, gain)]


def leave_one_out(recordings: Sequence[Recording]) -> list[Fold]:
    """Each log, tuned on the others."""
    return [
        Fold([x.log for x in recordings if x is not unseen], unseen.log) for unseen in recordings
    ]


def alarms_of(model: rd.RobotModel, log: rd.Log, settings: rd.MonitorSettings) -> int:
    """Number of contacts told."""
    return len(rd.detect(model, log, settings).events)


def quiet_factor(model: rd.RobotModel, log: rd.Log, settings: rd.MonitorSettings) -> float:
    """The lowest factor of all thresholds without an alarm on a log, to 1 %."""
    low, high = 0.1, 10.0
    while high > 1.01 * low:
        middle = float(np.sqrt(low * high))
        if alarms_of(model, log, scaled(settings, middle)):
            low = middle
        else:
            high = middle
    return high


def smallest_forces(
    model: rd.RobotModel,
    log: rd.Log,
    settings: rd.MonitorSettings,
    moments: int,
    moving: bool = False,
) -> Array:
    """(moments,) [N]: the smallest force found at each moment; infinite: none of FORCES.

    moving: only at moments at which the arm moves.
    """
    random = np.random.default_rng(SEED)
    t, link, found = log.t, model.link_names[-1], []
    chosen = (t > t[0] + HISTORY) & (t < t[-1] - WITHIN)
    if moving:
        chosen &= np.abs(log.qd).max(axis=1) > MOVING
    for onset in np.sort(random.choice(t[chosen], moments)):
        direction = random.normal(size=3)
        direction /= np.linalg.norm(direction)
        first, last = (int(k) for k in np.searchsorted(t, [onset, onset + WITHIN]))
        course = np.clip((t[first:last] - onset) / RAMP, 0.0, 1.0)[:, None]
        postures = log.q[first:last]
        unit = np.array([rd.jacobian(model, q, link)[:3].T @ direction for q in postures])
        low, high, pushed = -1, FORCES.size, log.part(0, last)
        while high - low > 1:
            middle = (low + high) // 2
            tau = log.tau[:last].copy()
            tau[first:] -= FORCES[middle] * course * unit
            level = rd.detect(model, replace(pushed, tau=tau), settings).level[first - 1 :]
            told = (level[1:] >= rd.Level.CONTACT) & (level[:-1] < rd.Level.CONTACT)
            if told.any():
                high = middle
            else:
                low = middle
        found.append(FORCES[high] if high < FORCES.size else np.inf)
    return np.array(found)


def measure(
    console: Console,
    name: str,
    model: rd.RobotModel,
    folds: Sequence[Fold],
    method: Callable[[rd.RobotModel, Fold], rd.MonitorSettings],
    moments: int,
) -> Sensitivity:
    """A method over all folds."""
    alarms, seconds, forces, equal = 0, 0.0, [], []
    each = -(-moments // len(folds))
    for fold in track(folds, name, console=console):
        settings = method(model, fold)
        alarms += alarms_of(model, fold.unseen, settings)
        seconds += float(np.ptp(fold.unseen.t))
        forces.append(smallest_forces(model, fold.unseen, settings, each))
        factor = quiet_factor(model, fold.unseen, settings)
        equal.append(smallest_forces(model, fold.unseen, scaled(settings, factor), each))
    found, at_equal = (float(np.percentile(np.hstack(x), SHARE)) for x in (forces, equal))
    return Sensitivity(alarms, seconds, found, at_equal)


def calibrated(model: rd.RobotModel, fold: Fold) -> rd.MonitorSettings:
    """Settings of the plain method."""
    return todays_settings(model, fold.known, gain=fold.gain)


def tuned(model: rd.RobotModel, fold: Fold) -> rd.MonitorSettings:
    """The present method, with its defaults."""
    settings = None if fold.gain == 50.0 else rd.MonitorSettings(gain=(fold.gain,))
    return rd.tune(model, fold.known, settings)


def figures(console: Console, quick: bool) -> list[RealFigure]:
    """The figures of the table."""
    moments, rows = 60 if quick else MOMENTS, list[RealFigure]()
    if not recorded_arms.missing(*NEEDS["FR3"]):
        model = recorded_arms.model("fr3/fr3_hand.urdf")
        rows += compared(console, "FR3", model, leave_one_out(recorded_arms.fr3()), moments, 12.0)
    if not recorded_arms.missing(*NEEDS["Panda in motion"]):
        model = recorded_arms.model("panda/panda_gaz.urdf")
        fast, slow = recorded_arms.panda_in_motion()
        rows += compared(console, "Panda, 1 kHz", model, folds_of_halves(fast), moments, 11.0)
        folds = folds_of_halves(slow, gain=15.0)
        rows += compared(console, "Panda, 30 Hz", model, folds, moments, 0.0)
    return rows


def compared(
    console: Console,
    arm: str,
    model: rd.RobotModel,
    folds: list[Fold],
    moments: int,
    bar: float,
) -> Iterator[RealFigure]:
    """Lines of the table of one arm; bar: of the force [N], 0: none."""
    today = measure(console, f"{arm}, the plain method", model, folds, calibrated, moments)
    try:
        now = measure(console, arm, model, folds, tuned, moments)
    except rd.RobodynError as reason:
        what = f"{arm}, unseen runs: alarms"
        yield RealFigure(what, "refused", "0", False, str(reason), f"{today.alarms}")
        return
    note = f"{len(folds)} unseen runs, {now.seconds:.0f} s"
    texts = f"{now.alarms}", "0", now.alarms == 0
    yield RealFigure(f"{arm}, unseen runs: alarms", *texts, note, f"{today.alarms}")
    asked = f"{bar:.0f} N" if bar else "(–)"
    note = f"as tuned {now.force:.1f} N, today {today.force:.1f} N"
    yield RealFigure(
        f"– force found in {SHARE} %, equal alarms",
        f"{now.equal:.1f} N",
        asked,
        not bar or now.equal <= bar,
        note,
        f"{today.equal:.1f} N",
    )


def with_force(log: rd.Log, model: rd.RobotModel, onset: float, force: Array) -> rd.Log:
    """The log with a force at the last link from its onset on."""
    course = np.clip((log.t - onset) / RAMP, 0.0, 1.0)[:, None]
    link = model.link_names[-1]
    torque = np.array([rd.jacobian(model, q, link)[:3].T @ force for q in log.q])
    return replace(log, tau=log.tau - course * torque)
