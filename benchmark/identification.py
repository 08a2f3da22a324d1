"""How well parameters are found: on simulated arms, and on a real UR10e if its logs are there.

    python benchmark/identification.py [--quick] [--seed N] [--data FOLDER] [--json FILE] [--check]

docs/identification.md says how each figure is measured. The recordings are not part of the
project; without their folder the lines about the UR10e are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import mujoco
import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from scipy.ndimage import minimum_filter1d

import robodyn_ros as rd
from robodyn_ros.control.laws.computed_torque import ComputedTorqueController
from robodyn_ros.control.limits import TorqueLimits
from robodyn_ros.detection.detector import CollisionDetector, Level
from robodyn_ros.detection.observer import residual
from robodyn_ros.detection.thresholds import Thresholds, calibrate
from robodyn_ros.dynamics.motion import Motion
from robodyn_ros.dynamics.regressor import friction_columns
from robodyn_ros.identification.excitation import Excitation, excitation
from robodyn_ros.identification.identified import Fit, Identified
from robodyn_ros.identification.identify import identify
from robodyn_ros.identification.payload import identify_payload
from robodyn_ros.identification.samples import prepare
from robodyn_ros.sensing.csv_log import ColumnMap, read_csv
from robodyn_ros.sensing.log import Log
from robodyn_ros.simulation.disturbances import perturbed
from robodyn_ros.simulation.rigid import RigidPlant
from robodyn_ros.simulation.sensors import LWR_SENSORS

Array = np.ndarray

DATA = Path(__file__).parents[1].parent / "shared" / "data" / "ur10e"
DT = 1e-3  # [s]
QDD_MAX, FLOOR = 6.0, 0.15  # [rad/s^2], [m]
OFF = {"mass": 0.15, "com": 0.02, "inertia": 0.3, "friction": 0.4}  # the nominal model's errors
HELD = rd.Payload("", 2.0, (0.02, -0.01, 0.08), 0.004)

GAINS = (14.87, 13.26, 11.13, 10.62, 11.03, 11.47)  # [N m/A], as published with the recordings
COLUMNS = ColumnMap.parse("t=0 q=1-6 qd=7-12 tau=13-18")
EXCITING, MOTION = "ur-20_02_10-30sec_12harm", (635, 3510)
FREE = ("ur-20_01_31-unload", "ur-20_02_05-20sec_8harm", "ur-20_02_06-20sec_5harm")
UNSEEN = (
    *FREE,
    "ur-20_02_06-20sec_10harm",
    "ur-20_02_10-20sec_7harm",
    "ur-20_02_19_15harm50sec",
)
LOADED, LOAD = "ur-20_02_19_15harm50secLoad", 2.805  # [kg]; a damaged file
PUSHED = "ur-20_01_22-push_pose_1"
PUSHES = ((2.1, 3.1), (4.8, 6.0), (8.6, 9.7), (12.0, 13.1))  # [s]
PLAIN_RANK, PLAIN_WIDTH = 58, 0.02
OBSERVER_GAIN, SETTLING, DEBOUNCE = 20.0, 0.5, 0.025
SPEED = 0.5  # [rad/s] at which thresholds in motion are told
MOVING = 0.02  # [rad/s], of a joint in motion


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    figure: str
    measured: str
    bar: str
    passed: bool


# ---------------------------------------------------------------- simulated arms


def recorded(model: rd.RobotModel, real: rd.RobotModel, motion: Excitation, seed: int) -> Log:
    """The real arm follows the motion with the nominal model's law; what its sensors report."""
    plant = RigidPlant(
        real, motion.at([0.0]).q[0], sensor=LWR_SENSORS, seed=seed, stops=False, saturate=False
    )
    law = ComputedTorqueController.with_frequency(model, 30.0, limits=TorqueLimits(np.inf))
    times = DT * np.arange(round(motion.duration / DT))
    wanted = motion.at(times)
    seen = []
    for k in range(times.size):
        now = Motion(*(x[k] for x in wanted))
        plant.step(law.torque(plant.state, now, DT), DT)
        seen.append(plant.measurement)
    # The torque of a step acts from its beginning to its end: on the mean, half a step earlier.
    t = np.array([m.t for m in seen])
    q, qd, tau = (np.array([getattr(m, name) for m in seen]) for name in ("q", "qd", "tau"))
    tau = np.column_stack([np.interp(t, t - 0.5 * DT, column) for column in tau.T])
    return Log(t, q, qd, tau, f"{model.name}, seed {seed}")


