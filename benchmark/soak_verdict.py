"""What a soak has shown: from what was watched every second to figures, bars and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from figures import Figure
from soak_witness import Tally

GROWTH = 0.5  # [MB/h]
JUDGED = 600.0  # [s] of wall time after settling without which growth cannot be told from noise
TOO_SHORT = "too short to judge"
MISSED = {"composed": 0.01, "processes": 0.1}  # share of cycles without a fresh command
LATENCY = {"composed": 1.0, "processes": 3.0}  # periods: 99 % of the answers to a joint state
STEPS = {"composed": "sample by sample, exact", "processes": "by topics, to a period"}
TENTH = 0.1
LEAK_ROWS = 100  # settled looks, one a second: between fewer, a visiting node holds a file or two


@dataclass(frozen=True)
class Row:
    """One look at everything."""

    wall: float  # [s], since the start
    simulated: float  # [s], of all lives together
    settled: bool  # whether nothing is restarted any more, and has not been for a while
    holds: dict[str, list[float]]  # process -> RSS [MB], threads, open files
    latency: float  # [ms], 99 % of the latest answers to a joint state
    worst: float  # [ms]
    others: float  # cores that other programs used since the last look
    sitting: int = 0  # in how many parts the run was done before


@dataclass
class Outcome:
    """What was counted until the end."""

    mode: str  # free, wall
    nodes: str  # composed, processes
    rate: float  # [Hz]
    tallies: list[Tally] = field(default_factory=list)  # one per life of the witness
    sent: int = 0  # pushes
    cycles: int = 0
    missed: int = 0
    restarts: int = 0  # of nodes under watch
    guests: int = 0  # other nodes that came and went beside them
    settings: int = 0  # that were changed, or refused, as they should
    wrong_settings: list[str] = field(default_factory=list)
    wrong_ends: list[str] = field(default_factory=list)  # nodes that did not end as they should
    safe_holds: list[str] = field(default_factory=list)  # their reasons
    injections: list[str] = field(default_factory=list)  # faults and payloads, in their order
    unhealed: list[str] = field(default_factory=list)  # those after which the arm did not go on

    @classmethod
    def read(cls, kept: dict[str, Any]) -> Outcome:
        """From a checkpoint."""
        return cls(**{**kept, "tallies": [Tally(**tally) for tally in kept["tallies"]]})

    def total(self, name: str) -> float:
        """A number of the tally over all lives."""
        return sum(getattr(tally, name) for tally in self.tallies)


def sittings(rows: Sequence[Row]) -> list[list[Row]]:
    """The settled rows of each sitting, in which the same processes were looked at."""
    kept: dict[int, list[Row]] = {}
    for row in rows:
        if row.settled:
            kept.setdefault(row.sitting, []).append(row)
    return list(kept.values())


def growth(rows: Sequence[Row], process: str) -> tuple[float, float]:
    """[MB/h] and [s]: slope of the memory after settling, and over how long. The sittings have one
    slope, each from a level of its own.
    """
    across = along = span = 0.0
    for part in sittings(rows):
        t, rss = np.array([(row.wall, row.holds[process][0]) for row in part]).T
        along += float(np.sum((t - t.mean()) ** 2))
        across += float(np.sum((t - t.mean()) * (rss - rss.mean())))
        span += float(t[-1] - t[0])
    return (across / along * 3600.0, span) if along else (0.0, 0.0)


def leaked(rows: Sequence[Row], process: str, which: int) -> int:
    """By how many threads (1) or files (2) the floor rose from the first to the last tenth."""
    counts = [row.holds[process][which] for row in rows if row.settled]
    part = max(round(len(counts) * TENTH), 1)
    return int(min(counts[-part:]) - min(counts[:part])) if counts else 0


def figures(rows: Sequence[Row], outcome: Outcome) -> list[Figure]:
    """Every figure with its bar."""
    found = [_ran(rows, outcome)]
    for process in rows[-1].holds if rows else ():
        found += _held(rows, process)
    found += _told(outcome)
    return [*found, _latency(rows, outcome), _missed(outcome)]


def verdict(found: Sequence[Figure]) -> str:
    """The closing line."""
    if not all(figure.passed for figure in found):
        return "failed"
    judged = not any(TOO_SHORT in figure.note for figure in found)
    return "passed" if judged else "passed, memory not judged: too short"


def _latency(rows: Sequence[Row], outcome: Outcome) -> Figure:
    latest = [row for row in rows if row.settled] or list(rows)
    p99 = float(np.median([row.latency for row in latest])) if latest else 0.0
    worst = max((row.worst for row in latest), default=0.0)
    others = float(np.mean([row.others for row in rows])) if rows else 0.0
    note = f"worst {worst:.1f} ms; other programs used {others:.1f} cores"
    most = 1e3 * LATENCY[outcome.nodes] / outcome.rate
    timed = outcome.mode == "wall"
    bar = f"≤ {most:g} ms" if timed else "(told)"
    return Figure("latency, 99 %: median", f"{p99:.2f} ms", bar, p99 <= most or not timed, note)


def _missed(outcome: Outcome) -> Figure:
    note = f"of {outcome.cycles:,} cycles"
    if outcome.mode == "free":
        return Figure("cycles missed", "-", "(free-running: none can be)", True, note)
    share, bar = outcome.missed / max(outcome.cycles, 1), MISSED[outcome.nodes]
    return Figure("cycles missed", f"{share:.3%}", f"≤ {bar:.0%}", share <= bar, note)


def _ran(rows: Sequence[Row], outcome: Outcome) -> Figure:
    wall, simulated = (rows[-1].wall, rows[-1].simulated) if rows else (0.0, 0.0)
    measured = f"{simulated:.0f} s in {wall:.0f} s"
    note = f"{outcome.restarts} restarts, {outcome.guests} guests, {outcome.settings} settings"
    name = f"{outcome.mode}, {outcome.nodes}, {outcome.rate:g} Hz: ran"
    return Figure(name, measured, "> 0 s", simulated > 0.0, note)


def _held(rows: Sequence[Row], process: str) -> list[Figure]:
    slope, span = growth(rows, process)
    told = span >= JUDGED
    rss = rows[-1].holds[process][0]
    memory = Figure(
        f"{process}: memory grows by",
        f"{slope:+.3f} MB/h",
        f"≤ {GROWTH:g} MB/h" if told else f"(≤ {GROWTH:g} MB/h)",
        slope <= GROWTH or not told,
        f"{rss:.1f} MB; over {span:.0f} s" + ("" if told else f": {TOO_SHORT}"),
    )
    parts = [part for part in sittings(rows) if len(part) >= LEAK_ROWS]
    threads, files = (
        max((leaked(part, process, which) for part in parts), default=0) for which in (1, 2)
    )
    judged = bool(parts)
    now = rows[-1].holds[process]
    return [
        memory,
        Figure(
            f"{process}: threads, files leaked",
            f"{threads}, {files}",
            "≤ 0, ≤ 0" if judged else "(≤ 0, ≤ 0)",
            (threads <= 0 and files <= 0) or not judged,
            f"{now[1]:.0f} threads, {now[2]:.0f} files" + ("" if judged else f": {TOO_SHORT}"),
        ),
    ]


def _told(outcome: Outcome) -> list[Figure]:
    pushes, told, cut = (outcome.total(name) for name in ("pushes", "told", "cut"))
    delays = [delay for tally in outcome.tallies for delay in tally.delays]
    delay = f"; told after {1e3 * np.median(delays):.0f} ms (median)" if delays else ""
    seen = f"{cut:.0f} cut short by the end of a life; {outcome.sent} sent{delay}"
    when = [alarm for tally in outcome.tallies for alarm in tally.false_at]
    ends = [stop for tally in outcome.tallies for stop in tally.stops_at]
    alarms, wrong = outcome.total("false_alarms"), outcome.total("bad_numbers")
    steps, quiet = outcome.total("steps"), max((t.quiet for t in outcome.tallies), default=0.0)
    stops, how = outcome.total("stops"), STEPS[outcome.nodes]
    carried = f"and {outcome.total('carried'):.0f} times pushed there: {'; '.join(ends[-5:])}"
    note = f"largest residual while untouched {quiet:.3f} N m"
    all_told = 0 < pushes == told + cut
    injected, noticed, named = (outcome.total(x) for x in ("injected", "noticed", "named"))
    unseen = [kind for tally in outcome.tallies for kind in tally.unnoticed_at]
    about = f"{named:.0f} named as they were{'; not: ' if unseen else ''}{', '.join(unseen[:5])}"
    lines = (
        ("pushes told", f"{told:.0f} of {pushes:.0f}", "all", all_told, seen),
        ("false alarms", f"{alarms:.0f}", "0", alarms == 0, "; ".join(when[:5]) or note),
        ("times at a joint's end by itself", f"{stops:.0f}", "0", stops == 0, carried),
        (
            "faults and payloads noticed",
            f"{noticed:.0f} of {injected:.0f}",
            "all",
            not unseen,
            about,
        ),
        _count("of these, the arm did not go on", outcome.unhealed),
        ("UNKNOWN", f"{outcome.total('unknown'):.1f} s", "(told)", True, "starts included"),
        ("bad numbers", f"{wrong:.0f}", "0", wrong == 0, "not finite, or beyond the limits"),
        ("torque steps beyond the rate limit", f"{steps:.0f}", "0", steps == 0, how),
        _count("safe holds", outcome.safe_holds),
        _count("settings wrongly taken or refused", outcome.wrong_settings),
        _count("nodes that ended as they should not", outcome.wrong_ends),
    )
    return [Figure(*line) for line in lines]


def _count(name: str, reasons: Sequence[str]) -> tuple[str, str, str, bool, str]:
    return name, str(len(reasons)), "0", not reasons, "; ".join(reasons[:3])


def plot(rows: Sequence[Row], outcome: Outcome, path: Path) -> None:
    """Memory, files and threads, and latency over wall time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 7), layout="constrained")
    t = np.array([row.wall for row in rows]) / 60.0
    for process in rows[-1].holds:
        rss, threads, files = np.array(
            [row.holds.get(process, [np.nan] * 3) for row in rows], dtype=float
        ).T
        axes[0].plot(t, rss, label=process, linewidth=0.8)
        axes[1].plot(t, files, label=f"{process}: files", linewidth=0.8)
        axes[1].plot(t, threads, label=f"{process}: threads", linewidth=0.8, linestyle="--")
    for name, values in (
        ("99 %", [row.latency for row in rows]),
        ("worst", [row.worst for row in rows]),
    ):
        axes[2].semilogy(t, np.maximum(values, 1e-3), label=name, linewidth=0.6)
    for ax, what in zip(axes, ("RSS [MB]", "count", "latency [ms]"), strict=True):
        ax.set_ylabel(what)
        ax.legend(fontsize=7)
        settled = [row.wall / 60.0 for row in rows if row.settled]
        if settled:
            ax.axvline(settled[0], color="black", linewidth=0.5, linestyle=":")
    axes[2].set_xlabel("wall time [min]; dotted: settled")
    figure.suptitle(
        f"{outcome.mode}, {outcome.nodes}, {outcome.rate:g} Hz: "
        f"{rows[-1].simulated:.0f} s, {outcome.total('pushes'):.0f} pushes, "
        f"{outcome.total('false_alarms'):.0f} false alarms"
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)
