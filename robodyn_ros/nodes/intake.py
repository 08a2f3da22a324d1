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
from ..sensing.validator import LEAP, TURN, Plausibility

# [s], by how far a stamp may be ahead of the clock: until that has caught up, right ones come
# before the last one and are dropped, and all has to be well again within 1 s
AHEAD = 0.4
OLD = 1.0  # [s], and behind it
BACK = 2.0  # [s], a stamp that goes back by more means that time was reset: it cannot be stale
STEADY = 0.1  # [s] for which old stamps keep the clock's pace: then theirs was set back
PACE = 0.02  # [s], and how exactly they keep it
LEAD = 0.1  # [s] by which stamps may get ahead of the clock at once; more must last to be believed
PATIENCE = 3  # jumps in a row to one place after which the robot is believed to be there
LATE_LEAP = 0.1  # [rad or m], what a joint may jump where the times are those of receipt
NEAR = 0.1  # [rad or m]: the same place
NEARLY = 0.99  # a part that is a period old belongs to a sample whose other parts were lost
LONGEST_NAME = 256
HUGE = 1e12  # [N m or N]: more than this is no torque, whatever the limits


class Sample(NamedTuple):
    """A measured state in the model's order."""

    t: float  # [s]
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray | None  # None if no torque came with it
    restart: bool  # whether what was before has nothing to do with it


