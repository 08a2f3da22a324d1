"""Operation counts: the generic algorithms, the customized models, and the papers' figures.

    python benchmark/operations.py [--json FILE] [--check] [--quick]

Counts are exact and the same on every machine. Only the last table, figure 3 of De Luca and
Ferrajoli, is timed: its candidates take turns in one run, and their ratios are what counts.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

import numpy as np
from counting_scalar import count
from figures import Figure, figures_table, finish, options
from rich.console import Console

import robodyn_ros as rd
from robodyn_ros.codegen.customized import load_customized
from robodyn_ros.codegen.program import Operations
from robodyn_ros.codegen.quantities import customized
from robodyn_ros.codegen.robot import Robot, vector
from robodyn_ros.codegen.sweeps.mass_matrix import articulated, through_mass_matrix
from robodyn_ros.codegen.sweeps.newton_euler import body_wrenches, joint_torques, motions
from robodyn_ros.dynamics.force_rate import _force_rate
from robodyn_ros.dynamics.forward_dynamics import _articulated_bodies
from robodyn_ros.dynamics.mass_matrix import _mass_matrix
from robodyn_ros.dynamics.momentum import _momentum_terms
from robodyn_ros.dynamics.ne_star import _ne_star_0001
from robodyn_ros.dynamics.newton_euler import _newton_euler
from robodyn_ros.dynamics.regressor import _regressor, regressor_workspace

console = Console()
PI_2 = math.pi / 2.0
RX90 = {
    "alpha": [0.0, PI_2, 0.0, -PI_2, PI_2, -PI_2],
    "a": [0.0, 0.0, 0.45, 0.0, 0.0, 0.0],
    "d": [0.0, 0.0, 0.0, 0.45, 0.0, 0.0],
    "moment": "zxyzyz",  # along which axis a symmetric link has its first moment
}
STANFORD = {
    "alpha": [0.0, -PI_2, PI_2, 0.0, -PI_2, PI_2],
    "a": [0.0] * 6,
    "d": [0.0, 0.154, 0.0, 0.0, 0.0, 0.0],
    "moment": "yzzyyz",
    "prismatic": [2],
}


def arm(table: dict, general: bool, rotors: bool = True) -> rd.RobotModel:
    """A robot of a modified DH table whose parameters have nothing in common but their zeros:
    general ones, or those of symmetric links (J diagonal, one first moment), as in table 7.5.
    """
    random = np.random.default_rng(7)
    rows = []
    for i, alpha in enumerate(table["alpha"]):
        axis = "xyz".index(table["moment"][i])
        com = random.uniform(0.02, 0.1, 3) * (1.0 if general else np.eye(3)[axis])
        inertia = np.diag(random.uniform(0.2, 0.3, 3))
        if general:
            inertia += np.triu(random.uniform(0.01, 0.03, (3, 3)), 1)
            inertia = np.triu(inertia) + np.triu(inertia, 1).T
        rows.append(
            rd.DHRow(
                alpha=alpha,
                a=table["a"][i],
                d=table["d"][i],
                prismatic=i in table.get("prismatic", []),
                mass=random.uniform(1.0, 5.0),
                com=com,
                inertia=inertia,
                rotor_inertia=random.uniform(0.1, 1.0) if rotors else 0.0,
            )
        )
    return rd.from_dh(rows, convention="modified", name="arm")


def general_arm(n: int, rotors: bool = True) -> rd.RobotModel:
    """n revolute joints, everything arbitrary but what [Khalil2019] 7.5.3 sets to zero."""
    random = np.random.default_rng(n)
    table = {
        "alpha": [0.0, *random.uniform(0.3, 1.2, n - 1)],
        "a": [0.0, *random.uniform(0.1, 0.5, n - 1)],
        "d": [0.0, *random.uniform(0.1, 0.5, n - 2), 0.0],
        "moment": "z" * n,
    }
    return arm(table, general=True, rotors=rotors)


def with_tip_wrench(robot: Robot) -> list:
    """Inverse dynamics of an arm that also pushes with its last link, as [Khalil2019] counts."""
    qd, qdd = robot.rates("qd"), robot.rates("qdd")
    forces, moments = body_wrenches(robot, motions(robot, qd, qd, qdd))
    push = [robot.graph.symbol(f"push[{k}]") for k in range(6)]
    forces[-1] = forces[-1] + vector(*push[:3])
    moments[-1] = moments[-1] + vector(*push[3:])
    return [joint_torques(robot, forces, moments, robot.inputs("qdd"))]


def pair(found: Operations) -> tuple[int, int]:
    return found.multiplications, found.additions


def inverse(model: rd.RobotModel, base: bool, tip: bool = True) -> tuple[int, int]:
    sweep = with_tip_wrench if tip else None
    return pair(customized(model, "inverse_dynamics", base=base, sweep=sweep).operations)


def direct(model: rd.RobotModel, sweep: Callable) -> tuple[int, int]:
    return pair(customized(model, "forward_dynamics", base=True, sweep=sweep).operations)


def against(name: str, found: tuple[int, int], bar: tuple[int, int], note: str = "") -> Figure:
    reached = found[0] <= bar[0] and found[1] <= bar[1]
    return Figure(name, f"{found[0]} / {found[1]}", f"{bar[0]} / {bar[1]}", reached, note)


def khalil() -> list[Figure]:
    """Tables 7.5 and 7.6, section 7.6.2."""
    figures = []
    cases = [
        ("RX-90, general", RX90, True, False, (294, 283)),
        ("RX-90, general", RX90, True, True, (253, 238)),
        ("RX-90, symmetric", RX90, False, False, (202, 153)),
        ("RX-90, symmetric", RX90, False, True, (160, 113)),
        ("Stanford, general", STANFORD, True, True, (240, 227)),
        ("Stanford, symmetric", STANFORD, False, True, (142, 99)),
    ]
    for name, table, general, base, bar in cases:
        kind = f"{name}, {'base' if base else 'standard'}"
        model = arm(table, general)
        figures.append(against(f"inverse dynamics, {kind}", inverse(model, base, False), bar))
        found = inverse(model, base)
        more = against(f"  pushing with its tip, {kind}", found, bar, "as Khalil counts")
        if not more.passed:
            bare = inverse(arm(table, general, rotors=False), base)
            note = f"as Khalil counts; without rotor inertias {bare[0]} / {bare[1]}"
            more = Figure(more.figure, more.measured, f"({more.bar})", True, note)
        figures.append(more)
    six = general_arm(6)
    figures.append(against("inverse dynamics, general 6R, base", inverse(six, True), (425, 369)))
    for general, bar in ((True, (889, 653)), (False, (637, 423))):
        kind = f"RX-90, {'general' if general else 'symmetric'}, base"
        model = arm(RX90, general)
        for way, sweep in (("articulated", articulated), ("through M", through_mass_matrix)):
            figures.append(against(f"direct dynamics, {kind}", direct(model, sweep), bar, way))
    return figures


def polynomial(values: dict[int, int], degree: int) -> str:
    """The polynomial in N that gives these counts, as text."""
    n = np.array(list(values), dtype=float)
    exact = np.polyfit(n, list(values.values()), degree)
    terms = [(round(6.0 * c) / 6.0, degree - k) for k, c in enumerate(exact)]
    if not np.allclose(sum(c * n**k for c, k in terms), list(values.values()), atol=1e-6):
        return ", ".join(f"{v}" for v in values.values())
    power = {0: "", 1: "N", 2: "N²", 3: "N³"}
    text = " + ".join(f"{c:g}{power[k]}" for c, k in terms if c)
    return text.replace("+ -", "- ")


SIZES = range(4, 9)


def in_n(name: str, degree: int, counts: dict[int, tuple[int, int]], paper: str = "") -> Figure:
    """A line with counts as functions of N, beside a paper's."""
    texts = [polynomial({n: c[k] for n, c in counts.items()}, degree) for k in (0, 1)]
    seven = counts[7]
    bar = f"({paper})" if paper else "()"
    return Figure(name, " / ".join(texts), bar, True, f"N = 7: {seven[0]} / {seven[1]}")


