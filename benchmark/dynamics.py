"""The dynamics beside Pinocchio and MuJoCo, in one run: ratios, not seconds, are what counts.

    python benchmark/dynamics.py [--rounds 60] [--json FILE] [--check]

All candidates of a row take turns, round after round, so that whatever else the machine does hits
them alike. A round times a burst of calls; the ratio is the median over the rounds. What is timed
is what a user calls: our public functions, with the checking of their arguments, and Pinocchio's
best route from Python to the same numbers.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

import robodyn_ros as rd
from robodyn_ros.dynamics.regressor import regressor, slotine_li_regressor

Call = Callable[[], object]
BATCH = 100_000
STEP = 1e-4  # [s], of differences


def everything(result: object) -> np.ndarray:
    """All numbers of a result in a row."""
    return np.hstack([np.ravel(part) for part in result])


def standard_columns(Y: np.ndarray) -> np.ndarray:
    """What both regressors must agree on: Pinocchio has Iyy before Ixz, so each pair's sum."""
    ten = Y.reshape(len(Y), -1, 10)
    return np.concatenate(
        [ten[..., [0, 1, 2, 3, 4, 5, 8, 9]], ten[..., 6:8].sum(-1)[..., None]], -1
    )


class Row:
    """One quantity: ours, Pinocchio's routes to it (the best counts), and onlookers.

    `view` says what of the results must be the same before anything is timed.
    """

    def __init__(
        self,
        name,
        bar,
        ours: Call,
        pinocchio: list[Call],
        others=None,
        burst=200,
        view=everything,
        tolerance=1e-9,
    ):
        self.name, self.bar, self.burst = name, bar, burst
        self.calls: dict[str, Call] = {"ours": ours}
        self.calls.update({f"pinocchio {i}": call for i, call in enumerate(pinocchio)})
        if view is not None:
            same = {"rtol": tolerance, "atol": tolerance}
            for route in pinocchio:
                np.testing.assert_allclose(view(ours()), view(route()), **same)
        self.calls.update(others or {})
        self.times: dict[str, list[float]] = {key: [] for key in self.calls}

    def take_turns(self) -> None:
        for key, call in self.calls.items():
            start = time.perf_counter()
            for _ in range(self.burst):
                call()
            self.times[key].append((time.perf_counter() - start) / self.burst)

    def median(self, key: str) -> float:
        return statistics.median(self.times[key])

    def best(self, prefix: str) -> str | None:
        keys = [key for key in self.calls if key.startswith(prefix)]
        return min(keys, key=self.median) if keys else None

    def ratio(self, key: str | None) -> float | None:
        """How many times longer than ours, median over the rounds."""
        if key is None:
            return None
        return statistics.median(
            other / ours for other, ours in zip(self.times[key], self.times["ours"], strict=True)
        )


def chain(n: int) -> rd.RobotModel:
    """A chain of n joints: the LWR's links over and over."""
    arm = rd.robots.lwr_iii()
    rows = []
    for i in range(n):
        k = i % arm.n
        frame = arm.frame(f"dh_{k + 1}")
        com = frame.rotation.T @ (arm.com[k] - frame.place)
        inertia = frame.rotation.T @ arm.inertia[k] @ frame.rotation
        alpha = [1, -1, 1, -1, -1, 1, 0][k] * np.pi / 2.0
        d, a = [0.2, 0.0, 0.4, 0.0, 0.4, 0.0, 0.0][k], 0.08 * (k == 6)
        rows.append(rd.DHRow(a=a, alpha=alpha, d=d, mass=arm.mass[k], com=com, inertia=inertia))
    return rd.from_dh(rows, name=f"chain of {n}")


def pinocchio_of(model: rd.RobotModel) -> tuple[pin.Model, pin.Data]:
    twin = pin.buildModelFromXML(rd.to_urdf(model))
    # Continuous joints would be two numbers each in Pinocchio; a revolute joint is its fast case.
    assert twin.nq == twin.nv == model.n, "give the joints limits"
    twin.armature = np.array(model.rotor_inertia)
    return twin, twin.createData()


