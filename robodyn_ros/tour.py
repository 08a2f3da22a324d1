"""`robodyn tour`: quantities of one robot's dynamics, an identity that proves each, its time."""

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
    """Print the robot, then a table of quantities, identities, differences and times."""
    console.print(str(model), highlight=False, markup=False)
    with console.status("compiling, or loading compiled kernels …"):
        rd.warmup(model)
    random = np.random.default_rng(1)
    q, qd, qd_r, qdd, qddd = (random.uniform(-1.0, 1.0, model.n) for _ in range(5))
    dt = 1e-6

    def torque_at(s: float) -> Any:
        """Return the torque at time s [s] of the motion with these derivatives."""
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
    momenta = np.concatenate(rd.momentum_terms_by_sweeps(model, q, qd)[:2])
    tau_dot = (torque_at(1e-5) - torque_at(-1e-5)) / 2e-5

    view = Table(title="one state, called from Python", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("quantity", "identity"):
        view.add_column(heading)
    for heading in ("difference", "time"):
        view.add_column(heading, justify="right")

    def add(name: str, identity: str, call: Callable[[], Any], left: Any, right: Any) -> None:
        difference = np.abs(left - right).max() / max(np.abs(right).max(), 1.0)
        view.add_row(name, identity, f"{difference:.0e}", f"{_microseconds(call):.2f} µs")

    def inverse() -> Any:
        return rd.inverse_dynamics(model, q, qd, qdd)

    def star() -> Any:
        return rd.ne_star(model, q, qd, qd_r, qdd)

    def matrices() -> Any:
        return rd.equations_of_motion(model, q, qd)

    def terms() -> Any:
        return rd.momentum_terms(model, q, qd)

    def forward() -> Any:
        return rd.forward_dynamics(model, q, qd, tau)

    def rates() -> Any:
        return rd.force_rate(model, q, qd, qdd, qddd)

    add("inverse dynamics", "NE = M qdd + C qd + g", inverse, tau, M @ qdd + C @ qd + g)
    add("NE*", "NE*(qd_r) = M qdd + C* qd_r + g", star, star(), M @ qdd + C @ qd_r + g)
    add("M, C*, g", "Mdot = C* + C*^T", matrices, C + C.T, M_dot)
    add("p, C^T qd, g", "one sweep = N + 2 sweeps", terms, np.concatenate([p, ctqd]), momenta)
    add("direct dynamics", "direct after inverse = qdd", forward, forward(), qdd)
    add("tau and tau_dot", "tau_dot = central difference", rates, rates()[1], tau_dot)
    console.print(view)


def _microseconds(call: Callable[[], Any], count: int = 2000) -> float:
    """Return the mean time of a call [µs]."""
    call()
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count * 1e6