def generic() -> list[Figure]:
    """The generic kernels, counted as they run, on general chains of N revolute joints."""
    kernels = [
        ("NE", _newton_euler, 3, lambda n: [n], 1, "Luh: 137N - 22 / 101N - 11"),
        ("NE*", _ne_star_0001, 4, lambda n: [n], 1, ""),
        ("momentum_terms", _momentum_terms, 2, lambda n: [n] * 3, 1, ""),
        (
            "force_rate",
            _force_rate,
            4,
            lambda n: [n] * 2,
            1,
            "Guarino Lo Bianco: 309N - 162 / 268N - 138",
        ),
        ("mass matrix", _mass_matrix, 1, lambda n: [n * n], 2, ""),
        ("direct dynamics", _articulated_bodies, 3, lambda n: [n], 1, ""),
        ("regressor", _regressor, 3, lambda n: [10 * n * n], 2, ""),
    ]
    figures = []
    for name, kernel, inputs, sizes, degree, paper in kernels:
        counts = {}
        for n in SIZES:
            model = general_arm(n)
            block = regressor_workspace(model) if name == "regressor" else model.packed
            states = list(np.random.default_rng(n).normal(size=(inputs, n)))
            found = count(kernel, block, states, sizes(n))
            counts[n] = found["multiplications"], found["additions"]
        figures.append(in_n(f"generic {name}", degree, counts, paper))
    return figures


