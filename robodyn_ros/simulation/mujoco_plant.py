"""MujocoPlant: the robot simulated by MuJoCo, with collision shapes that touch obstacles."""

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.friction import SlidingFriction
from ..dynamics.kinematics import forward_kinematics
from ..dynamics.newton_euler import inverse_dynamics
from ..errors import ArgumentError, ModelError, RobodynError, one_of, positive
from ..model.packed_model import VISCOUS, friction_rows
from ..model.rigid_body import as_inertia
from ..model.robot import Payload, RobotModel
from ..model.urdf_writer import to_urdf
from ..model.urdf_xml import one_line, read_urdf
from .obstacles import Box, Obstacle, Pendulum, Plane, Sphere
from .plant import Array, Plant
from .sensors import SensorModel

INTEGRATORS = {"implicitfast": "mjINT_IMPLICITFAST", "rk4": "mjINT_RK4", "euler": "mjINT_EULER"}
ROBOT, OBSTACLE = 1, 2  # collision bits: the robot touches obstacles, never itself
MIN_INERTIA = 1e-10  # [kg m^2], because MuJoCo rejects point masses
HOLD_TIME = 0.005  # [s], time constant of brakes and of mimic joints
HARD = [0.99, 0.999, 0.001, 0.5, 2.0]  # solimp of brakes and mimic joints
SOFT = [0.0, 0.95, 0.005, 0.5, 2.0]  # solimp of contacts: the force starts at 0, no chatter


class Contact(NamedTuple):
    """Contact of a link with an obstacle, mean over the last step."""

    link: str
    point: Array  # (3,) [m], base frame
    force: Array  # (3,) [N], on the robot, base axes


