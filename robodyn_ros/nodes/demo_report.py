"""demo_report: prints a table of scripted pushes and faults beside the detector's reports.

For collision_demo.launch.py, which then goes on; `robodyn demo` prints the same at its end. It
only listens, and ends by itself.
"""

from __future__ import annotations

import sys

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rich.console import Console

from .demo_observer import DemoObserver
from .demo_view import print_tables, verdict
from .runtime import run

CHECK_PERIOD = 0.5  # [s]
SCRIPT_TIMEOUT = 10.0  # [s] of residuals within which the plant's script must have arrived
AFTER_LAST_PUSH = 4.0  # [s] for the arm to resume after the last push
RESUME_TIMEOUT = 10.0  # [s] more for an arm that still reacts
LONGEST_PAUSE = 60.0  # [s] between two pushes; after it the others were missed by this node
WIDTH = 100  # [characters]
REACTING = ("REACTING", "RESUMING")
NO_SCRIPT = "no scripted pushes: no table at the end; push with `robodyn view` or on ~/push"


class DemoReport(Node):
    """Observes a demo until its last scripted push is over, prints the table, and stops."""

    def __init__(self) -> None:
        super().__init__("demo_report", start_parameter_services=False)
        self.stopped = False
        self.observer = DemoObserver(self)
        steady = Clock(clock_type=ClockType.STEADY_TIME)  # simulated time may stand still
        self.create_timer(CHECK_PERIOD, self._check, clock=steady)

    def begin_stop(self) -> None:
        """Stop at once after a signal, without a report."""
        self.stopped = True

    def _check(self) -> None:
        if not self.stopped and self.observer.elapsed and is_over(self.observer):
            self.stopped = True
            print_report(self.observer)


def is_over(observer: DemoObserver) -> bool:
    """Return whether all of the script was seen and the arm had time to resume."""
    elapsed = observer.elapsed
    if not (observer.script or observer.scripted_faults):
        return elapsed > SCRIPT_TIMEOUT
    seen = [event.t for event in observer.events() if event.pushed]
    pushes = len(seen)
    seen += [event.t for event in observer.fault_events() if event.truth]
    since = elapsed - max(seen) if seen else elapsed
    if pushes < len(observer.script) or not observer.faults_over:
        return since > LONGEST_PAUSE
    return since > AFTER_LAST_PUSH + (RESUME_TIMEOUT if observer.mode in REACTING else 0.0)


def print_report(observer: DemoObserver) -> None:
    """Print the table and the result."""
    console = Console(file=sys.stdout, width=WIDTH)
    if not (observer.script or observer.scripted_faults):
        console.print(NO_SCRIPT, markup=False, soft_wrap=True)
        return
    print_tables(observer, console)
    ok, text = verdict(observer)
    console.print(f"[{'green' if ok else 'red'}]{text}[/]", soft_wrap=True)


def main(args: list[str] | None = None) -> int:
    """Run the node until it has reported or a signal arrives; return the exit code."""
    return run(DemoReport, args=args)


if __name__ == "__main__":
    raise SystemExit(main())
