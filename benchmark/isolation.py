"""Which link is touched: by pushes all over the surface, and by the outermost joint that feels it.

Touches on a real Panda (`panda_touches.py`), with noise learnt from other postures than the judged
one; simulated pushes on arms whose model is 3 % wrong; the time of one decision.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import panda_touches
from figures import Figure, figures_table, finish, options
from panda_touches import Recording
from rich.console import Console
from rich.progress import track

import robodyn_ros as rd
from robodyn_ros.detection.isolation import ContactIsolator, Isolation, isolate
from robodyn_ros.detection.isolation_settings import IsolationSettings
from robodyn_ros.detection.link_naming import LinkNaming
from robodyn_ros.model.surface import surface_points
from robodyn_ros.resources import share_path
from robodyn_ros.simulation.disturbances import perturbed

Array = np.ndarray
ARMS = ("lwr_iii", "kuka_lwr4")
LEAD = 5.0
TORQUE_NOISE = 0.02  # [N m], of a mean residual
FEWEST = 0.3  # [N m] that a simulated push must give on some joint
SEED = 19


@dataclass(frozen=True)
class Touch:
    """A touch, and what was told of it; links are numbered from 1, 0: none."""

    link: int
    likeliest: int  # always told
    named: int  # with a lead
    beyond: bool
    simple: int  # by `isolate`
    changes: int  # of the name while the touch lasted
    first: int  # the first name


def panda(console: Console, step: int) -> tuple[list[Touch], int]:
    """Every touch of the recordings that raised an alarm, and the number of all touches."""
    robot = panda_touches.model()
    files = panda_touches.recordings(robot)
    surfaces = surface_points(robot, str(share_path("config", "panda", "shapes.urdf")))
    isolator = ContactIsolator(robot, surfaces, IsolationSettings(lead=LEAD))
    noises = {
        posture: panda_touches.noise([file for file in files if file.posture != posture])
        for posture in {file.posture for file in files}
    }
    found = []
    for file in track(files[::step], "touches on a Panda", console=console):
        found += told(robot, isolator, file, noises[file.posture])
    return found, sum(len(file.touches) for file in files[::step])


def told(
    robot: rd.RobotModel,
    isolator: ContactIsolator,
    file: Recording,
    deviation: tuple[Array, Array],
) -> Iterator[Touch]:
    """The touches of one recording, by the first alarm of each."""
    touched, bias = panda_touches.followed(file, deviation)
    noise, waiting = deviation[1], list(file.touches)
    naming = LinkNaming(robot.n)
    names: list[str] = []
    began = 0.0
    last, simple = Isolation(None, 0.0), 0
    for k, t in enumerate(file.t):
        if touched[k] and not touched[k - 1]:
            names, began = [], t
        job = naming.update(t, bool(touched[k]), file.q[k], file.R[k], bias[k])
        if job:
            last = isolator.locate(job.q, job.y, noise**2)
            names.append(naming.decide(last, job.over).name)
            simple = number(robot, isolate(robot, job.y, 3.0 * noise).link)
        ended = k > 0 and touched[k - 1] and not touched[k]
        label = next(((a, b) for a, b in waiting if a - 0.05 <= began <= b + 0.1), None)
        if ended and label and last.posterior:
            waiting.remove(label)
            likeliest = number(robot, max(last.posterior, key=last.posterior.__getitem__))
            first = next((name for name in names if name), "")
            yield Touch(
                file.link,
                likeliest,
                number(robot, last.link),
                last.beyond,
                simple,
                naming.changes,
                number(robot, first.removesuffix(" or beyond") or None),
            )


def number(robot: rd.RobotModel, link: str | None) -> int:
    return 0 if link is None else robot.link_names.index(link) + 1


def simulated(console: Console, count: int) -> list[tuple[str, Touch]]:
    """Pushes on arms that stand still, at any point of any link, within 45 degrees of its normal.

    The arm is known up to 3 % of masses and inertias and 3 mm of centres of mass. Noise is what it
    shows in other postures.
    """
    random = np.random.default_rng(SEED)
    found = []
    for k in track(range(count), "simulated pushes", console=console):
        name = ARMS[k % len(ARMS)]
        arm = known(name)
        true = perturbed(arm.model, int(random.integers(10)))
        noise = error_of(name)
        while True:
            q = random.uniform(-1.5, 1.5, arm.model.n)
            row = int(random.integers(arm.model.n))
            start = arm.surfaces.start
            point = int(random.integers(start[row], start[row + 1]))
            aside = random.normal(size=3)
            aside *= random.uniform() / np.linalg.norm(aside)
            link = arm.model.link_names[row]
            R = rd.forward_kinematics(arm.model, q, link)[:3, :3]
            force = R @ (arm.surfaces.normals[point] + aside)
            force *= np.exp(random.uniform(np.log(5.0), np.log(100.0))) / np.linalg.norm(force)
            r = rd.jacobian(arm.model, q, link, arm.surfaces.points[point])[:3].T @ force
            if np.abs(r).max() > FEWEST:
                break
        r += rd.gravity_torque(true, q) - rd.gravity_torque(arm.model, q)
        r += TORQUE_NOISE * random.standard_normal(arm.model.n)
        answer = arm.locate(q, r, noise**2)
        simple = isolate(arm.model, r, 3.0 * noise).link
        if answer.posterior:
            likeliest = max(answer.posterior, key=answer.posterior.__getitem__)
            told = [number(arm.model, x) for x in (likeliest, answer.link, simple)]
            touch = Touch(row + 1, told[0], told[1], answer.beyond, told[2], 0, 0)
            found.append((name, touch))
    return found


def aligned(console: Console, count: int) -> tuple[int, int, int]:
    """Pushes of 40 N at a link's origin or along its joint's axis, which that joint does not feel:
    how many are told right or with "or beyond", how many are named wrongly, of how many.
    """
    random = np.random.default_rng(SEED + 2)
    right = wrong = total = 0
    for k in track(range(count), "pushes through an axis", console=console):
        arm = known(ARMS[k % 2])
        model = arm.model
        q, row = random.uniform(-1.5, 1.5, model.n), int(random.integers(2, model.n))
        link = model.link_names[row]
        direction = random.normal(size=3)
        if k % 4 < 2:
            direction = rd.forward_kinematics(model, q, link)[:3, :3] @ model.axis[row]
        force = 40.0 * direction / np.linalg.norm(direction)
        r = rd.jacobian(model, q, link)[:3].T @ force
        if np.abs(r).max() > FEWEST:
            r += TORQUE_NOISE * random.standard_normal(model.n)
            found = arm.locate(q, r, np.full(model.n, TORQUE_NOISE**2))
            inner = number(model, found.innermost) <= row + 1
            right += inner and (found.beyond or found.link == link)
            wrong += found.link not in (None, link) and not found.beyond
            total += 1
    return right, wrong, total


@cache
def known(name: str) -> ContactIsolator:
    model = getattr(rd.robots, name)()
    surfaces = surface_points(model, str(share_path("urdf", f"{name}.urdf")))
    return ContactIsolator(model, surfaces, IsolationSettings(lead=LEAD))


@cache
def error_of(name: str) -> Array:
    """(n,) [N m], deviation of the residual without contact, over arms and postures."""
    model, random = known(name).model, np.random.default_rng(SEED + 1)
    errors = []
    for seed in range(10, 20):
        q = random.uniform(-1.5, 1.5, (50, model.n))
        true = perturbed(model, seed)
        errors.append(rd.gravity_torque(true, q) - rd.gravity_torque(model, q))
    return np.sqrt(np.mean(np.vstack(errors) ** 2, axis=0) + TORQUE_NOISE**2)


def milliseconds(count: int = 200) -> float:
    """Median time of a decision for seven joints [ms]."""
    arm, random, times = known("kuka_lwr4"), np.random.default_rng(SEED), []
    for _ in range(count):
        q, y = random.uniform(-1.5, 1.5, 7), random.normal(size=7)
        begin = time.process_time()
        arm.locate(q, y, np.full(7, TORQUE_NOISE**2))
        times.append(time.process_time() - begin)
    return 1e3 * float(np.median(times))


def figures(what: str, touches: list[Touch], bars: tuple[float, ...] | None) -> Iterator[Figure]:
    """Exact and within one link, always and with a lead, beside the outermost joint's answers."""
    link, likeliest, named, simple = (
        np.array([getattr(touch, name) for touch in touches])
        for name in ("link", "likeliest", "named", "simple")
    )
    by_joint = simple > 0
    exact, near = np.mean(likeliest == link), np.mean(np.abs(likeliest - link) <= 1)
    lead = named > 0
    old = np.mean(simple[by_joint] == link[by_joint])
    note = f"outermost joint {old:.1%} of {by_joint.mean():.0%} answered; {link.size} touches"
    bar = bars or (float(np.mean(simple == link)), 0.0, 0.0, 0.0)
    yield percent(f"{what}: link exact, always answered", float(exact), bar[0], note)
    yield percent(f"{what}: within one link", float(near), bar[1])
    yield percent(f"{what}: answered with a lead of {LEAD:g}", float(lead.mean()), bar[2])
    right = float(np.mean(named[lead] == link[lead]))
    yield percent(f"{what}: of these exact", right, bar[3] or float(old))
    clear = lead & ~np.array([touch.beyond for touch in touches])
    only = float(np.mean(named[clear] == link[clear]))
    share = f"{clear.mean():.0%} of the touches"
    yield Figure(f"{what}: exact without 'or beyond'", f"{only:.1%}", "(-)", True, share)


