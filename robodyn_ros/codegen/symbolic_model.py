"""A RobotModel as the robot of the symbolic sweeps: Khalil and Kleinfinger's frames on any tree.

Base parameters, [Khalil2019] 7.5.3: part of a body's inertia moves just as well with its parent.
On a revolute joint these are its mass, its first moment along the axis, and an inertia that is
equal all round the axis; on a prismatic joint its whole inertia tensor. `to_base_parameters` moves
that part to the parent, from the tips to the base. NE* has an eleventh parameter, the spread
m |c|^2, half the trace of the inertia of a body that consists of points.
"""

import math

import numpy as np

from ..model import packed_model as at
from ..model.packed_model import frame_with_axis_z
from ..model.rigid_body import Array
from ..model.robot import FRICTION, RobotModel
from .expression import Expression, Graph, Scalar
from .robot import TINY, Body, Robot, Vector, sine_cosine, vector

Placement = tuple[Array, Array]  # rotation and origin of a frame in another

IDENTITY: Placement = (np.eye(3), np.zeros(3))
PARAMETERS_PER_BODY = 10
ROUNDING = 4e-16  # relative error of a sum that should cancel


def robot_of(
    model: RobotModel, *, gravity: bool = True, symbolic: bool = False, own_frames: bool = False
) -> Robot:
    """Return the robot as numbers or symbols; own_frames: with origins and x axes of the model."""
    graph = Graph()
    joints = [_joint(model, i) for i in range(len(model.link_names))]
    chosen = [IDENTITY] * len(joints) if own_frames else _choose(model, joints)
    bodies = []
    for i in range(len(joints)):
        body = _body(model, i, graph, joints, chosen)
        body.own = snapped(frame_with_axis_z(model.axis[i]) @ chosen[i][0])
        if symbolic:
            _set_symbolic_inertia(model, i, body, graph, chosen[i])
        else:
            _set_known_inertia(model, i, body, chosen[i])
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
    """Return entry k of `parameters_of` as a symbol."""
    return graph.symbol(f"parameters[{k}]", constant=True)


def parameters_of(model: RobotModel) -> Array:
    """Return the values of symbolic parameters: ten per body, then rotors and friction."""
    rest = [getattr(model, name) for name in ("rotor_inertia", *FRICTION)]
    return np.concatenate([model.inertial_parameters(), *rest])


def _joint(model: RobotModel, i: int) -> Placement:
    """Return the frame whose z is the axis of body i, in that of its parent, at position 0."""
    row = model.packed[int(at.HEADER) + int(at.ROW) * (i + 1) :]
    E = row[int(at.ROTATION) : int(at.ROTATION) + 9].reshape(3, 3)
    return snapped(E), row[int(at.PLACE) : int(at.PLACE) + 3]


def snapped(x: Array) -> Array:
    """Return x with values next to -1, 0 and 1 rounded to them."""
    whole = np.round(x)
    return np.where(np.abs(x - whole) < TINY, np.where(np.abs(whole) <= 1.0, whole, x), x) + 0.0


def _choose(model: RobotModel, joints: list[Placement]) -> list[Placement]:
    """Return the frame to compute in for each body, in the one whose z is its axis."""
    chosen: list[Placement] = [IDENTITY] * len(joints)
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
    """Return a frame with x along the common normal with the next axis, through `origin`."""
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
    (G, shift), (G_p, shift_p) = chosen[i], chosen[parent] if parent >= 0 else IDENTITY
    E, place = joints[i]
    turn_1, turn_2, turn_3 = _euler_rotations(snapped(G_p.T @ E @ G))
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
        # The last rotation is part of the joint's angle; its whole quarter turns cost nothing
        angle = offset + math.atan2(turn_3[1], turn_3[2])
        quarters = round(angle / (math.pi / 2.0))
        rest = angle - quarters * math.pi / 2.0
        x = moved + (0.0 if abs(rest) < TINY else rest)
    tilt = [turn for turn in turns if turn[2] != 1.0]
    sine, cosine = sine_cosine(x, quarters)
    k = int(model.coordinate[i])
    return Body(parent, prismatic, k, ratio, tilt, where, axis, x, quarters, sine, cosine)


