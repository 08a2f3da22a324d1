"""Many recordings: the detector over each, in parallel, and one summary.

What a recording gave is appended to a file as a line of JSON as soon as it is known. Recordings
that stand there, unchanged and with the same options, are not run again.
"""

from __future__ import annotations

import hashlib
import json
import math
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..detection.detector import Level
from ..errors import ArgumentError, ResourceError, RobodynError
from .command import Analysis, AnalysisOptions, analysed
from .results import changes

NO_DASK = "--dask needs Dask: pip install distributed"
CONNECT_TIME = 10.0  # [s] to reach the scheduler
WORKER_DIED = "the process that worked on it died; was it out of memory?"


@dataclass(frozen=True)
class Outcome:
    """What the detector found in one recording."""

    path: str
    key: str = ""  # changes with the recording and the options
    robot: str = ""
    duration: float = 0.0  # [s]
    samples: int = 0
    unknown: float = 0.0  # share of the samples
    events: tuple[dict[str, Any], ...] = ()  # t, duration, level, where, joints, force, fault
    faults: dict[str, int] | None = None  # how often each kind began
    took: float = 0.0  # [s]
    error: str = ""  # why there is none of this


def outcome_of(options: AnalysisOptions) -> Outcome:
    """Return what the detector finds in a recording, or the error of a bad one."""
    begun = time.perf_counter()
    outcome = Outcome(str(options.path), key_of(options))
    try:
        with analysed(replace(options, tunable=False)) as analysis:
            outcome = replace(outcome, **_facts(analysis))
    except RobodynError as error:
        outcome = replace(outcome, error=str(error))
    return replace(outcome, took=round(time.perf_counter() - begun, 4))


def _facts(analysis: Analysis) -> dict[str, Any]:
    found, run = analysis.found, analysis.run
    events = tuple(
        {
            "t": round(event.start, 4),
            "duration": round(event.end - event.start, 4),
            "level": event.level.name,
            "where": event.where or event.link,
            "joints": list(event.joints),
            "force": round(event.force, 2) if math.isfinite(event.force) else None,
            "fault": event.fault.kind if event.fault else "",
        }
        for event in analysis.events
        if event.detected
    )
    kinds, before = Counter[str](), ""
    for k in changes(found).tolist():
        fault = found.verdict(k).fault
        kind = fault.kind if fault else ""
        kinds[kind] += kind not in ("", before)
        before = kind
    return {
        "robot": found.model.name,
        "duration": round(run.duration, 4),
        "samples": int(run.t.size),
        "unknown": round(float(np.mean(found.level == Level.UNKNOWN)), 4),
        "events": events,
        "faults": {kind: count for kind, count in sorted(kinds.items()) if count},
    }


