"""The long run of all fuzzing: progress, findings, how to see each again, and a verdict.

python test/fuzz/long_run.py [--seed 7] [--messages 200000] [--parameters 20000] [--urdfs 5000]

python test/fuzz/long_run.py --seed 7 --only urdfs --case 123       # one case again

python test/fuzz/long_run.py --seed 7 --checkpoint fuzz.json        # goes on if it was ended
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "benchmark")]
os.environ.setdefault("ROS_PYTHON_CHECK_FIELDS", "1")

import typer  # noqa: E402
from checkpoint import OPTION, Checkpoint  # noqa: E402
from fuzz_arm import MESSAGES, Course, episode  # noqa: E402
from fuzz_logs import bag_log, csv_log  # noqa: E402
from fuzz_parameters import SETS, parameter_sets  # noqa: E402
from fuzz_tools import warm_up  # noqa: E402
from fuzz_urdf import seeds, urdf  # noqa: E402
from fuzz_yaml import yaml_file  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.markup import escape  # noqa: E402
from rich.progress import (  # noqa: E402
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table  # noqa: E402
from test_arm_machine import EXAMPLES, run_machine  # noqa: E402

MOST = 5  # findings of a kind after which the rest of it is left


@dataclass
class Kind:
    """One kind of input: how many there are to be, and what makes and checks a case of some."""

    name: str
    wanted: int
    check: Callable[[int, int], dict[str, int]]  # seed, case -> how many of what came of it
    done: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0
    cases: int = 0  # so far
    inputs: int = 0  # of them

    def state(self) -> dict[str, Any]:
        """What is kept of it."""
        return {name: getattr(self, name) for name in KEPT}

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        for name, value in state.items():
            setattr(self, name, value)
        self.done = Counter(self.done)


KEPT = ("done", "findings", "seconds", "cases", "inputs")


def kinds(
    folder: Path, wanted: dict[str, int], courses: list[Course], noise: bool = False
) -> list[Kind]:
    """All kinds of input; courses: where those of the episodes are kept."""
    texts = seeds()

    def messages(seed: int, case: int) -> dict[str, int]:
        courses.append(episode(seed, case, noise=noise))
        return courses[-1].sent

    def orders(seed: int, case: int) -> dict[str, int]:
        run_machine(EXAMPLES, seed=[seed, case])
        return {"orders of events": EXAMPLES}

    def single(check: Callable[[int, int], str]) -> Callable[[int, int], dict[str, int]]:
        return lambda seed, case: {check(seed, case): 1}

    checks: dict[str, Callable[[int, int], dict[str, int]]] = {
        "messages": messages,
        "orders": orders,
        "parameters": lambda seed, case: {
            verdict.value: count for verdict, count in parameter_sets(seed, case).items()
        },
        "urdfs": single(lambda seed, case: urdf(texts, seed, case)),
        "yamls": single(lambda seed, case: yaml_file(folder, seed, case)),
        "csvs": single(lambda seed, case: csv_log(folder, seed, case)),
        "bags": single(lambda seed, case: bag_log(folder, seed, case)),
    }
    return [Kind(name, wanted[name], check) for name, check in checks.items()]


def run_case(kind: Kind, seed: int, case: int, console: Console) -> int:
    """Check a case; how many inputs it had."""
    try:
        came = kind.check(seed, case)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        kind.findings.append((case, text))
        console.print(f"[red]{kind.name}, case {case}:[/] {escape(text[:1000])}")
        inputs = {"messages": MESSAGES, "parameters": SETS, "orders": EXAMPLES}
        return inputs.get(kind.name, 1)
    kind.done.update(came)
    return sum(came.values())


def run_kind(kind: Kind, seed: int, progress: Progress, save: Callable[[bool], None]) -> None:
    """Check cases until there have been as many inputs as wanted; save(at once) what is done."""
    bar = progress.add_task(kind.name, total=kind.wanted, completed=kind.inputs)
    begun = time.monotonic() - kind.seconds
    while kind.inputs < kind.wanted and len(kind.findings) < MOST:
        found = len(kind.findings)
        kind.inputs += run_case(kind, seed, kind.cases, progress.console)
        kind.cases += 1
        kind.seconds = time.monotonic() - begun
        progress.update(bar, completed=min(kind.inputs, kind.wanted))
        save(len(kind.findings) > found)
    save(True)


def run_all(
    chosen: list[Kind], courses: list[Course], kept: Checkpoint, seed: int, console: Console
) -> None:
    """Run all kinds, from where a checkpoint left them."""
    courses += [
        Course(sent, Counter(tally), back) for sent, tally, back in kept.state.get("courses", [])
    ]
    for kind in chosen:
        kind.resume(kept.state.get(kind.name, {}))

    def save(now: bool) -> None:
        kept.state |= {kind.name: kind.state() for kind in chosen} | {"courses": courses}
        if now:
            kept.save()
        else:
            kept.save_now_and_then()

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        for kind in chosen:
            run_kind(kind, seed, progress, save)


def tell(courses: list[Course], console: Console) -> None:
    """How strictly the episodes were judged."""
    tally = sum((course.tally for course in courses), Counter[str]())
    slowest = max(course.back for course in courses)
    console.print(
        f"the detector's words: {tally['judged']:,} of {tally['known']:,} had no excuse for an "
        f"alarm; all well again after {slowest:.3f} s at most; {tally['thrown']} of "
        f"{len(courses)} arms were thrown, and came to rest before that was timed"
    )


def report(found: list[Kind], seed: int, console: Console) -> bool:
    """What was run and what came of it; whether there was nothing to find."""
    table = Table("input", "inputs", "came of it", "findings", "s", title=f"fuzzing, seed {seed}")
    for kind in found:
        came = ", ".join(f"{name} {count:,}" for name, count in kind.done.most_common())
        bad = len(kind.findings)
        row = [kind.name, f"{kind.done.total():,}", came, f"{bad}", f"{kind.seconds:.0f}"]
        table.add_row(*row, style="red" if bad else None)
    console.print(table)
    for kind in found:
        for case, _ in kind.findings:
            console.print(
                f"again: test/fuzz/long_run.py --seed {seed} --only {kind.name} --case {case}"
            )
    short = [kind.name for kind in found if not kind.findings and kind.done.total() < kind.wanted]
    ok = not short and not any(kind.findings for kind in found)
    console.print("[green]nothing found[/]" if ok else "[red]there are findings[/]")
    return ok


def main(
    seed: int = typer.Option(-1, help="of all random numbers; -1: a new one"),
    messages: int = typer.Option(200_000, help="of all five topics"),
    parameters: int = typer.Option(20_000, help="sets of parameters"),
    orders: int = typer.Option(200, help="orders of events, by hypothesis"),
    urdfs: int = typer.Option(5_000, help="broken URDFs"),
    yamls: int = typer.Option(300, help="broken parameter files"),
    csvs: int = typer.Option(3_000, help="broken CSV files"),
    bags: int = typer.Option(300, help="broken bags"),
    only: str = typer.Option("", help="one kind of input"),
    case: int = typer.Option(-1, help="one case of it, to see a finding again"),
    noise: bool = typer.Option(False, help="noisy sensors: docs/reliability.md says what they do"),
    checkpoint: Path | None = typer.Option(None, help=f"{OPTION}; it needs a --seed"),
) -> None:
    """Fuzz everything that strangers can send; exit code 1 if anything was found."""
    console = Console()
    if checkpoint and seed < 0:
        raise typer.BadParameter("--checkpoint needs a --seed")
    seed = int.from_bytes(os.urandom(4), "big") if seed < 0 else seed
    console.print(
        f"seed {seed}; compiling what is not yet compiled: up to a minute the first time"
    )
    wanted = {"messages": messages, "parameters": parameters, "urdfs": urdfs}
    wanted |= {"orders": orders, "yamls": yamls, "csvs": csvs, "bags": bags}
    kept = Checkpoint(
        checkpoint, {"program": "fuzz", "seed": seed, "only": only, "noise": noise, **wanted}
    )
    warm_up()
    courses: list[Course] = []
    with tempfile.TemporaryDirectory() as folder:
        chosen = [
            kind for kind in kinds(Path(folder), wanted, courses, noise) if only in ("", kind.name)
        ]
        if not chosen:
            raise typer.BadParameter(f"--only must be one of {', '.join(wanted)}, not {only!r}")
        if case >= 0:
            for kind in chosen:
                run_case(kind, seed, case, console)
            raise typer.Exit(any(kind.findings for kind in chosen))
        run_all(chosen, courses, kept, seed, console)
    if courses:
        tell(courses, console)
    raise typer.Exit(0 if report(chosen, seed, console) else 1)


if __name__ == "__main__":
    typer.run(main)