def simulated(name: str, seed: int) -> tuple[Array, float, Identified]:
    """Torque error per joint on unseen motion, error of the payload's mass, what was found."""
    nominal = getattr(rd.robots, name)()
    real = perturbed(nominal, seed, **OFF)
    first, second = (
        excitation(nominal, seed=s, qdd_max=QDD_MAX, workspace=FLOOR) for s in (seed, seed + 1000)
    )
    used = recorded(nominal, real, first, seed)
    unseen = recorded(nominal, real, second, seed + 1)
    found = identify(nominal, [used], held_out=[unseen])
    held = rd.Payload(nominal.link_names[-1], HELD.mass, HELD.com, HELD.inertia)
    carrying = recorded(nominal, real.replace(payload=held), second, seed + 2)
    payload = identify_payload(found, [carrying], held.link).payload
    return found.fits[1].relative, abs(payload.mass / held.mass - 1.0), found


def simulated_figures(seeds: range, console: Console) -> Iterator[Figure]:
    for name in ("lwr_iii", "kuka_lwr4"):
        errors, masses, sound = [], [], []
        for seed in seeds:
            error, mass, found = simulated(name, seed)
            errors.append(error)
            masses.append(mass)
            sound.append(is_sound(found))
            console.print(f"{name}, seed {seed}: torque error {percent(error)} %, mass {mass:.2%}")
        worst = np.max(errors, axis=0)
        yield Figure(
            f"{name}: torque error on unseen motion, worst of {len(seeds)}",
            f"{percent(worst)} %",
            "< 1 % per joint",
            bool((worst < 0.01).all()),
        )
        yield Figure(
            f"{name}: mass of a payload, worst of {len(seeds)}",
            f"{max(masses):.2%}",
            "within 2 %",
            max(masses) < 0.02,
        )
        yield Figure(
            f"{name}: loads strictly, MuJoCo takes it", f"{all(sound)}", "all", all(sound)
        )


def is_sound(found: Identified) -> bool:
    """Whether the model passes the strict checks of load_urdf and MuJoCo's."""
    text = found.to_urdf()
    rd.load_urdf(text, strict=True)
    return bool(mujoco.MjModel.from_xml_string(text).nv == found.model.n)


# ---------------------------------------------------------------- a real UR10e


class Plain:
    """Plain least squares by a truncated SVD, with qd, tanh(qd / 0.02) and 1 for friction."""

    def __init__(self, model: rd.RobotModel, log: Log) -> None:
        self.model = model
        samples = prepare(model, log, 10.0)
        A = self.columns(samples)
        U, s, Vt = np.linalg.svd(A.reshape(-1, A.shape[-1]), full_matrices=False)
        r = PLAIN_RANK
        self.x = Vt[:r].T @ (U.T[:r] @ samples.tau[samples.kept].ravel() / s[:r])

    def columns(self, samples) -> Array:
        qd = samples.qd[samples.kept]
        F = friction_columns(self.model, qd, width=PLAIN_WIDTH)
        return np.concatenate([samples.regressor(self.model), F], axis=-1)

    def fit(self, log: Log) -> Fit:
        samples = prepare(self.model, log, 10.0)
        kept = samples.kept
        A, losses = self.columns(samples), self.x.copy()
        losses[: -3 * self.model.n] = 0.0
        return Fit(
            log.name,
            True,
            samples.t[kept],
            samples.qd[kept],
            measured=samples.tau[kept],
            predicted=A @ self.x,
            friction=A @ losses,
        )


def moving(fit: Fit) -> Array:
    """(n,): relative error of each joint over the samples at which it moves."""
    parts = []
    for e, tau, qd in zip(fit.error.T, fit.measured.T, fit.qd.T, strict=True):
        on = np.abs(qd) > 2e-3
        parts.append(np.sqrt(np.mean(e[on] ** 2) / np.mean(tau[on] ** 2)))
    return np.array(parts)


def in_motion(fit: Fit, error: Array) -> Array:
    """(n,) [N m]: rms of an error (T, n) over the samples at which each joint moves."""
    on = np.abs(fit.qd) > MOVING
    return np.sqrt(np.sum(error**2 * on, axis=0) / on.sum(axis=0))


