"""Recordings made up for the tests: an arm in motion, touched twice, with the torque it takes."""

import sys
from pathlib import Path

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros import cli
from robodyn_ros.commands.common import console, error_console
from robodyn_ros.recording.bags import BagWriter
from robodyn_ros.recording.joint_states import TYPE, serialized

MODEL = rd.robots.lwr_iii()
START = 1_700_000_000_000_000_000  # [ns]
TOUCHES = ((2.0, 2.2, 2), (5.0, 5.2, 4))  # [s], and the joint that feels it
NOISE = 0.2  # [N m]


def motion(duration=8.0, rate=500.0, seed=3, touches=TOUCHES, noise=NOISE):
    """Times, q, qd, tau and the external torque of a swinging arm."""
    t = np.arange(0.0, duration, 1.0 / rate)
    w = 0.4 + 0.2 * np.arange(MODEL.n)
    angle = t[:, None] * w
    q, qd, qdd = 0.5 * np.sin(angle), 0.5 * w * np.cos(angle), -0.5 * w**2 * np.sin(angle)
    outside = np.zeros_like(q)
    for begin, end, joint in touches:
        outside[(t > begin) & (t <= end), joint] = 12.0
    torque = rd.inverse_dynamics(MODEL, q, qd, qdd) - outside
    tau = torque + noise * np.random.default_rng(seed).normal(size=q.shape)
    return t, q, qd, tau, outside


def nanoseconds(t):
    return START + np.round(t * 1e9).astype(np.int64)


def write_states(out, topic, t, *fields):
    """A topic of joint states; fields that are None stay empty."""
    out.add(topic, TYPE)
    sizes = [np.zeros(0 if x is None else MODEL.n) for x in fields]
    template = out.joint_state(MODEL.joint_names, *sizes)
    when = nanoseconds(t)
    raws = serialized(template, when, *(x for x in fields if x is not None))
    for k, raw in zip(when.tolist(), raws, strict=True):
        out.write(topic, k + 1000, raw)


def write_bag(path, truth=True, **how) -> Path:
    """A bag of such a motion, as a recorder makes it."""
    t, q, qd, tau, outside = motion(**how)
    with BagWriter(path) as out:
        write_states(out, "/joint_states", t, q, qd, tau)
        write_states(out, "/controller_node/reference", t, q + 1e-3, qd, None)
        if truth:
            write_states(out, "/simulator_node/external_torque", t, None, None, outside)
    return path


def robodyn(monkeypatch, capsys, *words):
    """Run the command in this process; exit code, output, complaints."""
    monkeypatch.setenv("COLUMNS", "400")
    for one in (console, error_console):  # made before, with the width of then
        monkeypatch.setattr(one, "_width", 400)
    monkeypatch.setattr(sys, "argv", ["robodyn", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    return ended.value.code or 0, said.out, said.err