class MujocoPlant(Plant):
    """Arm simulated by MuJoCo; needs the extra 'mujoco'.

    urdf: path or text of a URDF of the same robot. Its plain collision shapes are used, its meshes
    are not. Without it, `to_urdf` writes one with balls and tubes of `radius` [m] as collision
    shapes. Rotor inertias come from the model.
    obstacles: Plane, Sphere, Box, Pendulum. Their hardness is set by `contact_time` [s], the time
    constant of MuJoCo's contacts, not by their stiffness and damping.
    timestep: MuJoCo's longest step [s]; a longer `dt` is divided into equal ones.
    integrator: 'implicitfast', 'euler', or 'rk4', which is far more accurate for free motion, but
    reports contact forces of its last stage only.
    friction, friction_width: the friction law of RigidPlant.
    stops: whether MuJoCo's own joint limits act.

    `contacts` holds the contacts of the last step; `state.tau_ext` includes them and all pushes.
    `mj_model` and `mj_data` are MuJoCo's own, for inspection.
    """

    def __init__(
        self,
        model: RobotModel,
        q: npt.ArrayLike | None = None,
        qd: npt.ArrayLike | None = None,
        *,
        urdf: str | PathLike[str] | None = None,
        obstacles: Sequence[Obstacle] = (),
        timestep: float = 1e-3,
        integrator: str = "implicitfast",
        friction: bool = True,
        friction_width: float = 0.02,
        stops: bool = True,
        saturate: bool = True,
        sensor: SensorModel | None = None,
        contact_time: float = 0.01,
        radius: float = 0.05,
        seed: int = 0,
    ) -> None:
        one_of("integrator", integrator, INTEGRATORS)
        self.timestep = positive("timestep", timestep, "s")
        self.contact_time = positive("contact_time", contact_time, "s")
        positive("radius", radius, "m")
        for obstacle in obstacles:
            if not isinstance(obstacle, (Plane, Sphere, Box, Pendulum)):
                raise ArgumentError(
                    f"an obstacle is a Plane, Sphere, Box or Pendulum, got {obstacle!r}"
                )
        self._mj: Any = _engine()
        self.integrator, self.stops, self.obstacles = integrator, stops, list(obstacles)
        if urdf is None:
            self._urdf = to_urdf(model, radius=radius)
        else:
            self._urdf, mesh_links = _without_meshes(urdf)
            if self.obstacles and mesh_links:
                raise ArgumentError(
                    f"the only collision shape of link '{mesh_links[0]}' is a mesh, which is not "
                    "loaded: leave urdf out to collide with balls and tubes"
                )
        self.payloads: list[Payload] = []
        self.bare = self.model = model
        self._compile()
        self._check_same_robot()
        super().__init__(
            model,
            q,
            qd,
            friction=friction,
            friction_width=friction_width,
            saturate=saturate,
            sensor=sensor,
            seed=seed,
        )

    @property
    def swings(self) -> list[tuple[float, float]]:
        """Angle [rad] and rate [rad/s] of each pendulum."""
        at, dof = self._pendulum_at, self._pendulum_dof
        data = self.mj_data
        return [(float(data.qpos[a]), float(data.qvel[d])) for a, d in zip(at, dof, strict=True)]

    def restart(self) -> None:
        """Start from `state`, and the pendulums from their first angles."""
        self.contacts: list[Contact] = []
        self.rebuild()
        data = self.mj_data
        self._mj.mj_resetData(self.mj_model, data)
        data.qpos[self._q_at] = self._offset + self._G @ self.state.q
        data.qvel[self._dof] = self._G @ self.state.qd
        swinging = [o for o in self.obstacles if isinstance(o, Pendulum)]
        data.qpos[self._pendulum_at] = [o.angle for o in swinging]
        data.qvel[self._pendulum_dof] = [o.rate for o in swinging]

    def rebuild(self) -> None:
        """Compile MuJoCo's model anew if a payload has changed; set friction and brakes."""
        if self.payloads != self._compiled:
            qpos, qvel = self.mj_data.qpos.copy(), self.mj_data.qvel.copy()
            self._compile()
            self.mj_data.qpos[:], self.mj_data.qvel[:] = qpos, qvel
        self._losses, rows = SlidingFriction(self.model), self.friction_rows().T
        friction_rows(self._losses.packed)[:] = rows
        self.mj_model.dof_damping[self._leader_dof] = self._viscous = rows[int(VISCOUS)].copy()
        locked = self.locked_joints(self.state.q)
        for joint in self.model.joint_names:
            brake = self.mj_model.equality(_brake(joint)).id
            self.mj_model.eq_data[brake, 0] = locked.get(joint, 0.0)
            self.mj_data.eq_active[brake] = joint in locked

    def advance(self, command: Array, dt: float) -> tuple[Array, Array, Array, Array]:
        """Integrate over dt [s]; return q, qd, motor torque and external torque (n,) each."""
        model, data, dof = self.mj_model, self.mj_data, self._leader_dof
        count = max(1, math.ceil(dt / self.timestep - 1e-9))
        h = model.opt.timestep = dt / count
        motor = self.motor_torque(command)
        external = np.zeros(model.nv)
        touched: dict[tuple[int, int], list[Array]] = {}
        for i in range(count):
            data.qfrc_applied[:] = 0.0
            data.qfrc_applied[dof] = motor
            if self.friction:
                # MuJoCo itself damps in proportion to speed
                qd = data.qvel[dof]
                losses = self._losses.of_drive(qd, motor, h)
                data.qfrc_applied[dof] -= losses - self._viscous * qd
            if self.pushes:
                pushed = self._applied_pushes(self.state.t + (i + 0.5) * h)
                data.qfrc_applied += pushed
                external += pushed / count
            self._mj.mj_step(model, data)
            if data.ncon:
                external += self._add_contacts(touched, 1.0 / count)
        if not (np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()):
            raise RobodynError(
                f"the simulation of '{self.model.name}' diverged at {self.state.t:.3f} s: "
                "take a smaller timestep"
            )
        self.contacts = [
            Contact(self._link_of[body], place / weight[0], force)
            for (body, _), (force, place, weight) in touched.items()
        ]
        tau_ext = self._G.T @ external[self._dof]
        return data.qpos[self._leader_at], data.qvel[dof], motor, tau_ext

    def _applied_pushes(self, t: float) -> Array:
        """Return the torque of the pushes at time t [s] on all of MuJoCo's joints (nv,)."""
        mj, model, data = self._mj, self.mj_model, self.mj_data
        mj.mj_kinematics(model, data)  # after a step these are still those before it
        mj.mj_comPos(model, data)
        total = np.zeros(model.nv)
        for push in self.pushes:
            strength = push.strength(t)
            if strength > 0.0:
                body = self._body_of[push.link]
                point = data.xpos[body] + data.xmat[body].reshape(3, 3) @ push.point
                force, torque = strength * push.force, strength * push.torque
                mj.mj_applyFT(model, data, force, torque, point, body, total)
        return total

    def _add_contacts(self, touched: dict[tuple[int, int], list[Array]], share: float) -> Array:
        """Return the torque of the contacts (nv,); add them to `touched` by body and obstacle."""
        mj, model, data = self._mj, self.mj_model, self.mj_data
        total, wrench, J = np.zeros(model.nv), np.zeros(6), np.zeros((3, model.nv))
        for i in range(data.ncon):
            contact = data.contact[i]
            mj.mj_contactForce(model, data, i, wrench)
            # The frame's rows are its axes; the first points from one geometry to the other, and
            # the force acts on the other.
            force = contact.frame.reshape(3, 3).T @ wrench[:3]
            one, other = contact.geom
            body, obstacle = int(model.geom_bodyid[other]), int(one)
            if body not in self._link_of:
                body, obstacle, force = int(model.geom_bodyid[one]), int(other), -force
            size = float(np.linalg.norm(force))
            if body not in self._link_of or size == 0.0:
                continue
            mj.mj_jac(model, data, J, None, contact.pos, body)
            total += share * (force @ J)
            sums = touched.setdefault((body, obstacle), [np.zeros(3), np.zeros(3), np.zeros(1)])
            sums[0] += share * force
            sums[1] += size * contact.pos
            sums[2] += size
        return total

    def _compile(self) -> None:
        mj, model = self._mj, self.bare
        try:
            spec = mj.MjSpec.from_string(self._urdf)
            self._describe_robot(spec)
            for i, payload in enumerate(self.payloads):
                held = spec.body(payload.link).add_body(name=f"payload {i}")
                inertia = as_inertia("inertia of the payload", payload.inertia)
                self._set_inertia(held, payload.mass, payload.com, inertia)
            names = [self._add_obstacle(spec, i) for i in range(len(self.obstacles))]
            self.mj_model: Any = spec.compile()
        except ValueError as fault:
            if isinstance(fault, RobodynError):
                raise
            raise ModelError(f"MuJoCo rejects '{model.name}': {one_line(fault)}") from None
        self._compiled = list(self.payloads)
        self.mj_data: Any = mj.MjData(self.mj_model)
        joints = [self.mj_model.joint(name) for name in model.body_joint_names]
        self._q_at, self._dof = (np.array(x) for x in _addresses(joints))
        leaders = [self.mj_model.joint(name) for name in model.joint_names]
        self._leader_at, self._leader_dof = (np.array(x) for x in _addresses(leaders))
        pendulums = [self.mj_model.joint(name) for name in names if name is not None]
        self._pendulum_at, self._pendulum_dof = _addresses(pendulums)
        # Positions of all joints are offset + G q.
        self._G = np.zeros((len(joints), model.n))
        self._G[np.arange(len(joints)), model.coordinate] = model.ratio
        self._offset = np.array(model.offset)
        bodies = {self.mj_model.body(i).name: i for i in range(1, self.mj_model.nbody)}
        self._body_of = {link: bodies.get(link, 0) for link in model.frames}
        self._link_of = {body: link for link, body in self._body_of.items() if body > 0}
        for i, payload in enumerate(self.payloads):
            self._link_of[bodies[f"payload {i}"]] = payload.link

    def _describe_robot(self, spec: Any) -> None:
        mj, model = self._mj, self.bare
        spec.compiler.fusestatic = False  # links on fixed joints keep their names
        spec.compiler.inertiafromgeom = mj.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
        spec.compiler.boundinertia = MIN_INERTIA
        spec.option.gravity = model.gravity
        spec.option.integrator = getattr(mj.mjtIntegrator, INTEGRATORS[self.integrator])
        spec.option.disableflags |= int(mj.mjtDisableBit.mjDSBL_AUTORESET)
        if not self.stops:
            spec.option.disableflags |= int(mj.mjtDisableBit.mjDSBL_LIMIT)
        found, wanted = {joint.name for joint in spec.joints}, set(model.body_joint_names)
        if found != wanted:
            odd = min(found ^ wanted)
            raise ArgumentError(
                f"urdf and model must have the same moving joints; '{odd}' is only in the "
                f"{'urdf' if odd in found else 'model'}: leave urdf out to simulate the model"
            )
        for joint in spec.joints:
            joint.armature = 0.0
            joint.damping, joint.frictionloss = 0.0 * np.array(joint.damping), 0.0
        for name, rotor in zip(model.joint_names, model.rotor_inertia, strict=True):
            spec.joint(name).armature = rotor
        for tie in spec.equalities:  # mimic joints
            tie.solref, tie.solimp = [HOLD_TIME, 1.0], HARD
        for name in model.joint_names:
            brake = spec.add_equality(name=_brake(name), name1=name, active=False)
            brake.type, brake.objtype = mj.mjtEq.mjEQ_JOINT, mj.mjtObj.mjOBJ_JOINT
            brake.solref, brake.solimp = [HOLD_TIME, 1.0], HARD
        for shape in spec.geoms:
            shape.contype, shape.conaffinity = ROBOT, OBSTACLE
            shape.solref, shape.solimp = [self.contact_time, 1.0], SOFT
        if self.obstacles and not list(spec.geoms):
            raise ArgumentError(
                "the URDF has no collision shape to touch obstacles with: leave urdf out to "
                "collide with balls and tubes"
            )

    def _add_obstacle(self, spec: Any, i: int) -> str | None:
        """Add obstacle i to the world; return the name of its joint, or None."""
        kind, obstacle, owner = self._mj.mjtGeom, self.obstacles[i], spec.worldbody
        name, joint = f"obstacle {i}", None
        if isinstance(obstacle, Pendulum):
            down = _down(self.bare.gravity)
            axis = np.array(obstacle.axis, dtype=float)
            if np.linalg.norm(np.cross(axis, down)) < 1e-9 * np.linalg.norm(axis):
                raise ArgumentError("axis of a pendulum must not be along gravity")
            joint, ball = name, obstacle.length * down
            owner = owner.add_body(name=name, pos=np.array(obstacle.pivot, dtype=float))
            hinge = owner.add_joint(name=name, axis=axis)
            hinge.type = self._mj.mjtJoint.mjJNT_HINGE
            inertia = 0.4 * obstacle.mass * obstacle.radius**2 * np.eye(3)
            self._set_inertia(owner, obstacle.mass, ball, inertia)
        shape = owner.add_geom(name=name, contype=OBSTACLE, conaffinity=ROBOT)
        shape.solref, shape.solimp = [self.contact_time, 1.0], SOFT
        if isinstance(obstacle, Plane):
            row = obstacle.row()
            shape.type, shape.pos, shape.size = kind.mjGEOM_PLANE, row[1:4], [0.0, 0.0, 1.0]
            self._mj.mju_quatZ2Vec(shape.quat, row[4:7])
        elif isinstance(obstacle, Box):
            shape.type, shape.size = kind.mjGEOM_BOX, np.array(obstacle.half_sizes, dtype=float)
            shape.pos = np.array(obstacle.centre, dtype=float)
        else:
            shape.type, shape.size = kind.mjGEOM_SPHERE, [obstacle.radius, 0.0, 0.0]
            shape.pos = ball if isinstance(obstacle, Pendulum) else obstacle.row()[1:4]
        return joint

    def _check_same_robot(self) -> None:
        """Reject a URDF whose link positions or torques differ from the model's."""
        mj, model, data = self._mj, self.bare, self.mj_data
        q, qd = np.random.default_rng(0).uniform(-1.0, 1.0, (2, model.n))
        data.qpos[self._q_at] = self._offset + self._G @ q
        data.qvel[self._dof] = self._G @ qd
        mj.mj_forward(self.mj_model, data)
        for link, body in self._body_of.items():
            off = forward_kinematics(model, q, link)[:3, 3] - data.xpos[body]
            if np.abs(off).max() > 1e-6:
                raise ArgumentError(
                    f"urdf and model must be the same robot; link '{link}' is "
                    f"{np.linalg.norm(off):.3g} m off: leave urdf out to simulate the model"
                )
        tau = inverse_dynamics(model, q, qd, np.zeros(model.n))
        off = self._G.T @ data.qfrc_bias[self._dof] - tau
        if np.abs(off).max() > 1e-6 * (1.0 + np.abs(tau).max()):
            raise ArgumentError(
                "urdf and model must be the same robot; their masses differ by "
                f"{np.abs(off).max():.3g} N m of torque: leave urdf out to simulate the model"
            )

    def _set_inertia(self, body: Any, mass: float, com: npt.ArrayLike, inertia: Array) -> None:
        moments, axes = np.linalg.eigh(inertia)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        body.explicitinertial = True
        body.mass, body.ipos = float(mass), np.array(com, dtype=float)
        body.inertia = np.maximum(moments, MIN_INERTIA)
        self._mj.mju_mat2Quat(body.iquat, axes.ravel())


