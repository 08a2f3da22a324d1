"""A UR10e, from motor currents: identified, tuned on some recordings, judged on the others.

The model is identified from one excitation, as `robodyn identify` does it. Each free recording is
then judged with settings tuned on all the others. The plain method is the friction that a URDF can
hold, with a sharp sign, and thresholds of each joint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import real_motion
import recorded_arms
from identification import law_and_line
from real_figures import RealFigure, todays_settings
from rich.console import Console
from rich.progress import track

import robodyn_ros as rd
from robodyn_ros.detection.observer import residual
from robodyn_ros.recording.offline import Event

Array = np.ndarray
NEEDS = ("ur10e/ur10e.urdf", "ur10e/ur-20_02_10-30sec_12harm.csv")
GAINS = (14.87, 13.26, 11.13, 10.62, 11.03, 11.47)  # [N m/A], as published with the recordings
COLUMNS = rd.ColumnMap.parse("t=0 q=1-6 qd=7-12 tau=13-18")
EXCITING, MOTION = "ur-20_02_10-30sec_12harm", (635, 3510)  # rows of the motion itself
PUSHED = "ur-20_01_22-push_pose_1"
PUSHES = ((2.1, 3.1), (4.8, 6.0), (8.6, 9.7), (12.0, 13.1))  # [s], as the recording's notes say
NOT_FREE = ("push", "oad.", "Load", "19_09_27")  # pushed, loaded, damaged
EARLY = 0.3  # [s] by which an event may begin before its push in the notes
GAIN = 20.0  # [1/s], of the observer whose error is told
SLOW, MOVES = 0.02, 0.2  # [rad/s]: a slower joint stands; highest speed of one that moves
INSTANTS = 300


@dataclass(frozen=True)
class Method:
    """A model and how its settings are found."""

    name: str
    model: rd.RobotModel
    today: bool

    def settings(self, logs: Sequence[rd.Log]) -> rd.MonitorSettings:
        """Settings from recordings without contact."""
        if self.today:
            return todays_settings(self.model, logs, friction=True)
        return rd.tune(self.model, logs)


def read(name: str, rows: tuple[int, int | None] = (0, None)) -> rd.Log:
    """A recording as torque."""
    path = recorded_arms.FOLDER / "ur10e" / f"{name}.csv"
    return rd.read_csv(path, COLUMNS, gains=GAINS, rows=rows)


def free_names() -> list[str]:
    """Recordings without contact and load."""
    files = sorted((recorded_arms.FOLDER / "ur10e").glob("*.csv"))
    loaded = [
        x for x in files if any(text in x.name for text in NOT_FREE) and "unload" not in x.name
    ]
    return [x.stem for x in files if x not in loaded]


def figures(console: Console, quick: bool) -> list[RealFigure]:
    """The figures of the table."""
    nominal = recorded_arms.model("ur10e/ur10e.urdf")
    logs = {name: read(name) for name in free_names()}
    unseen = [name for name in logs if name != EXCITING]
    moving = [logs[name] for name in unseen if both_move(logs[name])]
    found = rd.identify(nominal, [read(EXCITING, MOTION)], held_out=moving)
    today = Method("UR10e, the plain method", found.straight, True)
    now = Method("UR10e", found.model, False)
    rows, folds = [], unseen[::3] if quick else unseen
    judged = [judge(console, method, logs, folds) for method in (today, now)]
    texts = [f"{len(x.alarmed)} of {len(folds)}" for x in judged]
    rows.append(
        RealFigure(
            "UR10e, unseen free motions with an alarm", texts[1], "0", not judged[1].alarmed,
            ", ".join(judged[1].alarmed), texts[0],
        )
    )  # fmt: skip
    rows += forces(console, [today, now], logs, 60 if quick else INSTANTS)
    rows.append(torque_error(found, moving))
    rows += pushes([today, now], logs)
    return rows


@dataclass(frozen=True)
class Judged:
    """Recordings with an alarm, of those that were left out."""

    alarmed: list[str]


def judge(
    console: Console, method: Method, logs: dict[str, rd.Log], unseen: Sequence[str]
) -> Judged:
    """Every recording, tuned on all others."""
    alarmed = []
    for name in track(unseen, method.name, console=console):
        settings = method.settings([log for other, log in logs.items() if other != name])
        if real_motion.alarms_of(method.model, logs[name], settings):
            alarmed.append(name)
    return Judged(alarmed)


def forces(
    console: Console, methods: Sequence[Method], logs: dict[str, rd.Log], instants: int
) -> Iterator[RealFigure]:
    """The force at the flange that is found in motion, on recordings that were left out."""
    chosen = [name for name in logs if "harm" in name and name != EXCITING][:3]
    found = []
    for method in methods:
        needed = []
        for name in track(chosen, f"{method.name}, forces", console=console):
            settings = method.settings([log for other, log in logs.items() if other != name])
            each = -(-instants // len(chosen))
            needed.append(
                real_motion.smallest_forces(method.model, logs[name], settings, each, moving=True)
            )
        found.append(float(np.percentile(np.hstack(needed), real_motion.SHARE)))
    ratio = found[1] / found[0]
    note = f"{found[1]:.0f} N; {found[0]:.0f} N with the plain method; {', '.join(chosen)}"
    what = f"– flange force found in {real_motion.SHARE} %, ratio"
    yield RealFigure(what, f"{ratio:.2f}", "0.40", ratio <= 0.4, note, "1")


def both_move(log: rd.Log) -> bool:
    """Whether joints 2 and 3 move: one that only stands tells nothing of friction in motion."""
    return bool(np.abs(log.qd[:, 1:3]).max(axis=0).min() >= MOVES)


def torque_error(found: rd.Identified, logs: Sequence[rd.Log]) -> RealFigure:
    """Error of the torque of joints 2 and 3 in motion, over that of friction as a line; logs:
    those that `found` holds fits of, behind that of its own recording.
    """
    after, before = law_and_line(found, logs, found.fits[1:])[:, 1:3]
    ratio, residuals = after / before, residual_ratio(found.straight, found.model, logs)
    note = " ".join(f"{a:.1f} → {b:.1f}" for a, b in zip(before, after, strict=True))
    note += f" N m rms, {len(logs)} files; of the residual {residuals[0]:.2f} {residuals[1]:.2f}"
    texts = f"{ratio[0]:.2f} {ratio[1]:.2f}", "0.60", bool((ratio <= 0.6).all())
    return RealFigure("– torque error in motion, joints 2, 3, ratio", *texts, note, "1")


def residual_ratio(line: rd.RobotModel, law: rd.RobotModel, logs: Sequence[rd.Log]) -> Array:
    """The same ratio (2,) of the observer's residual, with the noise of differentiated speeds."""
    errors: dict[bool, list[Array]] = {True: [], False: []}
    for log in logs:
        moving = [np.abs(log.qd[:, j]) > SLOW for j in (1, 2)]
        for sharp, model in ((True, line), (False, law)):
            arrays = (log.t, log.q, log.qd, log.tau, GAIN, True)
            r = residual(model, *arrays, friction_width=0.0) if sharp else residual(model, *arrays)
            parts = [r[rows, j] for j, rows in zip((1, 2), moving, strict=True)]
            errors[sharp].append(np.array([np.sqrt(np.mean(x**2)) for x in parts]))
    return np.asarray(np.mean(errors[False], axis=0) / np.mean(errors[True], axis=0))