def general() -> list[Figure]:
    """The customized ones on the same chains, with base parameters."""
    rows = [
        ("inverse_dynamics", "Khalil: 92N - 127 / 81N - 117", 1),
        ("ne_star", "", 1),
        ("momentum_terms", "", 1),
        ("force_rate", "Guarino Lo Bianco: 309N - 162 / 268N - 138", 1),
        ("mass_matrix", "", 2),
        ("regressor", "", 2),
    ]
    figures = []
    for name, paper, degree in rows:
        sweep = with_tip_wrench if name == "inverse_dynamics" else None
        counts = {}
        for n in SIZES:
            made = customized(general_arm(n), name, base=True, sweep=sweep)
            counts[n] = pair(made.operations)
        label = f"customized {name}" + (", pushing with its tip" if sweep else "")
        figures.append(in_n(label, degree, counts, paper))
    for way, sweep, degree in (
        ("articulated", articulated, 1),
        ("through M", through_mass_matrix, 3),
    ):
        counts = {n: direct(general_arm(n), sweep) for n in SIZES}
        figures.append(in_n(f"customized direct dynamics, {way}", degree, counts))
    return figures


def arms() -> list[Figure]:
    """What the built-in arms need, in the cheaper of base and standard parameters."""
    figures = []
    for name in ("momentum_terms", "inverse_dynamics", "ne_star", "force_rate", "mass_matrix",
                 "forward_dynamics", "regressor"):  # fmt: skip
        found = []
        for robot in (rd.robots.lwr_iii(), rd.robots.kuka_lwr4()):
            found.append("{} / {}".format(*pair(customized(robot, name).operations)))
        bar = "(249 / 180, a 7R of this kind)" if name == "momentum_terms" else "()"
        figures.append(Figure(f"{name}, LWR-III", found[0], bar, True, f"LWR 4+: {found[1]}"))
    return figures