def _engine() -> ModuleType:
    try:
        import mujoco
    except ImportError:
        raise RobodynError("MujocoPlant needs MuJoCo: pip install 'mujoco>=3.17,<5'") from None
    return mujoco


def _without_meshes(urdf: str | PathLike[str]) -> tuple[str, list[str]]:
    """Return a URDF without references to files, and the links that collide by meshes only."""
    read_urdf(urdf)  # rejects what is no URDF, too large, or harmful to a parser
    blanks = "\ufeff \t\r\n"
    is_text = isinstance(urdf, str) and urdf.lstrip(blanks).startswith("<")
    text = str(urdf).lstrip(blanks) if is_text else Path(urdf).read_bytes()
    robot = ET.fromstring(text)  # nosec B314: read_urdf has rejected harmful documents
    for part in list(robot):
        if part.tag not in ("link", "joint"):
            robot.remove(part)
    mesh_links = []
    for link in robot.iter("link"):
        shapes = link.findall("collision")
        meshes = [shape for shape in shapes if shape.find("geometry/mesh") is not None]
        if meshes and len(meshes) == len(shapes):
            mesh_links.append(str(link.get("name")))
        for part in meshes + link.findall("visual"):
            link.remove(part)
    return ET.tostring(robot, encoding="unicode"), mesh_links


def _brake(joint: str) -> str:
    return f"brake of {joint}"


def _addresses(joints: Sequence[Any]) -> tuple[list[int], list[int]]:
    return [int(j.qposadr[0]) for j in joints], [int(j.dofadr[0]) for j in joints]


def _down(gravity: Array) -> Array:
    """Return the unit vector (3,) along gravity; -z without gravity."""
    size = np.linalg.norm(gravity)
    return np.array([0.0, 0.0, -1.0]) if size == 0.0 else np.array(gravity) / size