def of_pushes(events: Sequence[Event]) -> tuple[int, int]:
    """How many pushes have an event that begins with them, and how many events begin with none.

    One that begins long before a push and lasts into it is a false alarm, not an early answer.
    """
    begun = [[a - EARLY <= event.start <= b for a, b in PUSHES] for event in events]
    found = np.array(begun, dtype=bool).reshape(-1, len(PUSHES))
    return int(found.any(axis=0).sum()), int((~found.any(axis=1)).sum())


def pushes(methods: Sequence[Method], logs: dict[str, rd.Log]) -> Iterator[RealFigure]:
    """Pushes of a standing arm: found, and one event each."""
    log, told = read(PUSHED), list[tuple[int, int, int]]()
    log = replace(log, t=log.t - log.t[0])
    for method in methods:
        settings = method.settings([*logs.values()])
        events = rd.detect(method.model, log, settings).events
        told.append((*of_pushes(events), len(events)))
    texts = [f"{found} of {len(PUSHES)}" for found, _, _ in told]
    every = f"{len(PUSHES)} of {len(PUSHES)}"
    what = "– pushes found by an event that begins with them"
    yield RealFigure(what, texts[1], every, told[1][0] == len(PUSHES), "", texts[0])
    texts = [f"{events}, {alone}" for _, alone, events in told]
    good = told[1][1:] == (0, len(PUSHES))
    yield RealFigure(
        "– events; begun without a push", texts[1], f"{len(PUSHES)}, 0", good, "", texts[0]
    )
