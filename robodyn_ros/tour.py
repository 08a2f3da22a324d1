"""A walk through one robot's dynamics: what is computed, what proves it, how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

import robodyn_ros as rd


def walk(model: rd.RobotModel, console: Console) -> None:
    """Print the robot, then a table of quantities, identities and times."""
    console.print(str(model), highlight=False, markup=False)
    with console.status("compiling, or loading what was compiled before …"):
        rd.warmup(model)
    random = np.random.default_rng(1)
    q, qd, qd_r, qdd, qddd = (random.uniform(-1.0, 1.0, model.n) for _ in range(5))
    dt = 1e-6

    def later(s: float) -> Any:
        """Torque a moment later on the motion with these derivatives."""
        return rd.inverse_dynamics(
            model,
            q + s * qd + s**2 / 2 * qdd + s**3 / 6 * qddd,
            qd + s * qdd + s**2 / 2 * qddd,
            qdd + s * qddd,
        )

    M, C, g = rd.equations_of_motion(model, q, qd)
    tau = rd.inverse_dynamics(model, q, qd, qdd)
    p, ctqd, _ = rd.momentum_terms(model, q, qd)
    M_dot = (rd.mass_matrix(model, q + dt * qd) - rd.mass_matrix(model, q - dt * qd)) / (2 * dt)
    stops: list[tuple[str, str, Callable[[], Any], Any, Any]] = [
        (
            "inverse dynamics",
            "NE = M qdd + C qd + g",
            lambda: rd.inverse_dynamics(model, q, qd, qdd),
            tau,
            M @ qdd + C @ qd + g,
        ),
        (
            "NE*",
            "NE*(qd_r) = M qdd + C* qd_r + g",
            lambda: rd.ne_star(model, q, qd, qd_r, qdd),
            rd.ne_star(model, q, qd, qd_r, qdd),
            M @ qdd + C @ qd_r + g,
        ),
        (
            "M, C*, g",
            "Mdot = C* + C*^T",
            lambda: rd.equations_of_motion(model, q, qd),
            C + C.T,
            M_dot,
        ),
        (
            "p, C^T qd, g",
            "one sweep = N + 2 sweeps",
            lambda: rd.momentum_terms(model, q, qd),
            np.concatenate([p, ctqd]),
            np.concatenate(rd.momentum_terms_by_sweeps(model, q, qd)[:2]),
        ),
        (
            "direct dynamics",
            "direct after inverse = qdd",
            lambda: rd.forward_dynamics(model, q, qd, tau),
            rd.forward_dynamics(model, q, qd, tau),
            qdd,
        ),
        (
            "tau and tau_dot",
            "tau_dot = central difference",
            lambda: rd.force_rate(model, q, qd, qdd, qddd),
            rd.force_rate(model, q, qd, qdd, qddd)[1],
            (later(1e-5) - later(-1e-5)) / 2e-5,
        ),
    ]
    view = Table(title="one state, called from Python", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("quantity", "identity"):
        view.add_column(heading)
    for heading in ("difference", "time"):
        view.add_column(heading, justify="right")
    for name, identity, call, left, right in stops:
        difference = np.abs(left - right).max() / max(np.abs(right).max(), 1.0)
        view.add_row(name, identity, f"{difference:.0e}", f"{_microseconds(call):.2f} µs")
    console.print(view)


def _microseconds(call: Callable[[], Any], count: int = 2000) -> float:
    call()
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count * 1e6
