"""Residual and flags over a whole recording: what ContactMonitor says sample by sample, at once.

The momentum terms come from one batched sweep, and one compiled pass runs the detector. Gaps,
steps back in time and leaps of a joint start the observer anew, as they do in the node.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..detection.detector import (
    COLLISION_ON,
    CONTACT_ON,
    DT,
    ON,
    PER_ACCELERATION,
    ROWS,
    Level,
    _follow,
)
from ..detection.monitor import ContactMonitor
from ..detection.monitor_settings import MonitorSettings
from ..detection.observer import residual
from ..dynamics.compile import U1, U2, kernel
from ..model.packed_model import U
from ..model.robot import RobotModel
from ..sensing.gap_compensation import fill_all, without_doubt
from ..settings import one_or_each

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.int64]

LEAP = 0.1  # [rad or m] beyond what its speed allows: no joint jumps so far between samples
UNKNOWN, CLEAR, CONTACT, COLLISION = (int(level) for level in Level)


@kernel(
    "int64(float64[:, ::1], float64[::1], float64[::1], float64, int64[::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[::1], int64[::1], int64[::1])"
)
def _watch(own, common, gain, settling, begins, t, r, qd, qdd, level, joints):
    """The detector over all samples: level, and a bit for each joint above a threshold.

    begins: 0 to go on, 1 where the data before was bad, 2 where the observer starts anew.
    """
    n = U(own.shape[1])
    settled = 0.0
    for k in range(U(t.size)):
        if k == 0 or begins[k] != 0:
            settled = 0.0
            for row in range(U2 * ROWS):
                if row % ROWS > PER_ACCELERATION:  # what is remembered, not what was set
                    for j in range(n):
                        own[row, j] = 0.0
        if k == 0 or begins[k] == 2:
            for j in range(n):
                qdd[j] = 0.0
            level[k] = UNKNOWN
            joints[k] = 0
            continue
        dt = t[k] - t[k - U1]
        common[DT] = dt
        for j in range(n):
            blend = -math.expm1(-gain[j] * dt)
            qdd[j] += blend * ((qd[k, j] - qd[k - U1, j]) / dt - qdd[j])
        found = _follow(own, common, r[k], qd[k], qdd)
        settled += dt
        joints[k] = 0
        if found < 0 or settled <= settling:
            level[k] = UNKNOWN
            continue
        level[k] = CLEAR
        if found & CONTACT_ON:
            level[k] = CONTACT
        if found & COLLISION_ON:
            level[k] = COLLISION
        if level[k] != CLEAR:
            for j in range(n):
                if own[ON, j] != 0.0 or own[ROWS + ON, j] != 0.0:
                    joints[k] |= 1 << j
    return 0


@dataclass(frozen=True, eq=False)
class Watched:
    """What the detector would have said about each sample."""

    model: RobotModel
    settings: MonitorSettings
    t: Array  # (T,) [s]
    r: Array  # (T, n) [N m or N]
    felt: Array  # (T, n) [N m or N], what is left of it without what lost samples may have made
    level: Flags  # (T,), as in `Level`
    joints: Flags  # (T,), bit k: joint k is above a threshold

    @cached_property
    def changes(self) -> Flags:
        """Samples at which level or joints differ from the one before; the first is one."""
        both = (np.diff(self.level) != 0) | (np.diff(self.joints) != 0)
        return np.concatenate([[0], np.flatnonzero(both) + 1]).astype(np.int64)

    def names(self, k: int) -> tuple[str, ...]:
        """The joints above a threshold at sample k."""
        bits = int(self.joints[k])
        return tuple(name for j, name in enumerate(self.model.joint_names) if bits >> j & 1)


def begins_of(model: RobotModel, t: Array, q: Array, bad_before: Flags, longest: float) -> Flags:
    """(T,): 2 where samples have nothing to do with those before, 1 behind bad data, else 0."""
    dt = np.diff(t)
    speed = np.where(np.isfinite(model.qd_max), model.qd_max, 10.0)
    step = np.abs(np.diff(q, axis=0))
    anew = (dt <= 0.0) | (dt > longest)
    for k in np.flatnonzero(step.max(axis=1, initial=0.0) > LEAP):
        anew[k] |= (step[k] > LEAP + 2.0 * speed * abs(dt[k])).any()
    begins = np.concatenate([[2], np.where(anew, 2, 0)])
    return np.maximum(begins, bad_before).astype(np.int64)


def watch(
    model: RobotModel,
    t: Array,
    q: Array,
    qd: Array,
    tau: Array,
    settings: MonitorSettings,
    bad_before: Flags | None = None,
) -> Watched:
    """Residual, level and joints of every sample; bad_before: 1 where bad ones were cut out."""
    longest = 1.0 / max(settings.gain)
    bad = np.zeros(t.size, np.int64) if bad_before is None else bad_before
    begins = begins_of(model, t, q, bad, longest)
    gain = ContactMonitor(model, settings)._parts.observer.gain
    t, tau = (np.ascontiguousarray(x, np.float64) for x in (t, tau))
    mean, doubt = fill_all(t, tau, gain, begins)
    r = np.zeros_like(q)
    edges = [*np.flatnonzero(begins == 2).tolist(), t.size]
    for first, last in zip(edges, edges[1:], strict=False):
        part = slice(first, last)
        r[part] = residual(
            model,
            t[part],
            q[part],
            qd[part],
            mean[part],
            one_or_each(settings.gain),
            settings.friction,
            gravity_free=settings.gravity_free,
        )
    felt = without_doubt(r, doubt)
    level, joints = flags(model, t, felt, qd, begins, settings)
    return Watched(model, settings, t, r, felt, level, joints)


def flags(
    model: RobotModel, t: Array, r: Array, qd: Array, begins: Flags, settings: MonitorSettings
) -> tuple[Flags, Flags]:
    """Level and joints of every sample, from the residual."""
    _, observer, detector = ContactMonitor(model, settings)._parts
    level, joints = np.zeros(t.size, np.int64), np.zeros(t.size, np.int64)
    _watch(
        detector._own,
        detector._common,
        observer.gain,
        detector.settling,
        begins,
        np.ascontiguousarray(t, np.float64),
        np.ascontiguousarray(r, np.float64),
        np.ascontiguousarray(qd, np.float64),
        np.zeros(model.n),
        level,
        joints,
    )
    return level, joints