def percent(figure: str, measured: float, bar: float, note: str = "") -> Figure:
    asked = f"{bar:.1%}" if bar > 0.0 else "(-)"
    return Figure(figure, f"{measured:.1%}", asked, measured >= bar, note)


def main() -> None:
    arguments = options(__doc__ or "").parse_args()
    console = Console()
    rows: list[Figure] = []
    why = panda_touches.missing()
    if why:
        console.print(f"touches on a Panda skipped: {why}")
    else:
        touches, labelled = panda(console, 5 if arguments.quick else 1)
        share, note = len(touches) / labelled, "by the plain alarm of this program"
        rows.append(Figure("Panda: touches with an alarm", f"{share:.1%}", "(98%)", True, note))
        rows += figures("Panda", touches, (0.78, 0.98, 0.65, 0.88))
        changes = [touch.changes for touch in touches]
        text, note = f"{max(changes)}", f"{np.mean(changes):.2f} on average"
        rows.append(Figure("Panda: most changes of a name", text, "2", max(changes) <= 2, note))
    pushes = simulated(console, 200 if arguments.quick else 2000)
    for name in ARMS:
        rows += figures(name, [touch for robot, touch in pushes if robot == name], None)
    right, wrong, total = aligned(console, 100 if arguments.quick else 1000)
    what, note = "pushes through an axis: this link, or '… or beyond'", f"{total} pushes"
    rows.append(percent(what, right / total, 0.98, note))
    share = wrong / total
    rows.append(Figure("the same: another link named", f"{share:.1%}", "1.0%", share <= 0.01))
    spent = milliseconds()
    rows.append(Figure("time of a decision, 7 joints", f"{spent:.2f} ms", "3 ms", spent < 3.0))
    console.print(figures_table(rows, "Touched link"))
    finish(rows, arguments)


if __name__ == "__main__":
    main()
