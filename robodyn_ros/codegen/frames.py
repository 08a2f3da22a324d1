"""From a RobotModel to the robot of the sweeps: Khalil and Kleinfinger's frames on any tree."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..model import packed_model as at
from ..model.packed_model import frame_with_axis_z
from ..model.robot import FRICTION, RobotModel
from .expression import Expression, Graph
from .robot import TINY, Body, Robot, Scalar, Vector, sine_cosine, vector

Array = npt.NDArray[np.float64]
Placement = tuple[Array, Array]  # rotation and origin of a frame in another

STAY: Placement = (np.eye(3), np.zeros(3))
PARAMETERS_PER_BODY = 10


def robot_of(
    model: RobotModel, *, gravity: bool = True, symbolic: bool = False, own_frames: bool = False
) -> Robot:
    """The robot with its parameters as numbers, or as symbols: see `parameters_of`. `own_frames`
    keeps the origins and x axes of the model.
    """
    graph = Graph()
    joints = [_joint(model, i) for i in range(len(model.link_names))]
    chosen = [STAY] * len(joints) if own_frames else _choose(model, joints)
    bodies = []
    for i in range(len(joints)):
        body = _body(model, i, graph, joints, chosen)
        body.own = snapped(frame_with_axis_z(model.axis[i]) @ chosen[i][0])
        weigh = _symbolic_mass if symbolic else _known_mass
        weigh(model, i, body, graph, chosen[i])
        bodies.append(body)
    per_joint: list[list[Scalar]] = [
        getattr(model, name).tolist() for name in ("rotor_inertia", *FRICTION)
    ]
    if symbolic:
        start = PARAMETERS_PER_BODY * len(bodies)
        per_joint = [
            [parameter(graph, start + model.n * row + k) for k in range(model.n)]
            for row in range(len(per_joint))
        ]
    field = model.gravity.tolist() if gravity else [0.0, 0.0, 0.0]
    friction = list(zip(*per_joint[1:], strict=True))
    return Robot(graph, bodies, model.n, per_joint[0], vector(*field), friction)


def parameter(graph: Graph, k: int) -> Expression:
    """Entry k of what `parameters_of` gives, as a symbol."""
    return graph.symbol(f"parameters[{k}]", constant=True)


def parameters_of(model: RobotModel) -> Array:
    """What a robot with symbolic parameters takes: ten per body as in
    `model.inertial_parameters()`, then rotor inertias and the four of friction, all joints each.
    """
    rest = [getattr(model, name) for name in ("rotor_inertia", *FRICTION)]
    return np.concatenate([model.inertial_parameters(), *rest])


def _joint(model: RobotModel, i: int) -> Placement:
    """The frame whose z is the axis of body i, seen from that of its parent, at position 0."""
    row = model.packed[int(at.HEADER) + int(at.ROW) * (i + 1) :]
    E = row[int(at.ROTATION) : int(at.ROTATION) + 9].reshape(3, 3)
    return snapped(E), row[int(at.PLACE) : int(at.PLACE) + 3]


def snapped(x: Array) -> Array:
    """Sines, cosines or places without the last digits that rounding left of 0 and 1."""
    whole = np.round(x)
    return np.where(np.abs(x - whole) < TINY, np.where(np.abs(whole) <= 1.0, whole, x), x) + 0.0


def _choose(model: RobotModel, joints: list[Placement]) -> list[Placement]:
    """For each body the frame to compute in, seen from the one whose z is its axis."""
    chosen: list[Placement] = [STAY] * len(joints)
    for i in reversed(range(len(joints))):
        children = np.flatnonzero(model.parent == i)
        if children.size:
            c = int(children[0])
            (E, place), (_, shift) = joints[c], chosen[c]
            chosen[i] = _on_common_normal(E[:, 2], place + E @ shift, model, i, c)
    return chosen


def _on_common_normal(
    next_axis: Array, origin: Array, model: RobotModel, i: int, c: int
) -> Placement:
    """x along the common normal with the next axis, which goes through `origin`."""
    normal = snapped(np.cross([0.0, 0.0, 1.0], next_axis))
    parallel = not normal.any()
    height = origin[2]
    if not parallel and not model.prismatic[c]:
        height = origin @ np.cross(next_axis, normal) / (normal @ normal)
    if parallel:
        normal = snapped(np.array([origin[0], origin[1], 0.0]))
    x = np.array([1.0, 0.0, 0.0])
    if normal.any():
        x = snapped(normal / np.linalg.norm(normal))
    if x[0] < -0.5 or (abs(x[0]) <= 0.5 and x[1] < 0.0):
        x = -x
    shift = origin if model.prismatic[i] else np.array([0.0, 0.0, height])
    return np.column_stack([x, np.cross([0.0, 0.0, 1.0], x), [0.0, 0.0, 1.0]]) + 0.0, shift


def _body(
    model: RobotModel, i: int, graph: Graph, joints: list[Placement], chosen: list[Placement]
) -> Body:
    parent, prismatic = int(model.parent[i]), bool(model.prismatic[i])
    (G, shift), (G_p, shift_p) = chosen[i], chosen[parent] if parent >= 0 else STAY
    E, place = joints[i]
    turn_1, turn_2, turn_3 = _three_turns(snapped(G_p.T @ E @ G))
    origin = G_p.T @ (place + E @ shift - shift_p)
    origin = np.where(np.abs(origin) < TINY, 0.0, origin)
    ratio, offset = float(model.ratio[i]), float(model.offset[i])
    moved = ratio * graph.symbol(f"q[{model.coordinate[i]}]")
    axis = vector(*snapped(G_p.T @ E)[:, 2].tolist())
    turns, where = [turn_1, turn_2], vector(*origin.tolist())
    quarters = 0
    if prismatic:
        turns.append(turn_3)
        x = moved + offset
        where = where + axis * x
    else:
        # The last turn goes into the joint's angle, whole quarters of it for nothing
        angle = offset + math.atan2(turn_3[1], turn_3[2])
        quarters = round(angle / (math.pi / 2.0))
        rest = angle - quarters * math.pi / 2.0
        x = moved + (0.0 if abs(rest) < TINY else rest)
    tilt = [turn for turn in turns if turn[2] != 1.0]
    sine, cosine = sine_cosine(x, quarters)
    k = int(model.coordinate[i])
    return Body(parent, prismatic, k, ratio, tilt, where, axis, x, quarters, sine, cosine)


def _three_turns(E: Array) -> list[tuple[int, float, float]]:
    """E = Rz Rx Rz, each turn as (axis, sine, cosine)."""
    sine, cosine = math.hypot(E[0, 2], E[1, 2]), float(E[2, 2])
    if sine < TINY:  # the axes are parallel: one turn about x by 0 or 180 degrees, one about z
        flip = math.copysign(1.0, cosine)
        return [(2, 0.0, 1.0), (0, 0.0, flip), (2, flip * float(E[1, 0]), float(E[0, 0]))]
    s1, c1 = float(E[0, 2]) / sine, -float(E[1, 2]) / sine
    if c1 < -TINY or (abs(c1) <= TINY and s1 < 0.0):  # the smaller first turn: none, if it can be
        s1, c1, sine = -s1, -c1, -sine
    c3, s3 = c1 * float(E[0, 0]) + s1 * float(E[1, 0]), c1 * float(E[0, 1]) + s1 * float(E[1, 1])
    turns = snapped(np.array([[s1, c1], [sine, cosine], [-s3, c3]])).tolist()
    return [(axis, *turn) for axis, turn in zip((2, 0, 2), turns, strict=True)]


def _known_mass(model: RobotModel, i: int, body: Body, graph: Graph, frame: Placement) -> None:
    G, shift = frame
    turn = frame_with_axis_z(model.axis[i]) @ G
    seen = model.body(i).seen_from(snapped(turn.T), -G.T @ shift)
    body.m = float(seen.mass)
    com = np.where(np.abs(seen.com) < TINY, 0.0, seen.com)
    body.mc = vector(*(seen.mass * com).tolist())
    body.J = without_residue(seen.inertia_about_origin())
    body.spread = float(seen.mass * (com @ com))


def without_residue(J: Array) -> Vector:
    """A tensor without what rounding left where its elements cancel."""
    J = np.where(np.abs(J) < 4e-16 * np.abs(J).max(), 0.0, J)
    return np.array(J.tolist(), dtype=object)


def _symbolic_mass(model: RobotModel, i: int, body: Body, graph: Graph, frame: Placement) -> None:
    """The ten parameters as symbols, moved into the frame chosen; that is done off line."""
    first = PARAMETERS_PER_BODY * i
    p = [parameter(graph, first + k) for k in range(PARAMETERS_PER_BODY)]
    G, shift = frame
    turn = snapped(frame_with_axis_z(model.axis[i]) @ G).astype(object)
    t = (G.T @ shift).astype(object)
    mc = turn.T @ vector(*p[1:4])
    J = np.array([[p[4], p[5], p[6]], [p[5], p[7], p[8]], [p[6], p[8], p[9]]], dtype=object)
    J = turn.T @ J @ turn
    m = p[0]
    across = (2.0 * (t @ mc) - m * (t @ t)) * np.eye(3) - np.outer(t, mc) - np.outer(mc, t)
    body.m, body.mc, body.J = m, mc - m * t, J - (across + m * np.outer(t, t))
    body.spread = (body.mc @ body.mc) / m
