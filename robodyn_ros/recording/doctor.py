"""What a stream of joint states offers to a detector: joints, rate, stamps, velocities, effort.

`examine` looks at some seconds of joint states, live or recorded, and returns findings in words
and the parameters of dynamics_node that follow from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..identification.effort_convention import (
    EffortConvention,
    effort_convention,
    model_errors,
)
from ..model.robot import RobotModel
from ..sensing.effort_settings import EffortSettings
from ..sensing.log import MIN_SAMPLES, Log, derivative
from ..sensing.settings import SensingSettings
from ..settings import leaves, yaml_section

Array = npt.NDArray[np.float64]

OK, NOTE, PROBLEM = "ok", "note", "problem"  # weight of a finding
GAP = 3.0  # periods: a longer step is a gap
STEADY = 0.5  # share of the period by which 99 % of the steps may differ
FRESH = 0.95  # share of new samples below which repetitions are reported
CLOCK_DOUBT = 0.01  # [s] of a stamp's spread that is reported
TRAVEL_TIME = 0.2  # [s], of the travels by which velocities are judged
VELOCITY_SCALE = 1.15  # factor by which velocities may differ from differences of positions
LARGE_ERROR = 0.2  # of the effort's range: a model error that is reported as a problem
ROUND_RATES = (1000.0, 500.0, 250.0, 200.0, 125.0, 100.0, 50.0, 30.0)  # [Hz]


@dataclass(frozen=True, eq=False)
class StateTable:
    """Joint states as they came; fields of m joints, in the order of `names`."""

    names: tuple[str, ...]  # empty: the source has none, as a CSV file
    stamps: Array  # (T,) [s]
    q: Array  # (T, m) [rad or m]
    qd: Array | None = None  # (T, m)
    effort: Array | None = None  # (T, m)
    received: Array | None = None  # (T,) [s], clock at receipt
    source: str = "joint_states"


@dataclass(frozen=True)
class Finding:
    """One finding in words."""

    subject: str
    text: str
    weight: str = OK


@dataclass
class Examination:
    """All findings, and the parameters that follow from them."""

    findings: list[Finding] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)  # of dynamics_node, by dotted names
    convention: EffortConvention | None = None

    def tell(self, subject: str, text: str, weight: str = OK) -> None:
        """Add a finding."""
        self.findings.append(Finding(subject, text, weight))

    @property
    def usable(self) -> bool:
        """Whether a detector can run on this."""
        return all(finding.weight != PROBLEM for finding in self.findings)

    def yaml(self) -> str:
        """Return the parameters as a file for dynamics_node, with the findings as comments."""
        lines = [f"# {finding.subject}: {finding.text}" for finding in self.findings]
        about = {f"sensing.{name}": a.described for name, _, a in leaves(SensingSettings())}
        about |= {f"effort.{name}": a.described for name, _, a in leaves(EffortSettings())}
        return "\n".join(lines) + "\n" + yaml_section("/**/dynamics_node", self.values, about)

    def facts(self) -> dict[str, Any]:
        """Return all findings as plain data, for scripts."""
        found = self.convention
        effort = {} if found is None else {
            "unit": found.unit,
            "sign": found.sign,
            "scale": None if math.isnan(found.scale) else found.scale,
            "gravity": found.gravity,
            "side": found.side,
        }  # fmt: skip
        findings = [vars(finding) for finding in self.findings]
        return {
            "usable": self.usable,
            "findings": findings,
            "effort": effort,
            "parameters": self.values,
        }


def joints_to_lock(model: RobotModel, names: Sequence[str]) -> list[str]:
    """Return the joints of the model that the messages lack, if they have some of the others."""
    missing = [name for name in model.joint_names if name not in names]
    return missing if 0 < len(missing) < model.n else []


def examine(
    model: RobotModel, table: StateTable, sensing: SensingSettings | None = None
) -> Examination:
    """Return findings and parameters for a detector of this arm."""
    found, limits = Examination(), sensing or SensingSettings()
    order = _joints(model, table, found)
    if order is None:
        return found
    period = _rate(table, limits, found)
    _stamps(table, limits, found)
    q = table.q[:, order]
    # Messages whose stamp is repeated or goes back are left out
    latest = np.maximum.accumulate(table.stamps)
    kept = np.concatenate([[True], table.stamps[1:] > latest[:-1]])
    t = table.stamps[kept] - table.stamps[0]
    if kept.sum() < MIN_SAMPLES:  # stamps are no use
        kept = np.ones(len(q), dtype=bool)
        t = period * np.arange(len(q))
    q = q[kept]
    qd = _velocity(table, order, kept, t, q, found)
    effort = None if table.effort is None else table.effort[kept][:, order]
    if effort is None or not np.isfinite(effort).all() or not effort.any():
        why = "none" if effort is None else "all zero" if not effort.any() else "not finite"
        found.tell(
            "effort", f"{why}: the detector needs commanded torques, effort.source: command", NOTE
        )
        found.values["effort.source"] = "command"
        return found
    _effort(model, Log(t, q, qd, effort), found)
    return found


def _joints(model: RobotModel, table: StateTable, found: Examination) -> list[int] | None:
    """Return the columns of the model's joints, or None if they are not there."""
    n, names = model.n, table.names
    missing = [name for name in model.joint_names if name not in names]
    if not missing:
        more = [name for name in names if name not in model.joint_names]
        also = f"; also named: {', '.join(more)}" if more else ""
        found.tell("joints", f"all {n} of {model.name} are named{also}")
        return [names.index(name) for name in model.joint_names]
    if len(missing) == n and table.q.shape[1] == n:
        called = f"they are called {', '.join(names)}: " if names else "the source names none: "
        weight = NOTE if names else OK
        found.tell("joints", f"{called}taken in the order of {model.name}", weight)
        if names:
            found.tell(
                "joint names",
                "dynamics_node matches joints by name: rename them in the URDF, or relay the "
                "topic with the URDF's names",
                PROBLEM,
            )
        return list(range(n))
    text = f"no {', '.join(missing)} among {', '.join(names)}"
    found.tell("joints", text, PROBLEM)
    return None