def law_and_line(found: Identified, logs: Sequence[Log], fits: Sequence[Fit]) -> Array:
    """(2, n) [N m]: torque error in motion with the whole law of friction, and with a straight
    line with a sharp sign; the mean over the logs. Before the whole law, nodes had the line.
    """
    errors = []
    for log, fit in zip(logs, fits, strict=True):
        samples = prepare(found.model, log)
        line = samples.filtered(rd.friction_torque(found.straight, samples.qd))
        errors.append([in_motion(fit, fit.error), in_motion(fit, fit.error + fit.friction - line)])
    return np.mean(errors, axis=0)


def damaged(path: Path) -> Log:
    """A log without the rows that hold absurd values, and without its last line, cut off."""
    rows = np.genfromtxt(path, delimiter=",", skip_footer=1)
    sound = (np.abs(rows[:, 1:19]) < 50.0).all(axis=1) & (rows[:, 0] > 0.0) & (rows[:, 0] < 1e5)
    t, q, qd, current = np.split(rows[sound, :19], (1, 7, 13), axis=1)
    return Log(t[:, 0], q, qd, current * GAINS, path.stem)


def ur10e_figures(folder: Path, console: Console) -> Iterator[Figure]:
    def log(name: str, rows: tuple[int, int | None] = (0, None)) -> Log:
        return read_csv(folder / f"{name}.csv", COLUMNS, gains=GAINS, rows=rows)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.ModelWarning)
        model = rd.load_urdf(folder / "ur10e.urdf")
    used, unseen, pushed = log(EXCITING, MOTION), [log(name) for name in UNSEEN], log(PUSHED)
    free = unseen[: len(FREE)]
    found = identify(model, [used], held_out=unseen)
    plain = Plain(model, used)
    before = [plain.fit(one) for one in (used, *unseen)]
    console.print(compared(before, found.fits))
    law, line = law_and_line(found, unseen, found.fits[1:])
    ratio = (law / line)[1:3]
    yield Figure(
        f"UR10e: torque error in motion of joints 2, 3 on {len(unseen)} motions not used, whole "
        "law of friction against a straight line",
        f"{numbers(line[1:3])} to {numbers(law[1:3])} N m: {ratio[0]:.2f}, {ratio[1]:.2f} times",
        "<= 0.6",
        bool((ratio <= 0.6).all()),
    )
    for name, bare in ((EXCITING, found), (UNSEEN[-1], identify(model, unseen[-1:]))):
        held = identify_payload(bare, [damaged(folder / f"{LOADED}.csv")], model.link_names[-1])
        error = held.payload.mass / LOAD - 1.0
        yield Figure(
            f"UR10e: mass of a payload of {LOAD} kg, robot identified from {name}",
            f"{held.payload.mass:.3f} ± {held.deviation:.3f} kg: {error:+.1%}",
            "within 6 % and two deviations",
            abs(error) < 0.06 and abs(held.payload.mass - LOAD) < 2.0 * held.deviation,
        )
    for what, measure in (("whole files", lambda f: f.relative), ("in motion", moving)):
        ratio = np.array(
            [measure(a) / measure(b) for a, b in zip(found.fits[1:], before[1:], strict=True)]
        )
        yield Figure(
            f"UR10e: torque error on motions not used, against plain least squares, {what}",
            f"{ratio.min():.2f} … {ratio.max():.2f} times",
            "< 1 on every file and joint",
            bool((ratio < 1.0).all()),
        )
    turns = np.array(
        [a.at_reversals / b.at_reversals for a, b in zip(found.fits[1:], before[1:], strict=True)]
    )
    yield Figure(
        "UR10e: error at velocity reversals, against plain least squares",
        f"mean {turns.mean():.2f}, worst {turns.max():.2f} times",
        "reduced: mean < 1",
        bool(turns.mean() < 1.0),
    )
    sound = is_sound(found)
    yield Figure("UR10e: loads strictly, MuJoCo takes it", str(sound), "True", sound)
    yield from detection_figures(model, found, free, pushed, console)


def compared(before: list[Fit], after: list[Fit]) -> Table:
    table = Table(
        "log", "relative torque error [%]", "in motion", "rms at reversals [N m]", box=box.SIMPLE
    )
    for a, b in zip(before, after, strict=True):
        for name, fit in ((f"{b.name}: plain", a), ("identified", b)):
            turns = ", ".join(f"{x:.2f}" for x in fit.at_reversals)
            table.add_row(name, percent(fit.relative), percent(moving(fit)), turns)
    return table