def key_of(options: AnalysisOptions) -> str:
    """Return a text that changes with the recording, the options and the files they name."""
    named = (options.path, options.params, Path(options.robot) if options.robot else None)
    state = [__version__, repr(options)]
    for path in named:
        for file in sorted(path.rglob("*")) if path and path.is_dir() else [path]:
            if file and file.exists():
                about = file.stat()
                state.append(f"{file} {about.st_size} {about.st_mtime_ns}")
    return hashlib.sha256("\n".join(state).encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Journal:
    """The file to which outcomes are appended."""

    path: Path

    def read(self) -> dict[str, Outcome]:
        """Return the outcomes without an error, by key; a line cut by a kill is left out."""
        found = {}
        names = {field.name for field in fields(Outcome)}
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        for line in text.splitlines():
            try:
                facts = json.loads(line)
            except ValueError:
                continue
            if isinstance(facts, dict) and facts.keys() == names and not facts["error"]:
                found[facts["key"]] = Outcome(**{**facts, "events": tuple(facts["events"])})
        return found

    def append(self, outcome: Outcome) -> None:
        """Add an outcome; it is on disk when this returns."""
        facts = {field.name: getattr(outcome, field.name) for field in fields(outcome)}
        try:
            with self.path.open("a+b") as file:
                file.seek(0, 2)
                if file.tell():  # a line that a kill has cut stays alone
                    file.seek(-1, 2)
                    if file.read(1) != b"\n":
                        file.write(b"\n")
                file.write(json.dumps(facts).encode() + b"\n")
        except OSError as reason:
            raise ArgumentError(f"cannot write '{self.path}': {reason.strerror}") from None


def run_fleet(
    recordings: Sequence[AnalysisOptions],
    journal: Journal | None = None,
    jobs: int = 1,
    dask: str = "",
    done: Callable[[Outcome, bool], None] = lambda outcome, resumed: None,
) -> list[Outcome]:
    """Return the outcome of each recording, in their order.

    jobs: processes; 1: this one. dask: address of a Dask scheduler, whose workers do it instead.
    done: called with each outcome, and whether it is of an earlier run.
    """
    if jobs < 1:
        raise ArgumentError(f"jobs must be at least 1, got {jobs}")
    earlier = journal.read() if journal else {}
    found: dict[int, Outcome] = {}
    for k, options in enumerate(recordings):
        if (key := key_of(options)) in earlier:
            found[k] = earlier[key]
            done(found[k], True)
    missing = {k: options for k, options in enumerate(recordings) if k not in found}
    for k, outcome in _outcomes(missing, jobs, dask):
        found[k] = outcome
        if journal and not outcome.error:
            journal.append(outcome)
        done(outcome, False)
    return [found[k] for k in range(len(recordings))]


def _outcomes(
    missing: dict[int, AnalysisOptions], jobs: int, dask: str
) -> Iterator[tuple[int, Outcome]]:
    """Yield the number of each recording and its outcome, as they become known."""
    if not missing:
        return
    if jobs == 1 and not dask:
        for k, options in missing.items():
            yield k, outcome_of(options)
        return
    with _executor(min(jobs, len(missing)), dask) as executor:
        futures: dict[Future[Outcome], int] = {
            executor.submit(outcome_of, options): k for k, options in missing.items()
        }
        try:
            for future in as_completed(futures):
                k = futures[future]
                try:
                    yield k, future.result()
                except BrokenProcessPool:
                    yield k, Outcome(str(missing[k].path), error=WORKER_DIED)
        except BaseException:
            for future in futures:
                future.cancel()
            raise


@contextmanager
def _executor(jobs: int, dask: str) -> Iterator[Executor]:
    if not dask:
        # Spawned: a fork would share locks of the compiler's threads
        with ProcessPoolExecutor(jobs, get_context("spawn"), _ignore_interrupts) as pool:
            yield pool
        return
    try:
        from distributed import Client
    except ImportError:
        raise ResourceError(NO_DASK) from None
    try:
        client = Client(dask, timeout=CONNECT_TIME)
    except (OSError, TimeoutError, ValueError) as reason:
        raise ArgumentError(f"no Dask scheduler at '{dask}': {reason}") from None
    with client, client.get_executor(pure=False) as executor:
        yield executor


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@dataclass(frozen=True)
class Total:
    """The outcomes of one arm, or of all."""

    robot: str
    recordings: int
    failed: int
    hours: float
    contacts: int  # events that reached CONTACT
    collisions: int  # events that reached COLLISION
    links: dict[str, int]  # events by touched link, most frequent first; '': not known
    faults: dict[str, int]
    unknown: float  # share of the samples

    @property
    def per_hour(self) -> float:
        """Events per hour."""
        return (self.contacts + self.collisions) / self.hours if self.hours else math.nan


def totals(outcomes: Sequence[Outcome]) -> list[Total]:
    """Return the total of each arm, and of all if that is something else."""
    arms = sorted({outcome.robot for outcome in outcomes if not outcome.error})
    of_each = [_total(arm, [o for o in outcomes if o.robot == arm]) for arm in arms]
    same = len(of_each) == 1 and of_each[0].recordings == len(outcomes)
    return of_each if same else [*of_each, _total("all", outcomes)]


def _total(robot: str, outcomes: Sequence[Outcome]) -> Total:
    events = [event for outcome in outcomes for event in outcome.events]
    levels = Counter(event["level"] for event in events)
    faults: Counter[str] = Counter()
    for outcome in outcomes:
        faults.update(outcome.faults or {})
    samples = sum(outcome.samples for outcome in outcomes)
    unknown = sum(outcome.unknown * outcome.samples for outcome in outcomes)
    links = Counter(event["where"] for event in events if not event["fault"])
    return Total(
        robot=robot,
        recordings=len(outcomes),
        failed=sum(bool(outcome.error) for outcome in outcomes),
        hours=sum(outcome.duration for outcome in outcomes) / 3600.0,
        contacts=levels[Level.CONTACT.name],
        collisions=levels[Level.COLLISION.name],
        links=dict(links.most_common()),
        faults=dict(faults.most_common()),
        unknown=unknown / samples if samples else 0.0,
    )
