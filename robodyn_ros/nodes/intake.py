"""Joint states as they come in: matched by name, checked, put in order; or dropped with a reason.

A message may name joints in any order, that may change, and other joints beside ours. Several
publishers may each report some of the joints. What cannot be trusted never becomes a sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..model.robot import RobotModel

ABSURD = 1e6  # sum of squares [rad, m, rad/s or m/s]: no arm is there or moves so fast
AHEAD = 1.0  # [s], by how far a stamp may be ahead of the clock
OLD = 1.0  # [s], and behind it
BACK = 1.0  # [s], a stamp that goes back by more means that time was reset
LEAP = 0.1  # [rad or m] beyond what its speed allows: no joint jumps so far between samples
PATIENCE = 3  # jumps in a row after which the robot is believed to be elsewhere
TOGETHER = 0.02  # [s], within which parts from several publishers make one sample
LONGEST_NAME = 256


class Sample(NamedTuple):
    """A measured state in the model's order."""

    t: float  # [s]
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray | None  # None if no torque came with it
    restart: bool  # whether what was before has nothing to do with it


class Intake:
    """Makes samples of joint-state messages for one robot."""

    def __init__(self, model: RobotModel, stamps: str = "header") -> None:
        self.joints = model.joint_names
        self.stamps = stamps
        self.endless = np.isinf(model.q_min) & np.isinf(model.q_max)
        self._turns = bool(self.endless.any())
        self.speed = np.where(np.isfinite(model.qd_max), model.qd_max, 10.0)
        self.reason = ""  # why the last message gave no sample
        self.remark = ""  # what is odd about one that did
        self._names: list[str] = []
        self._order: np.ndarray | None = None  # where each of our joints is in the message
        self._parts: dict[str, tuple[float, float, float, float]] = {}
        self._last: Sample | None = None
        self._jumps = 0

    def take(self, message: Any, now: float) -> Sample | None:
        """A sample of a sensor_msgs/JointState, or None and the reason; now: the clock's [s]."""
        self.remark = ""
        names, position, velocity = message.name, message.position, message.velocity
        effort, stamp = message.effort, message.header.stamp
        if names != self._names and not self._learn(names):
            return None
        count = len(self._names)
        if len(position) != count or len(velocity) not in (0, count):
            return self._drop(
                f"{count} names but {len(position)} positions and {len(velocity)} velocities"
            )
        t = self._time(stamp.sec + 1e-9 * stamp.nanosec, now)
        if t is None:
            return None
        has_effort = len(effort) == count
        if self._order is None:
            return self._merge(position, velocity, effort if has_effort else (), t)
        q = np.frombuffer(position)[self._order]
        qd = np.frombuffer(velocity)[self._order] if len(velocity) else None
        tau = np.frombuffer(effort)[self._order] if has_effort else None
        return self._accept(t, q, qd, tau)

    def _learn(self, names: Sequence[str]) -> bool:
        """Remember where our joints are among these names."""
        names = list(names)
        if not names or any(not 0 < len(name) <= LONGEST_NAME for name in names):
            self._drop("joint names that are missing, empty or absurdly long")
            return False
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            self._drop(f"joint '{twice}' is named twice")
            return False
        place = {name: k for k, name in enumerate(names)}
        known = [name for name in self.joints if name in place]
        if not known:
            self._drop(f"none of our joints ({', '.join(self.joints)}) is named")
            return False
        self._names = names
        whole = len(known) == len(self.joints)
        self._order = np.array([place[name] for name in self.joints]) if whole else None
        return True

    def _time(self, stamp: float, now: float) -> float | None:
        """The sample's time, or None if its stamp cannot be trusted."""
        t = stamp
        if self.stamps == "receipt":
            t = now
        elif stamp == 0.0 and now > 0.0:
            t, self.remark = now, "stamps are 0: the time of receipt is taken"
        elif now > 0.0 and stamp > now + AHEAD:
            return self._drop(f"stamp is {stamp - now:.3g} s in the future")
        elif now > 0.0 and stamp < now - OLD:
            return self._drop(
                f"stamp is {now - stamp:.3g} s old; if the clocks differ, set stamps to receipt, "
                "or for a bag use_sim_time and play with --clock"
            )
        if self._last is not None and t <= self._last.t and t > self._last.t - BACK:
            step = self._last.t - t
            self._drop("stamp repeated" if step == 0.0 else f"stamp goes back by {step:.3g} s")
            return None
        return t

    def _merge(
        self,
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
        t: float,
    ) -> Sample | None:
        """Some of the joints: a sample once all have come within a short time."""
        for k, name in enumerate(self._names):
            if name in self.joints:
                qd = velocity[k] if velocity else math.nan
                tau = effort[k] if effort else math.nan
                self._parts[name] = (t, position[k], qd, tau)
        missing = [
            name
            for name in self.joints
            if name not in self._parts or self._parts[name][0] < t - TOGETHER
        ]
        if missing:
            return self._drop(f"joints {', '.join(missing)} are missing")
        _, q, qd, tau = np.array([self._parts[name] for name in self.joints]).T.copy()
        self._parts.clear()
        return self._accept(
            t, q, None if np.isnan(qd).all() else qd, None if np.isnan(tau).all() else tau
        )

    @np.errstate(over="ignore", invalid="ignore")  # absurd numbers are what it looks for
    def _accept(
        self, t: float, q: np.ndarray, qd: np.ndarray | None, tau: np.ndarray | None
    ) -> Sample | None:
        last = self._last
        restart = last is None or t <= last.t
        if not self._sound("position", q) or not (qd is None or self._sound("velocity", qd)):
            return None
        if tau is not None and not math.isfinite(np.dot(tau, tau)):
            tau = None
        if last is not None and not restart:
            if self._turns:
                turns = np.round((q - last.q) / (2.0 * np.pi))
                q = q - 2.0 * np.pi * np.where(self.endless, turns, 0.0)
            if not self._continuous(q, t - last.t):
                return None
            restart = self._jumps > 0
        if qd is None:
            if restart or last is None:
                qd = np.zeros(q.size)
                restart = True
            else:
                qd = (q - last.q) / (t - last.t)
            self.remark = "no velocities: they are differences of positions"
        self._jumps = 0
        self._last = Sample(t, q, qd, tau, restart)
        return self._last

    def _sound(self, what: str, values: np.ndarray) -> bool:
        """Whether all values are finite and not absurd: the sum of their squares tells."""
        if np.dot(values, values) < ABSURD:
            return True
        bad = int(np.argmax(~(np.abs(values) < math.sqrt(ABSURD / values.size))))
        self._drop(f"{what} of joint '{self.joints[bad]}' is {values[bad]:g}")
        return False

    def _continuous(self, q: np.ndarray, dt: float) -> bool:
        """Whether the joints can have come here; after a few jumps in a row they are believed."""
        step = q - self._last.q
        if np.dot(step, step) <= LEAP**2:
            return True
        far = np.abs(step) - 2.0 * self.speed * dt
        if far.max() <= LEAP:
            return True
        self._jumps += 1
        if self._jumps >= PATIENCE:
            return True
        joint = int(np.argmax(far))
        self._drop(
            f"joint '{self.joints[joint]}' jumped by {q[joint] - self._last.q[joint]:+.3g} in "
            f"{dt:.3g} s"
        )
        return False

    def _drop(self, reason: str) -> None:
        self.reason = reason
