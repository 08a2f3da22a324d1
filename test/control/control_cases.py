"""Reference motions and closed loops for the tests of control."""

import numpy as np

from robodyn_ros.dynamics.motion import Motion, smooth_step
from robodyn_ros.simulation.rigid import RigidPlant

EXACT = {"friction": False, "stops": False, "saturate": False}


def wave(model, seed=0, size=0.4, speed=2.0):
    """Return a function of time: every joint moves as a sine about the middle of its range."""
    random = np.random.default_rng(seed)
    low, high = np.clip(model.q_min, -1.0, 1.0), np.clip(model.q_max, -1.0, 1.0)
    centre, phase = 0.5 * (low + high), random.uniform(0.0, 2.0 * np.pi, model.n)
    w, a = speed * random.uniform(0.7, 1.3, model.n), size * 0.5 * (high - low)

    def at(t):
        s, c = np.sin(w * t + phase), np.cos(w * t + phase)
        return Motion(centre + a * s, a * w * c, -a * w**2 * s, -a * w**3 * c)

    return at


def quintic(start, end, duration):
    """Return the function of time that goes from one posture to another by [Khalil2019] (8.11)."""
    start, way = np.asarray(start, dtype=float), np.subtract(end, start)

    def at(t):
        r = smooth_step(t / duration)
        return Motion(start + way * r[0], *(way * r[k] / duration**k for k in (1, 2, 3)))

    return at


def exact_plant(model, q, qd=None):
    return RigidPlant(model, q, qd, **EXACT)


def follow(plant, controller, reference, steps, dt=1e-3, state_of=lambda plant: plant.state):
    """Run the closed loop; return times, q, qd (steps + 1, n) and torques (steps, n)."""
    t, q, qd, tau = [plant.state.t], [plant.state.q], [plant.state.qd], []
    for _ in range(steps):
        command = controller.torque(state_of(plant), reference(plant.state.t), dt)
        tau.append(command.copy())
        state = plant.step(command, dt)
        t.append(state.t)
        q.append(state.q)
        qd.append(state.qd)
    return np.array(t), np.array(q), np.array(qd), np.array(tau)