def _rate(table: StateTable, limits: SensingSettings, found: Examination) -> float:
    """Tell rate, jitter, gaps and repetitions; return the period [s]."""
    clock = table.stamps if np.ptp(table.stamps) > 0.0 else table.received
    if clock is None or len(clock) < MIN_SAMPLES:
        found.tell("rate", f"only {len(table.stamps)} messages: look for longer", PROBLEM)
        return 1e-3
    steps = np.diff(clock)
    steps = steps[steps > 0.0]
    period = float(np.median(steps))
    jitter = float(np.percentile(np.abs(steps - period), 99))
    gaps = steps[steps > GAP * period]
    text = f"{1.0 / period:.4g} Hz; 99 % of the steps within {1e3 * jitter:.2f} ms of the median"
    text += f"; {gaps.size} gaps, up to {gaps.max():.3g} s" if gaps.size else "; no gaps"
    found.tell("rate", text, OK if jitter < STEADY * period and not gaps.size else NOTE)
    near = min(ROUND_RATES, key=lambda rate: abs(math.log(rate * period)))
    found.values["rate"] = near if abs(near * period - 1.0) < 0.1 else round(1.0 / period, 1)
    silence = float(f"{2.0 * max(steps.max(), GAP * period):.2g}")
    if silence > limits.silence:
        found.values["sensing.silence"] = silence
    same = (np.diff(table.q, axis=0) == 0.0).all(axis=1)
    if table.effort is not None:
        same &= (np.diff(table.effort, axis=0) == 0.0).all(axis=1)
    fresh = 1.0 - float(same.mean())
    if fresh < FRESH:
        note = f"{fresh:.0%} of the messages are new, the others repeat the one before: " + (
            f"the driver reads about {fresh / period:.0f} Hz"
        )
        found.tell("fresh samples", note, NOTE)
    return period


def _stamps(table: StateTable, limits: SensingSettings, found: Examination) -> None:
    stamps, received = table.stamps, table.received
    if not np.ptp(stamps):
        found.tell("stamps", "none: the time of receipt is taken", NOTE)
        found.values["sensing.stamps"] = "receipt"
        return
    steps = np.diff(stamps)
    back, again = int((steps < 0.0).sum()), int((steps == 0.0).sum())
    if back or again:
        found.tell("stamps", f"{back} go back, {again} are repeated: such messages are lost", NOTE)
    if received is None:
        return
    age = received - stamps
    middle, spread = float(np.median(age)), float(np.percentile(age, 99) - np.percentile(age, 1))
    text = f"{1e3 * middle:.2f} ms old at receipt, within {1e3 * spread:.2f} ms"
    if -limits.max_lead < middle < limits.max_age:
        found.tell("stamps against clock", text, NOTE if spread > CLOCK_DOUBT else OK)
        return
    found.tell(
        "stamps against clock",
        f"{middle:+.3g} s old: the driver's clock is another; synchronise them (chrony, PTP), or "
        "take the time of receipt",
        NOTE,
    )
    found.values["sensing.stamps"] = "receipt"


