"""`robodyn info`, `tour`, `configure`, `generate`: commands that need only a robot's model."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.markup import escape

from ..errors import ArgumentError, ResourceError
from ..model.robots import load_robot
from . import common
from .common import app, console
from .options import Option


@app.command()
def info(
    robot: common.RobotArgument,
    root: common.RootOption = None,
    tip: common.TipOption = None,
    lock: common.LockOption = None,
    strict: Annotated[bool, Option(help="Turn warnings about the model into errors.")] = False,
    as_json: common.JsonOption = False,
) -> None:
    """Show a robot: joints, limits, masses, and the gravity torque when it is stretched out."""
    model = load_robot(robot, root, tip, common.parse_lock(lock or []), strict)
    from ..dynamics.newton_euler import gravity_torque
    from ..dynamics.posture import heaviest_posture

    q = heaviest_posture(model)
    torque = gravity_torque(model, q)
    if as_json:
        facts = {
            "name": model.name,
            "joints": list(model.joint_names),
            "links": list(model.link_names),
            "mass": dict(zip(model.link_names, model.mass.tolist(), strict=True)),
            "moving_mass": float(model.mass.sum()),
            "total_mass": float(model.mass.sum() + model.base_body.mass),
            "stretched_out": {"q": q.tolist(), "gravity_torque": torque.tolist()},
        }
        for key in ("q_min", "q_max", "qd_max", "tau_max", "rotor_inertia", "viscous", "coulomb"):
            values = getattr(model, key)
            facts[key] = [x if np.isfinite(x) else None for x in values.tolist()]
        common.print_json(facts)
        return
    print(model)
    torques = common.new_table(
        "gravity torque, stretched out", ("joint",), ("q", "torque", "share of the effort limit")
    )
    for k, joint in enumerate(model.joint_names):
        share = abs(torque[k]) / model.tau_max[k]
        torques.add_row(
            escape(joint),
            f"{q[k]:.3f}",
            f"{torque[k]:.3f}",
            f"{share:.0%}" if np.isfinite(model.tau_max[k]) else "no limit",
        )
    console.print(torques)


@app.command()
def tour(robot: common.RobotArgument = "lwr_iii") -> None:
    """Show every quantity of the dynamics, an identity that proves it, and its time."""
    import robodyn_ros as rd

    from ..dynamics.compile_ahead import ended_by

    model = load_robot(robot)
    console.print(str(model), highlight=False, markup=False)
    status = console.status("compiling, or loading compiled kernels …")
    with status, ended_by({signal.SIGINT: 128 + signal.SIGINT}, status.stop):
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

    headings = ("quantity", "identity"), ("difference", "time")
    view = common.new_table("one state, called from Python", *headings)

    def add(name: str, identity: str, call: Callable[[], Any], left: Any, right: Any) -> None:
        difference = np.abs(left - right).max() / max(np.abs(right).max(), 1.0)
        view.add_row(name, identity, f"{difference:.0e}", f"{_microseconds(call):.2f} µs")

    inverse = partial(rd.inverse_dynamics, model, q, qd, qdd)
    star = partial(rd.ne_star, model, q, qd, qd_r, qdd)
    matrices = partial(rd.equations_of_motion, model, q, qd)
    terms = partial(rd.momentum_terms, model, q, qd)
    forward = partial(rd.forward_dynamics, model, q, qd, tau)
    rates = partial(rd.force_rate, model, q, qd, qdd, qddd)
    add("inverse dynamics", "NE = M qdd + C qd + g", inverse, tau, M @ qdd + C @ qd + g)
    add("NE*", "NE*(qd_r) = M qdd + C* qd_r + g", star, star(), M @ qdd + C @ qd_r + g)
    add("M, C*, g", "Mdot = C* + C*^T", matrices, C + C.T, M_dot)
    add("p, C^T qd, g", "one sweep = N + 2 sweeps", terms, np.concatenate([p, ctqd]), momenta)
    add("direct dynamics", "direct after inverse = qdd", forward, forward(), qdd)
    add("tau and tau_dot", "tau_dot = central difference", rates, rates()[1], tau_dot)
    console.print(view)


def _microseconds(call: Callable[[], Any], count: int = 2000) -> float:
    call()
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count * 1e6


@app.command()
def configure(
    robot: common.RobotArgument,
    root: common.RootOption = None,
    tip: common.TipOption = None,
    lock: Annotated[
        list[str] | None, Option(help="Joint to lock at 0, e.g. of a finger; may be repeated.")
    ] = None,
    out: Annotated[Path | None, Option(help="YAML file; by default printed.")] = None,
) -> None:
    """Write parameters for a first run of the nodes on this arm: `robodyn demo --params FILE`."""
    from ..nodes.first_parameters import (
        SOURCE,
        as_yaml,
        first_parameters,
        no_limits_text,
        robot_settings,
    )

    settings = robot_settings(robot, root or "", tip or "", lock or [])
    model = settings.load("")
    doubt = no_limits_text(model)
    text = SOURCE + (f"# Warning: {doubt}.\n" if doubt else "")
    text += as_yaml(first_parameters(model, settings))
    if out is None:
        print(text, end="")
    elif out.exists():
        raise ArgumentError(f"{out} exists already: choose another --out, or remove it")
    else:
        out.write_text(text, encoding="utf-8")
        console.print(f"{out}: for `robodyn demo --params {out}`")


@app.command()
def generate(
    robot: common.RobotArgument,
    root: common.RootOption = None,
    tip: common.TipOption = None,
    lock: common.LockOption = None,
    quantity: Annotated[
        str, Option(help="momentum_terms, inverse_dynamics, forward_dynamics, ….")
    ] = "momentum_terms",
    language: Annotated[str, Option(help="c or python.")] = "c",
    out: Annotated[
        Path | None, Option(help="File to write; by default only the counts are shown.")
    ] = None,
    base: Annotated[
        bool | None,
        Option("--base/--standard", help="Inertial parameters; by default the cheaper."),
    ] = None,
    symbolic_parameters: Annotated[
        bool, Option("--symbolic-parameters", help="Take inertial parameters as an argument.")
    ] = False,
    as_json: common.JsonOption = False,
) -> None:
    """Write straight-line code for one quantity of one robot, and count its operations."""
    model = common.load(robot, root, tip, lock)
    from ..codegen.generate import generate as generated

    made = generated(model, quantity, language, base=base, symbolic_parameters=symbolic_parameters)
    if out is not None:
        try:
            out.write_text(made.text, encoding="utf-8")
        except OSError as error:
            raise ResourceError(f"{out} cannot be written: {error.strerror}") from None
    facts: dict[str, Any] = {"robot": model.name, "quantity": quantity, "language": language}
    facts["parameters"] = "base" if made.base else "standard"
    facts |= asdict(made.operations)
    if as_json:
        facts |= {"checksum": made.checksum, "file": None if out is None else str(out)}
        common.print_json(facts)
        return
    counts = common.new_table(str(out or ""), ("", " "))
    counts.show_header = False
    for heading, fact in facts.items():
        counts.add_row(heading, escape(str(fact)))
    console.print(counts)