def with_limits(model: rd.RobotModel) -> rd.RobotModel:
    no = np.zeros(model.n, dtype=bool)
    return model.replace(q_min=-3.0, q_max=3.0, continuous=no)


def rows() -> list[Row]:
    model = rd.robots.kuka_lwr4()
    n = model.n
    P, D = pinocchio_of(model)
    mj = mujoco.MjModel.from_xml_string(rd.to_urdf(model))
    mj.dof_armature[:] = model.rotor_inertia
    md = mujoco.MjData(mj)
    random = np.random.default_rng(1)
    q, qd, qd_a, qdd, qddd, tau = random.uniform(-1.0, 1.0, (6, n))
    qdddd = random.uniform(-1.0, 1.0, n)
    still = np.zeros(n)

    def p_by_crba():
        C = pin.computeCoriolisMatrix(P, D, q, qd)
        M = pin.crba(P, D, q)
        return M.dot(qd), C.T.dot(qd), pin.computeGeneralizedGravity(P, D, q)

    def p_by_rnea():
        C = pin.computeCoriolisMatrix(P, D, q, qd)
        g = pin.computeGeneralizedGravity(P, D, q)
        return pin.rnea(P, D, q, still, qd) - g, C.T.dot(qd), g

    def ne_star_by_rnea():
        return pin.rnea(P, D, q, still, qdd) + pin.computeCoriolisMatrix(P, D, q, qd).dot(qd_a)

    def rate_by_derivatives():
        dq, dv, da = pin.computeRNEADerivatives(P, D, q, qd, qdd)
        return D.tau, dq.dot(qd) + dv.dot(qdd) + da.dot(qddd)

    def rate_at(t):
        """tau and tau_dot at the time t of this motion."""
        q_t = q + t * (qd + t / 2.0 * (qdd + t / 3.0 * (qddd + t / 4.0 * qdddd)))
        qd_t = qd + t * (qdd + t / 2.0 * (qddd + t / 3.0 * qdddd))
        qdd_t, qddd_t = qdd + t * (qddd + t / 2.0 * qdddd), qddd + t * qdddd
        dq, dv, da = pin.computeRNEADerivatives(P, D, q_t, qd_t, qdd_t)
        return D.tau.copy(), dq.dot(qd_t) + dv.dot(qdd_t) + da.dot(qddd_t)

    def jerk_by_differences():
        """Pinocchio's Python has no second derivatives: central differences of the first."""
        (tau_0, rate_0), (tau_1, rate_1) = rate_at(-STEP), rate_at(STEP)
        return 0.5 * (tau_0 + tau_1), 0.5 * (rate_0 + rate_1), (rate_1 - rate_0) / (2.0 * STEP)

    def jerk_by_three():
        """The same with tau and tau_dot at the moment itself."""
        (_, rate_0), now, (_, rate_1) = rate_at(-STEP), rate_at(0.0), rate_at(STEP)
        return *now, (rate_1 - rate_0) / (2.0 * STEP)

    def matrices_by_pinocchio():
        return (
            pin.crba(P, D, q),
            pin.computeCoriolisMatrix(P, D, q, qd),
            pin.computeGeneralizedGravity(P, D, q),
        )

    def by_mujoco(function):
        def call():
            md.qpos[:], md.qvel[:], md.qacc[:] = q, qd, qdd
            function()

        return call

    def mujoco_inverse():
        mujoco.mj_inverse(mj, md)

    def mujoco_forward():
        mujoco.mj_forward(mj, md)

    table = [
        Row(
            "momentum_terms",
            7.0,
            lambda: rd.momentum_terms(model, q, qd),
            [p_by_crba, p_by_rnea],
            {"N+2 sweeps": lambda: rd.momentum_terms_by_sweeps(model, q, qd)},
        ),
        Row(
            "ne_star",
            5.0,
            lambda: rd.ne_star(model, q, qd, qd_a, qdd),
            [ne_star_by_rnea],
            view=None,  # another factorization, with the same use
        ),
        Row(
            "inverse_dynamics",
            1.3,
            lambda: rd.inverse_dynamics(model, q, qd, qdd),
            [lambda: pin.rnea(P, D, q, qd, qdd)],
            {"MuJoCo": by_mujoco(mujoco_inverse)},
        ),
        Row(
            "forward_dynamics",
            1.8,
            lambda: rd.forward_dynamics(model, q, qd, tau),
            [lambda: pin.aba(P, D, q, qd, tau)],
            {"MuJoCo": by_mujoco(mujoco_forward)},
        ),
        Row(
            "M, C and g together",
            2.4,
            lambda: rd.equations_of_motion(model, q, qd),
            [matrices_by_pinocchio],
            view=lambda r: everything((r[0], r[1] @ qd, r[2])),
        ),
        Row(
            "force_rate",
            6.0,
            lambda: rd.force_rate(model, q, qd, qdd, qddd),
            [rate_by_derivatives],
        ),
        Row(
            "force_jerk",
            10.0,
            lambda: rd.force_jerk(model, q, qd, qdd, qddd, qdddd),
            [jerk_by_differences, jerk_by_three],
            {"force_rate": lambda: rd.force_rate(model, q, qd, qdd, qddd)},
            tolerance=1e-6,  # of differences
        ),
        Row(
            "regressor",
            1.8,
            lambda: regressor(model, q, qd, qdd),
            [lambda: pin.computeJointTorqueRegressor(P, D, q, qd, qdd)],
            {"Slotine-Li": lambda: slotine_li_regressor(model, q, qd, qd_a, qdd)},
            view=standard_columns,
        ),
        Row("mass_matrix", None, lambda: rd.mass_matrix(model, q), [lambda: pin.crba(P, D, q)]),
        Row(
            "gravity_torque",
            None,
            lambda: rd.gravity_torque(model, q),
            [lambda: pin.computeGeneralizedGravity(P, D, q)],
        ),
    ]

    long = with_limits(chain(100))
    PL, DL = pinocchio_of(long)
    ql, qdl = random.uniform(-1.0, 1.0, (2, 100))

    def long_by_crba():
        C = pin.computeCoriolisMatrix(PL, DL, ql, qdl)
        M = pin.crba(PL, DL, ql)
        return M.dot(qdl), C.T.dot(qdl), pin.computeGeneralizedGravity(PL, DL, ql)

    def long_by_rnea():
        C = pin.computeCoriolisMatrix(PL, DL, ql, qdl)
        g = pin.computeGeneralizedGravity(PL, DL, ql)
        return pin.rnea(PL, DL, ql, np.zeros(100), qdl) - g, C.T.dot(qdl), g

    table.append(
        Row(
            "momentum_terms, N = 100",
            25.0,
            lambda: rd.momentum_terms(long, ql, qdl),
            [long_by_crba, long_by_rnea],
            {
                "N+2 sweeps": lambda: rd.momentum_terms_by_sweeps(long, ql, qdl),
                "N = 7": lambda: rd.momentum_terms(model, q, qd),
            },
            burst=100,
        )
    )

    Q, QD = random.uniform(-1.0, 1.0, (2, BATCH, n))
    slice_ = 1000  # Pinocchio's loop is timed on a part of the batch, and scaled up

    def loop(call):
        def run():
            for k in range(slice_):
                call(k)

        return run

    def sample_by_crba(k):
        C = pin.computeCoriolisMatrix(P, D, Q[k], QD[k])
        M = pin.crba(P, D, Q[k])
        return M.dot(QD[k]), C.T.dot(QD[k]), pin.computeGeneralizedGravity(P, D, Q[k])

    def sample_by_rnea(k):
        C = pin.computeCoriolisMatrix(P, D, Q[k], QD[k])
        g = pin.computeGeneralizedGravity(P, D, Q[k])
        return pin.rnea(P, D, Q[k], still, QD[k]) - g, C.T.dot(QD[k]), g

    for sample in (sample_by_crba, sample_by_rnea):
        ours = everything(terms[7] for terms in rd.momentum_terms(model, Q, QD))
        np.testing.assert_allclose(everything(sample(7)), ours, rtol=1e-9, atol=1e-9)
    batch = Row(
        "momentum_terms, batch of 10^5",
        30.0,
        lambda: rd.momentum_terms(model, Q, QD),
        [loop(sample_by_crba), loop(sample_by_rnea)],
        {"two cores": lambda: rd.momentum_terms(model, Q, QD, threads=2)},
        burst=1,
        view=None,  # the loops keep no results; they were compared above
    )
    batch.scale = {f"pinocchio {i}": BATCH / slice_ for i in range(2)}
    table.append(batch)
    return table