def _euler_rotations(E: Array) -> list[tuple[int, float, float]]:
    sine, cosine = math.hypot(E[0, 2], E[1, 2]), float(E[2, 2])
    if sine < TINY:  # parallel axes: a rotation about x by 0 or 180 degrees, and one about z
        flip = math.copysign(1.0, cosine)
        return [(2, 0.0, 1.0), (0, 0.0, flip), (2, flip * float(E[1, 0]), float(E[0, 0]))]
    s1, c1 = float(E[0, 2]) / sine, -float(E[1, 2]) / sine
    if c1 < -TINY or (abs(c1) <= TINY and s1 < 0.0):  # the smaller first rotation
        s1, c1, sine = -s1, -c1, -sine
    c3, s3 = c1 * float(E[0, 0]) + s1 * float(E[1, 0]), c1 * float(E[0, 1]) + s1 * float(E[1, 1])
    turns = snapped(np.array([[s1, c1], [sine, cosine], [-s3, c3]])).tolist()
    return [(axis, *turn) for axis, turn in zip((2, 0, 2), turns, strict=True)]


def _set_known_inertia(model: RobotModel, i: int, body: Body, frame: Placement) -> None:
    G, shift = frame
    turn = frame_with_axis_z(model.axis[i]) @ G
    seen = model.body(i).seen_from(snapped(turn.T), -G.T @ shift)
    body.m = float(seen.mass)
    com = np.where(np.abs(seen.com) < TINY, 0.0, seen.com)
    body.mc = vector(*(seen.mass * com).tolist())
    body.J = without_residue(seen.inertia_about_origin())
    body.spread = float(seen.mass * (com @ com))


def without_residue(J: Array) -> Vector:
    """Return a tensor with 0 where rounding left a residue of elements that cancel."""
    J = np.where(np.abs(J) < ROUNDING * np.abs(J).max(), 0.0, J)
    return np.array(J.tolist(), dtype=object)


def _set_symbolic_inertia(
    model: RobotModel, i: int, body: Body, graph: Graph, frame: Placement
) -> None:
    """Set the ten parameters as symbols, transformed off line into the chosen frame."""
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


def to_base_parameters(robot: Robot) -> None:
    """Move from each body to its parent the inertia that moves just as well with it."""
    for i in reversed(range(len(robot.bodies))):
        body = robot.bodies[i]
        _add_rotor(robot, body)
        if body.parent >= 0:
            parent = robot.bodies[body.parent]
            if body.prismatic:
                _move_inertia(body, parent)
            else:
                _move_symmetric_part(body, parent)


def _move_inertia(body: Body, parent: Body) -> None:
    parent.J = parent.J + body.matrix_to_parent(body.J)
    parent.spread = parent.spread + body.spread
    body.J, body.spread = np.full((3, 3), 0.0, dtype=object), 0.0


def _move_symmetric_part(body: Body, parent: Body) -> None:
    m, h, a = body.m, body.mc[2], body.J[1, 1]
    r, z = body.place, body.axis
    moment = m * r + h * z
    # About the parent's origin: a mass at r, a first moment along z there, and a (1 - z z^T)
    about = (m * (r @ r) + 2.0 * h * (r @ z) + a) * np.eye(3)
    parent.J = parent.J + about - m * np.outer(r, r) - a * np.outer(z, z)
    parent.J = parent.J - h * (np.outer(r, z) + np.outer(z, r))
    parent.spread = parent.spread + (m * (r @ r) + 2.0 * h * (r @ z) + a)
    parent.m, parent.mc = parent.m + m, parent.mc + moment
    body.m, body.mc[2], body.J[1, 1] = 0.0, 0.0, 0.0
    body.J[0, 0] = _difference(body.J[0, 0], a)
    body.spread = body.spread - a
    if all(isinstance(x, float) for x in parent.J.flat):
        parent.J = without_residue(parent.J.astype(float))


def _add_rotor(robot: Robot, body: Body) -> None:
    """Add a rotor inertia to its body if both turn equally fast about the axis."""
    k = body.coordinate
    alone = sum(other.coordinate == k for other in robot.bodies) == 1 and body.ratio == 1.0
    if alone and not body.prismatic and _turns_alone_about_its_axis(robot, body):
        body.J[2, 2], robot.rotors[k] = body.J[2, 2] + robot.rotors[k], 0.0


def _turns_alone_about_its_axis(robot: Robot, body: Body) -> bool:
    """Return whether no joint below turns the body about its axis, too."""
    if body.parent < 0:
        return True
    parent = robot.bodies[body.parent]
    if parent.prismatic:
        return parent.parent < 0
    return parent.parent < 0 and body.axis[2] == 0.0


def _difference(a: Scalar, b: Scalar) -> Scalar:
    """Return a - b, 0 if they differ by rounding only."""
    numbers = isinstance(a, float) and isinstance(b, float)
    return 0.0 if numbers and abs(a - b) < ROUNDING * max(abs(a), abs(b)) else a - b