def _velocity(
    table: StateTable,
    order: Sequence[int],
    kept: npt.NDArray[np.bool_],
    t: Array,
    q: Array,
    found: Examination,
) -> Array:
    """Tell whether velocities fit the positions; return velocities (T, n)."""
    differences = derivative(t, q)
    qd = None if table.qd is None else table.qd[kept][:, order]
    if qd is None or not np.isfinite(qd).all():
        found.tell("velocities", "none: differences of positions are taken, which are noisy", NOTE)
        return differences
    moves = differences.std(axis=0) > 1e-3
    if not moves.any():
        found.tell("velocities", "given; the arm rests, so they cannot be compared")
        return qd
    middle = float(np.median(_velocity_scale(t, q[:, moves], qd[:, moves])))
    if not qd.any():
        found.tell("velocities", "all zero although the arm moves: differences are taken", NOTE)
        return differences
    if not 1.0 / VELOCITY_SCALE < middle < VELOCITY_SCALE:
        text = f"{middle:.3g} times the differences of positions: another unit?"
        found.tell("velocities", text, PROBLEM)
        return differences
    found.tell("velocities", f"given, {middle:.3f} times the differences of positions")
    return qd


def _velocity_scale(t: Array, q: Array, qd: Array) -> Array:
    """Return the velocities by the positions (n,), from travels: stamps that jitter from sample to
    sample spoil differences of positions, but hardly the travel of many samples.
    """
    step = min(max(int(TRAVEL_TIME * len(t) / (t[-1] - t[0])), 1), len(t) // 2)
    dt = np.diff(t, prepend=t[0])[:, None]
    integral = np.cumsum(dt * 0.5 * (qd + np.roll(qd, 1, axis=0)), axis=0)
    travel, wanted = q[step:] - q[:-step], integral[step:] - integral[:-step]
    return np.asarray((travel * wanted).sum(axis=0) / (travel * travel).sum(axis=0))


def _effort(model: RobotModel, log: Log, found: Examination) -> None:
    """Tell what the effort is, its offsets, and how well the model fits."""
    convention = found.convention = effort_convention(model, log)
    for text in convention.evidence:
        found.tell("effort", text, NOTE if "unknown" in text else OK)
    if not convention.sign:
        found.tell(
            "effort", "its sign and unit are not visible: repeat this while the arm moves", NOTE
        )
        found.values["effort.source"] = "joint_states"
        if convention.gravity == "removed":
            found.values["effort.gravity"] = "removed"
        return
    settings = convention.settings()
    usual = {name: value for name, value, _ in leaves(EffortSettings())}
    found.values |= {
        f"effort.{name}": value
        for name, value, _ in leaves(settings)
        if name in ("source", "gain", "side", "gravity") or value != usual[name]
    }
    offset = ", ".join(f"{value:+.2g}" for value in convention.offset)
    where = "at rest" if convention.rested and convention.side == "link" else "of the fit"
    found.tell("offsets", f"{where} {offset} N m; `~/tare` and monitor.bias follow them")
    plain, left = model_errors(model, convention, log)
    size = np.abs(np.array(convention.gain)) * log.tau.std(axis=0)
    text = ", ".join(f"{a:.2g} ({b:.2g})" for a, b in zip(plain, left, strict=True))
    large = bool((np.array(left) > LARGE_ERROR * np.maximum(size, 1.0)).any())
    found.tell(
        "model error",
        f"rms {text} N m; in brackets beside fitted friction"
        + ("; identify the arm, or check payload and tool" if large else ""),
        NOTE if large else OK,
    )
    if convention.side == "motor":
        found.tell(
            "friction",
            "the effort holds the gear's friction: `robodyn identify` writes robot.friction.*, "
            "then effort.friction: model",
            NOTE,
        )


def table_of_log(log: Log, source: str) -> StateTable:
    """Return the joint states of a log, which names no joints."""
    if log.n < 1:
        raise ArgumentError(f"'{source}' has no joints")
    return StateTable((), log.t, log.q, log.qd, log.tau, source=source)