@dataclass(frozen=True)
class Watch:
    """A detector on the recordings, with one model."""

    model: rd.RobotModel
    found: Identified | None

    def residual(self, log: Log) -> tuple[Array, Array, Array]:
        tau = log.tau
        if self.found is not None:
            tau = tau - self.found.friction_torque(log.t, log.q, log.qd)
        r = residual(self.model, log.t, log.q, log.qd, tau, OBSERVER_GAIN)
        return log.t - log.t[0], log.qd, r

    def thresholds(self, logs: list[Log], margin: float) -> Thresholds:
        """The lowest that are quiet: a residual must stay above for as long as the debounce."""
        seen = [self.residual(log) for log in logs]
        lasting = [lowest_while(t, r)[t > SETTLING] for t, _, r in seen]
        return calibrate(lasting, [qd[t > SETTLING] for t, qd, _ in seen], margin=margin)

    def alarms(self, thresholds: Thresholds, log: Log) -> Array:
        t, qd, r = self.residual(log)
        detector = CollisionDetector(
            thresholds, thresholds.scaled(1.5), self.model, debounce=DEBOUNCE, settling=SETTLING
        )
        levels = [detector.update(r[k], t[k] - t[k - 1], qd[k]).level for k in range(1, t.size)]
        return t[1:][np.array(levels) >= Level.CONTACT]


def lowest_while(t: Array, r: Array) -> Array:
    """The least |r| over each stretch that is shorter than the debounce, beginning here."""
    width = int(DEBOUNCE / np.median(np.diff(t)))
    return minimum_filter1d(np.abs(r), width + 1, axis=0, mode="nearest")


def detection_figures(
    model: rd.RobotModel, found: Identified, free: list[Log], pushed: Log, console: Console
) -> Iterator[Figure]:
    """Thresholds from two free motions each, tried on the third and on the pushes."""
    smallest = {}
    for name, watch in (
        ("nominal model", Watch(model, None)),
        ("identified model", Watch(found.model, found)),
    ):
        for margin in np.arange(1.0, 3.01, 0.05):
            sets = [watch.thresholds([x for x in free if x is not out], margin) for out in free]
            quiet = all(watch.alarms(s, out).size == 0 for s, out in zip(sets, free, strict=True))
            if quiet:
                break
        heard = min(pushes_heard(watch.alarms(s, pushed)) for s in sets)
        rest, fast = (np.mean([s.at(np.full(6, v)) for s in sets], axis=0) for v in (0.0, SPEED))
        smallest[name] = (rest, fast)
        console.print(
            f"{name}: margin {margin:.2f}; smallest thresholds at rest {numbers(rest)}, at "
            f"{SPEED} rad/s {numbers(fast)} N m"
        )
        yield Figure(
            f"UR10e, {name}: quiet on free motions held out, pushes found",
            f"{'quiet' if quiet else 'alarms'}, {heard} of {len(PUSHES)}",
            "quiet, all",
            quiet and heard == len(PUSHES),
        )
    ratios = [
        b / a for a, b in zip(smallest["nominal model"], smallest["identified model"], strict=True)
    ]
    yield Figure(
        "UR10e: smallest thresholds, identified against nominal, mean over joints",
        f"at rest {ratios[0].mean():.2f}, at {SPEED} rad/s {ratios[1].mean():.2f} times",
        "printed",
        True,
    )


def pushes_heard(alarms: Array) -> int:
    return sum(bool(((alarms >= a) & (alarms <= b)).any()) for a, b in PUSHES)


# ---------------------------------------------------------------- the table


def percent(shares: Array) -> str:
    return ", ".join(f"{100.0 * x:.2f}" for x in shares)


def numbers(values: Array) -> str:
    return ", ".join(f"{x:.1f}" for x in values)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one simulated arm of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the UR10e's recordings")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    parser.add_argument("--check", action="store_true", help="exit 1 if a bar is missed")
    arguments = parser.parse_args()
    console = Console()
    seeds = range(arguments.seed, arguments.seed + (1 if arguments.quick else 5))
    figures = list(simulated_figures(seeds, console))
    if arguments.data.is_dir():
        figures += ur10e_figures(arguments.data, console)
    else:
        console.print(f"no recordings in {arguments.data}: the UR10e is left out")
    table = Table("figure", "measured", "bar", "", box=box.SIMPLE)
    for figure in figures:
        table.add_row(figure.figure, figure.measured, figure.bar, "ok" if figure.passed else "NO")
    console.print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(f) for f in figures], indent=1))
    if arguments.check and not all(figure.passed for figure in figures):
        sys.exit(1)


if __name__ == "__main__":
    main()
