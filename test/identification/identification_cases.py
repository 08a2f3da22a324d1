"""Logs without a simulator: a motion, and the torque that inverse dynamics says it takes."""

import numpy as np

import robodyn_ros as rd
from robodyn_ros.dynamics.friction import friction_torque
from robodyn_ros.identification.excitation import excitation
from robodyn_ros.identification.log import Log

WIDTH = 0.01


def log_of(real, motion, *, rate=200.0, noise=0.0, seed=0, name="log"):
    """What perfect sensors, or noisy ones, report of the real robot on this motion."""
    random = np.random.default_rng(seed)
    t = np.arange(round(motion.duration * rate)) / rate
    q, qd, qdd, _ = motion.at(t)
    tau = rd.inverse_dynamics(real, q, qd, qdd) + friction_torque(real, qd, width=WIDTH)
    tau = tau + noise * tau.std(axis=0) * random.normal(size=tau.shape)
    return Log(t, q, qd, tau, name)


def motion_of(model, seed=0, **more):
    more = {"duration": 10.0, "tries": 3, "harmonics": 3, "qd_max": 2.0, "qdd_max": 8.0} | more
    return excitation(model, seed=seed, **more)