def closed_form(model: rd.RobotModel) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """C(q, qd) by Christoffel's symbols of the closed-form M(q), evaluated by CasADi."""
    import casadi as ca

    n = model.n
    q, qd = ca.SX.sym("q", n), ca.SX.sym("qd", n)
    M, turn, origin = ca.SX(np.diag(model.rotor_inertia)), ca.SX.eye(3), ca.SX.zeros(3)
    axes, origins = [], []
    for i in range(n):
        x, y, z = model.axis[i]
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        origin = origin + turn @ model.place[i]
        about = ca.SX.eye(3) + ca.sin(q[i]) * K + (1.0 - ca.cos(q[i])) * (K @ K)
        turn = turn @ model.rotation[i] @ about
        axes.append(turn @ model.axis[i])
        origins.append(origin)
        centre = origin + turn @ model.com[i]
        zeros = [ca.SX.zeros(3)] * (n - i - 1)
        J_w = ca.horzcat(*axes, *zeros)
        pairs = zip(axes, origins, strict=True)
        J_v = ca.horzcat(*[ca.cross(a, centre - o) for a, o in pairs], *zeros)
        M += model.mass[i] * J_v.T @ J_v + J_w.T @ turn @ model.inertia[i] @ turn.T @ J_w
    slope = [[ca.jacobian(M[i, j], q) for j in range(n)] for i in range(n)]
    C = ca.SX(n, n)
    for i in range(n):
        for j in range(n):
            symbols = [slope[i][j][k] + slope[i][k][j] - slope[j][k][i] for k in range(n)]
            C[i, j] = 0.5 * sum(symbols[k] * qd[k] for k in range(n))
    buffer, run = ca.Function("C", [q, qd], [C]).buffer()
    out = np.zeros((n, n))

    def evaluate(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        buffer.set_arg(0, memoryview(q))
        buffer.set_arg(1, memoryview(qd))
        buffer.set_res(0, memoryview(out.reshape(-1)))
        run()
        return out.T

    return evaluate


def figure_3(rounds: int) -> list[Figure]:
    """The whole C* of the LWR-III: seven calls of NE*, one sweep, and the closed form."""
    model = rd.robots.lwr_iii()
    fast = load_customized(model)
    q, qd = np.random.default_rng(3).normal(size=(2, model.n))
    still, units = np.zeros(model.n), np.eye(model.n)

    def seven(robot: rd.RobotModel) -> list[np.ndarray]:
        return [rd.ne_star(robot, q, qd, unit, still, gravity=False) for unit in units]

    symbols = closed_form(model)
    expected = rd.coriolis_matrix(model, q, qd, christoffel=True)
    np.testing.assert_allclose(symbols(q, qd), expected, atol=1e-12)
    np.testing.assert_allclose(np.transpose(seven(fast)), np.transpose(seven(model)), atol=1e-12)
    ways = {
        "closed form": lambda: symbols(q, qd),
        "seven calls of NE*, customized": lambda: seven(fast),
        "seven calls of NE*, generic": lambda: seven(model),
        "one sweep": lambda: rd.coriolis_matrix(model, q, qd),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, call in ways.items():
            start = time.perf_counter()
            for _ in range(100):
                call()
            times[name].append((time.perf_counter() - start) / 100)
    figures = []
    for name in list(ways)[1:]:
        pairs = zip(times["closed form"], times[name], strict=True)
        ratio = statistics.median(a / b for a, b in pairs)
        asked = name != "seven calls of NE*, generic"
        bar = "20 times" if asked else "(20 times)"
        micro = 1e6 * statistics.median(times[name])
        figures.append(
            Figure(
                f"full C* of the LWR-III, {name}",
                f"{ratio:.0f} times faster",
                bar,
                ratio >= 20.0 or not asked,
                f"than the closed form; {micro:.1f} µs",
            )
        )
    return figures


def main() -> None:
    arguments = options(__doc__).parse_args()
    tables = {
        "Customized models beside Khalil's: multiplications / additions": khalil,
        "Generic algorithms, counted on N revolute joints": generic,
        "Customized models of general arms with N revolute joints": general,
        "Customized models of the built-in arms": arms,
        "De Luca and Ferrajoli's figure 3": lambda: figure_3(20 if arguments.quick else 100),
    }
    figures: list[Figure] = []
    for title, make in tables.items():
        found = make()
        console.print(figures_table(found, title))
        figures += found
    finish(figures, arguments)


if __name__ == "__main__":
    main()