def report(table_rows: list[Row]) -> tuple[Table, list[dict]]:
    table = Table(
        title="kuka_lwr4, one call from Python; × = times longer than ours",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for title in ("quantity", "ours", "Pinocchio", "× Pinocchio", "at least", "others"):
        table.add_column(title, justify="left" if title in ("quantity", "others") else "right")
    results = []
    for row in table_rows:
        for key, factor in getattr(row, "scale", {}).items():
            row.times[key] = [factor * t for t in row.times[key]]
        best = row.best("pinocchio")
        ratio = row.ratio(best)
        others = {key: row.ratio(key) for key in row.calls if key[:4] not in ("ours", "pino")}
        results.append({"quantity": row.name, "ratio": ratio, "bar": row.bar})
        table.add_row(
            row.name,
            _time(row.median("ours")),
            _time(row.median(best)),
            _coloured(results[-1]),
            "" if row.bar is None else f"{row.bar:g}",
            ", ".join(f"{key} × {value:.3g}" for key, value in others.items()),
        )
        if "force_rate" in others:
            cost = 1.0 / others["force_rate"]
            results.append({"quantity": "force_jerk / force_rate", "ratio": cost, "limit": 2.2})
        if "N = 7" in others:
            results.append(
                {"quantity": "N + 2 sweeps, N = 100", "ratio": others["N+2 sweeps"], "bar": 100.0}
            )
            growth = 1.0 / others["N = 7"]
            results.append({"quantity": "time(100) / time(7)", "ratio": growth, "limit": 8.0})
    for result in results:
        if result["quantity"].startswith(("N + 2", "time(", "force_jerk /")):
            bar = result.get("bar") or result["limit"]
            sense = "at least" if "bar" in result else "at most"
            table.add_row(result["quantity"], "", "", _coloured(result), f"{sense} {bar:g}", "")
    return table, results


def passed(result: dict) -> bool:
    if result.get("bar") is not None:
        return result["ratio"] >= result["bar"]
    return result["ratio"] <= result.get("limit", float("inf"))


def _coloured(result: dict) -> str:
    return f"[{'green' if passed(result) else 'red'}]{result['ratio']:.2f}[/]"


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


def second_start() -> float:
    """Seconds that rd.warmup takes in a new process, with everything compiled before."""
    program = (
        "import time, robodyn_ros as rd; model = rd.robots.kuka_lwr4(); t = time.perf_counter(); "
        "rd.warmup(model); print(time.perf_counter() - t)"
    )
    command = [sys.executable, "-c", program]
    runs = [float(subprocess.check_output(command, timeout=120)) for _ in range(3)]
    return statistics.median(runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--check", action="store_true", help="fail if a figure misses its bar")
    arguments = parser.parse_args()
    console = Console()
    rd.warmup(rd.robots.kuka_lwr4())
    table_rows = rows()
    for row in table_rows:
        row.take_turns()  # once for the caches
        row.times = {key: [] for key in row.calls}
    for _ in track(range(arguments.rounds), description="measuring", console=console):
        for row in table_rows:
            row.take_turns()
    table, results = report(table_rows)
    console.print(table)
    start = {"quantity": "warmup from the cache [s]", "ratio": second_start(), "limit": 1.0}
    results.append(start)
    console.print(f"warmup from the cache, in a new process: {_coloured(start)} s, at most 1")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    if arguments.check and not all(passed(result) for result in results):
        sys.exit("some figures missed their bars")


if __name__ == "__main__":
    main()