class Intake:
    """Makes samples of joint-state messages for one robot.

    period: [s], within which parts from several publishers make one sample.
    """

    def __init__(self, model: RobotModel, stamps: str = "header", period: float = 0.02) -> None:
        self.joints = model.joint_names
        self.stamps, self.period = stamps, period
        self.reason = ""  # why the last message gave no sample; empty: the rest of it may come yet
        self.aside = False  # whether it is about other joints only
        self.remark = ""  # what is odd about one that did
        self.no_effort = ""  # why the last sample has no torque
        self._names: list[str] = []
        self._order: np.ndarray | None = None  # where each of our joints is in the message
        self._parts: dict[str, tuple[float, float, float | None, float | None]] = {}
        self._in_parts = True  # whether samples come in parts, as far as one knows
        self._t = math.inf  # [s], of the last state that was believed; inf: there is none
        self._anew = True  # whether the next sample begins anew
        self._now = -math.inf  # [s], the clock at the last message
        self._clock_reset = False  # it, or theirs, was set since the last sample
        self._lag = 0.0  # [s], by which the stamps' clock is known to be behind ours
        self._lead, self._leads = math.inf, 0  # [s], of stamps before our clock; leaps in a row
        self._old: tuple[float, float] | None = None  # first of some old stamps, and when it came
        self._plausible = Plausibility(model, LEAP if stamps == "header" else LATE_LEAP)
        self._q_min, self._q_max = model.q_min, model.q_max
        self._bounded = ~model.continuous
        self._still = np.zeros(model.n)
        self._elsewhere = self._still  # where the robot seems to have jumped to
        self._jumps = 0  # how often in a row
        self._within = math.inf  # [s], in which it did so: doubt does not make more time of it

    def take(self, message: Any, now: float) -> Sample | None:
        """A sample of a sensor_msgs/JointState, or None and the reason; now: the clock's [s]."""
        self.remark, self.aside = "", False
        names, position, velocity = message.name, message.position, message.velocity
        effort, stamp = message.effort, message.header.stamp
        if names != self._names and not self._learn(names):
            return None
        count = len(self._names)
        moving, loaded = len(velocity), len(effort)
        if len(position) != count or moving not in (0, count) or loaded not in (0, count):
            return self._drop(
                f"{count} names but {len(position)} positions, {moving} velocities and {loaded} "
                "efforts"
            )
        t = self._time(stamp.sec + 1e-9 * stamp.nanosec, now)
        if t is None:
            return None
        if self._order is None:
            return self._merge(position, velocity, effort, t)
        self._in_parts = False
        q = np.frombuffer(position)[self._order]
        qd = np.frombuffer(velocity)[self._order] if moving else None
        return self._accept(t, q, qd, np.frombuffer(effort)[self._order] if loaded else None)

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
            self.aside = True
            self._drop(f"none of our joints ({', '.join(self.joints)}) is named")
            return False
        self._names = names
        whole = len(known) == len(self.joints)
        self._order = np.array([place[name] for name in self.joints]) if whole else None
        return True

    def _time(self, stamp: float, now: float) -> float | None:
        """The sample's time, or None if its stamp cannot be trusted."""
        self._clock_reset = self._clock_reset or now < self._now
        self._now = now
        t = now if self.stamps == "receipt" else stamp
        if t == 0.0 and now > 0.0:
            t, self.remark = now, "stamps are 0: the time of receipt is taken"
        elif now <= 0.0 or -AHEAD <= now - self._lag - t <= OLD:
            self._old = None
        elif not self._shifted(t, now):
            return None
        if self._t - BACK < t <= self._t and not self._clock_reset:
            step = self._t - t
            self._drop("stamp repeated" if step == 0.0 else f"stamp goes back by {step:.3g} s")
            return None
        if now > 0.0 and t - now > max(self._lead, 0.0) + LEAD and self._leads < PATIENCE:
            self._leads += 1
            return self._drop(f"stamp leaps {t - now:.3g} s ahead of the clock")
        self._anew = self._anew or self._leads >= PATIENCE  # how long it took, nobody knows
        self._lead, self._leads = t - now, 0
        return t

    def _shifted(self, stamp: float, now: float) -> bool:
        """Whether a stamp far from the clock is right: the robot's clock was set back, or is right
        again. What was held up on its way comes faster than the clock goes.
        """
        if self._lag and -AHEAD <= now - stamp <= OLD:
            self._lag, self.remark = 0.0, "their clock is right again"
            self._clock_reset = True
            return True
        if stamp > now:
            self._drop(f"stamp is {stamp - now:.3g} s in the future")
            return False
        if self._old is None or abs((now - self._old[1]) - (stamp - self._old[0])) > PACE:
            self._old = (stamp, now)
        if now - self._old[1] < STEADY:
            self._drop(
                f"stamp is {now - stamp:.3g} s old; if the clocks differ, set stamps to receipt, "
                "or for a bag use_sim_time and play with --clock"
            )
            return False
        self._lag, self._old, self._clock_reset = now - stamp, None, True
        self.remark = f"their clock is {self._lag:.3g} s behind: taken as it is"
        return True

    def _merge(
        self,
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
        t: float,
    ) -> Sample | None:
        """Some of the joints: a sample once all have come within a period."""
        again = False  # whether a joint comes a second time before all have come once
        for k, name in enumerate(self._names):
            if name in self.joints:
                again = again or name in self._parts
                qd = velocity[k] if velocity else None
                self._parts[name] = (t, position[k], qd, effort[k] if effort else None)
        missing = [
            name
            for name in self.joints
            if name not in self._parts or not abs(t - self._parts[name][0]) < NEARLY * self.period
        ]
        if missing:
            expected = self._in_parts and not again
            late = f"joints {', '.join(missing)} are missing for {self.period:.3g} s, a period"
            return self._drop("" if expected else late)
        parts = (self._parts[name] for name in self.joints)
        times, q, speeds, tau = zip(*parts, strict=True)
        self._parts.clear()
        self._in_parts = True
        measured = None if None in speeds else np.array(speeds)
        return self._accept(max(times), np.array(q), measured, None if None in tau else tau)

    def _accept(self, t: float, q: np.ndarray, qd: np.ndarray | None, tau: Any) -> Sample | None:
        """The sample, if it can follow what was before."""
        restart = t <= self._t
        dt = 0.0 if restart else t - self._t
        within = min(dt, self._within)
        doubt = self._plausible.doubt(q, self._still if qd is None else qd, within)
        if self._plausible.jumped:
            self._within = within
        if doubt and not (self._plausible.jumped and self._stays_there(q)):
            return self._drop(doubt)
        restart = restart or doubt != ""
        if qd is None:
            self.remark = "no velocities: they are differences of positions"
            qd = None if restart else (q - self._plausible.last) / dt
        self._anew = self._anew or restart
        self._t, self._clock_reset, self._jumps, self._within = t, False, 0, math.inf
        self._plausible.believe(q)
        if qd is None:
            return self._drop("no velocities: they are differences, from the next message on")
        sample = Sample(t, q, qd, self._torque(tau), self._anew)
        self._anew = False
        return sample

    def _stays_there(self, q: np.ndarray) -> bool:
        """Whether a jump has led to the same place a few times in a row, and to one where the
        arm can be: not out of its limits, nor a turn away, as a counter of turns may be wrong.
        """
        way = q - self._plausible.last
        out = (q < self._q_min - NEAR) | (q > self._q_max + NEAR)
        turned = self._bounded & (np.abs(np.remainder(way + np.pi, TURN) - np.pi) < NEAR)
        if ((out | turned) & (np.abs(way) > NEAR)).any():
            self._jumps = 0
            return False
        same = self._jumps and float(np.abs(q - self._elsewhere).max()) < NEAR
        self._jumps = self._jumps + 1 if same else 1
        self._elsewhere = q
        return self._jumps >= PATIENCE

    def _torque(self, tau: Any) -> np.ndarray | None:
        """Measured torques, if all can be."""
        self.no_effort = ""
        if tau is None:
            self.no_effort = "joint_states have no effort"
            return None
        tau = np.asarray(tau, dtype=float)
        wrong = not_torque(tau)
        if wrong is None:
            return tau
        self.no_effort = f"effort of joint '{self.joints[wrong]}' is {tau[wrong]:g}"
        return None

    def _drop(self, reason: str) -> Any:
        self.reason = reason
        return None


def torques_of(message: Any, joints: Sequence[str]) -> tuple[np.ndarray | None, str]:
    """The torques of a std_msgs/Float64MultiArray, or None and why they cannot be."""
    data = message.data
    if len(data) != len(joints):
        return None, f"{len(data)} numbers, {len(joints)} joints"
    tau = np.frombuffer(data)
    wrong = not_torque(tau)
    if wrong is None:
        return tau, ""
    return None, f"torque of joint '{joints[wrong]}' is {tau[wrong]:g}"


def not_torque(tau: np.ndarray) -> int | None:
    """The joint whose number cannot be a torque; None if all can."""
    size = np.abs(tau)
    return None if size.max() < HUGE else int(np.argmax(~(size < HUGE)))
