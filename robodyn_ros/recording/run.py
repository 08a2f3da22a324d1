"""Run: a recorded motion with its torque and, if recorded, reference and true contact torque."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..sensing.csv_log import ColumnMap, drive_gains, read_csv
from ..sensing.effort import with_commands
from ..sensing.log import MIN_SAMPLES
from ..sensing.sampler import Samples, sample_rows
from ..sensing.settings import SensingSettings
from .bags import Bag, Progress, quiet
from .joint_states import TYPE, JointStates

Array = npt.NDArray[np.float64]
Span = tuple[float, float]  # [s], begin and end

COMMANDS = "std_msgs/msg/Float64MultiArray"
PACE_PARTS = 20  # of a recording, over which the pace of stamps is measured
PACE_TOLERANCE = 0.1  # by which their pace may differ from the recorder's
EFFORTS = ("auto", "joint_states", "command")


@dataclass(frozen=True)
class Sources:
    """Topics of a bag, by full name or its end."""

    states: str = "joint_states"
    commands: str = "effort_controller/commands"
    truth: str = "simulator_node/external_torque"
    reference: str = "controller_node/reference"
    external: str = ""  # the maker's external torque, effort of a JointState; empty: none
    effort: str = "auto"  # joint_states, command, or auto: the first of these that the bag has

    def __post_init__(self) -> None:
        if self.effort not in EFFORTS:
            raise ArgumentError(f"effort must be one of {', '.join(EFFORTS)}, got {self.effort!r}")


@dataclass(frozen=True, eq=False)
class Run:
    """Samples of one arm; `t`, `q`, `qd`, `tau` are those of the usable ones, from t = 0."""

    name: str
    samples: Samples  # all of them, with their stamps
    effort: str  # source of the torque: joint_states, command or columns
    arrival: npt.NDArray[np.int64] | None = None  # (T,) [ns], time of recording
    states_topic: str = "/joint_states"
    truth: tuple[Array, Array] | None = None  # times, and external torques (T', n) [N m or N]
    reference: tuple[Array, Array] | None = None  # times, and reference positions (T', n)
    external: tuple[Array, Array] | None = None  # times, and the maker's external torque (T', n)
    remarks: list[str] = field(default_factory=list)  # on rejected samples and clocks, for people

    @property
    def usable(self) -> npt.NDArray[np.bool_]:
        """Whether each sample is valid and has a torque (T,)."""
        return self.samples.usable

    @cached_property
    def start(self) -> float:
        """Time of the first usable sample [s]."""
        return float(self.samples.t[self.usable][0])

    @cached_property
    def t(self) -> Array:
        """Times of the usable samples (U,) [s]."""
        return self.samples.t[self.usable] - self.start

    @cached_property
    def q(self) -> Array:
        """Positions (U, n) [rad or m]."""
        return self.samples.q[self.usable]

    @cached_property
    def qd(self) -> Array:
        """Velocities (U, n) [rad/s or m/s]."""
        return self.samples.qd[self.usable]

    @cached_property
    def tau(self) -> Array:
        """Torque applied during the step that ends with the sample (U, n) [N m or N]."""
        return self.samples.tau[self.usable]

    @property
    def received(self) -> npt.NDArray[np.int64] | None:
        """Times of recording of the usable samples (U,) [ns]."""
        return None if self.arrival is None else self.arrival[self.usable]

    @property
    def duration(self) -> float:
        """Time from the first to the last usable sample [s]."""
        return float(self.t[-1] - self.t[0])

    @property
    def rate(self) -> float:
        """Median rate [Hz]."""
        return float(1.0 / np.median(np.diff(self.t)))


def read_table(
    path: Path,
    model: RobotModel,
    columns: str | None,
    gains: Sequence[float] | None,
    sensing: SensingSettings | None = None,
    external: str = "",
) -> Run:
    """Return the run in a CSV file; columns: 't=0 q=1-6 qd=7-12 tau=13-18', or names.

    external: columns of the maker's external torque, '19-24' or names; empty: none.
    """
    n = model.n
    usual = f"t=0 q=1-{n} qd={n + 1}-{2 * n} tau={2 * n + 1}-{3 * n}"
    log = read_csv(path, ColumnMap.parse(columns or usual), gains=gains)
    if log.n != n:
        raise ArgumentError(
            f"the columns of '{path}' are those of {log.n} joints, but {model.name} has {n}: "
            f"{', '.join(model.joint_names)}"
        )
    period = float(np.median(np.diff(log.t)))
    samples = sample_rows(model, log.t, log.q, log.qd, log.tau, sensing, period=period)
    run = Run(path.stem, samples, "columns", remarks=_remarks(samples, []))
    run = _checked(run, str(path))
    if external:
        also = ColumnMap.parse(f"{columns or usual} tau={external}")  # the last one counts
        other = read_csv(path, also)
        run = replace(run, external=(other.t - run.start, other.tau))
    return run


def read_run(
    bag: Bag,
    model: RobotModel,
    sources: Sources | None = None,
    gains: Sequence[float] | None = None,
    progress: Progress = quiet,
    *,
    sensing: SensingSettings | None = None,
    rate: float | None = None,
) -> Run:
    """Return the run in a bag with its truth and reference; arguments as for `read_samples`."""
    sources = sources or Sources()
    run = read_samples(bag, model, sources, gains, progress, sensing=sensing, rate=rate)
    zero = _checked(run, f"{run.states_topic} in '{bag.path}'").start
    return replace(
        run,
        truth=_series(bag, model, sources.truth, "effort", zero),
        reference=_series(bag, model, sources.reference, "position", zero),
        external=_external(bag, model, sources.external, zero),
    )


def read_samples(
    bag: Bag,
    model: RobotModel,
    sources: Sources,
    gains: Sequence[float] | None = None,
    progress: Progress = quiet,
    *,
    sensing: SensingSettings | None = None,
    rate: float | None = None,
) -> Run:
    """Return the samples in a bag, validated as the node validates messages.

    gains: drive gains [N m/A], if efforts are currents; rate: nominal, of the joint states [Hz];
    by default their median rate.
    """
    sensing = sensing or SensingSettings()
    topic = bag.demand(sources.states, TYPE)
    states = bag.joint_states(topic, progress)
    if not set(model.joint_names) <= states.found:
        raise ArgumentError(
            f"no message on {topic} in '{bag.path}' names all of {', '.join(model.joint_names)}; "
            f"the joints found are: {', '.join(sorted(states.found)) or 'none'}"
        )
    now, clock_remark = _clock(states, sensing)
    times = states.stamps if states.stamps.any() else 1e-9 * states.received
    steps = np.diff(times)
    steps = steps[steps > 0.0]
    period = 1.0 / rate if rate else float(np.median(steps)) if steps.size else 1.0
    samples, arrival = states.samples(model, sensing, now, period, drive_gains(gains, model.n))
    samples, effort = _with_torque(bag, model, sources, samples, arrival, sensing, period)
    remarks = _remarks(samples, [clock_remark] if clock_remark else [])
    return Run(bag.path.stem, samples, effort, arrival, topic, remarks=remarks)


def _checked(run: Run, where: str) -> Run:
    """Return a run with enough usable samples, or raise."""
    count = int(run.usable.sum())
    if count < MIN_SAMPLES:
        causes = sorted(set(run.samples.causes.values()))
        why = f": {causes[0]}" if causes else ""
        raise ArgumentError(
            f"{where} has {count} samples with position and torque of all joints; "
            f"{MIN_SAMPLES} at least are needed{why}"
        )
    return run


def _clock(states: JointStates, sensing: SensingSettings) -> tuple[Array, str]:
    """Return the clock at receipt of each message (T,) [s], and a remark.

    Stamps that run at another pace than the recorder's clock, as simulated time does, or ahead of
    it are their own clock.
    """
    received, stamps = np.asarray(1e-9 * states.received, dtype=np.float64), states.stamps
    if not stamps.any():
        return received, ""
    lead, pace = float(np.median(stamps - received)), _pace(stamps, received)
    if lead > sensing.max_lead:
        return stamps, f"stamps are {lead:.3g} s ahead of the recording: taken as the clock"
    if abs(pace - 1.0) > PACE_TOLERANCE:
        return stamps, f"stamps run {pace:.3g} times as fast as the recording: taken as the clock"
    return received, ""


def _pace(stamps: Array, received: Array) -> float:
    """Return the rate of stamps by the clock of receipt: the median over parts of the run."""
    edges = np.linspace(received.min(), received.max(), PACE_PARTS + 1)
    part = np.clip(np.searchsorted(edges, received, side="right") - 1, 0, PACE_PARTS - 1)
    latest = np.full(PACE_PARTS, -np.inf)
    np.maximum.at(latest, part, stamps)
    steps = np.diff(latest[np.isfinite(latest)])
    width = float(edges[1] - edges[0])
    return float(np.median(steps) / width) if steps.size and width > 0.0 else 1.0


def _remarks(samples: Samples, remarks: list[str]) -> list[str]:
    """Return the remarks, with one on rejected samples and their most frequent cause."""
    lost = ~samples.usable
    if lost.any():
        causes = Counter(text for k, text in samples.causes.items() if lost[k])
        often = f", mostly: {causes.most_common(1)[0][0]}" if causes else ""
        remarks = [*remarks, f"{int(lost.sum())} samples are left out{often}"]
    return remarks


def _with_torque(
    bag: Bag,
    model: RobotModel,
    sources: Sources,
    samples: Samples,
    arrival: npt.NDArray[np.int64],
    sensing: SensingSettings,
    period: float,
) -> tuple[Samples, str]:
    """Return the samples with the torque applied before each, and the source of the torque."""
    reported = bool(samples.usable.any())
    topic = bag.find(sources.commands, COMMANDS)
    wanted = sources.effort
    if wanted == "auto":
        wanted = "joint_states" if reported or topic is None else "command"
    if wanted == "joint_states":
        if not reported:
            raise ArgumentError(
                f"the joint states in '{bag.path}' have no effort, and there are no commands "
                f"(topic '{sources.commands}'); it has {bag.listing()}"
            )
        return samples, wanted
    times, rows = bag.number_rows(bag.demand(sources.commands, COMMANDS), model.n)
    accepted = (np.abs(rows) < sensing.max_effort).all(axis=1)
    times, rows = times[accepted], rows[accepted]
    last = np.searchsorted(times, arrival, side="left") - 1
    return with_commands(model, samples, rows, last, sensing, period), wanted


def _external(bag: Bag, model: RobotModel, name: str, zero: float) -> tuple[Array, Array] | None:
    """Return times and the maker's external torque, if asked for, or raise."""
    if not name:
        return None
    found = _series(bag, model, bag.demand(name, TYPE), "effort", zero)
    if found is None:
        raise ArgumentError(
            f"no message on '{name}' in '{bag.path}' has an effort of all of "
            f"{', '.join(model.joint_names)}"
        )
    return found


def _series(
    bag: Bag, model: RobotModel, name: str, what: str, zero: float
) -> tuple[Array, Array] | None:
    """Return times and one field of another topic of joint states, if the bag has it."""
    topic = bag.find(name, TYPE)
    if topic is None:
        return None
    t, values = bag.joint_states(topic).columns(model.joint_names, what)
    return (t - zero, values) if t.size else None
