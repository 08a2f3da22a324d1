"""Inverse dynamics on nested dual numbers: tau and two derivatives, independent of the sweeps.

Positions are functions of time, as numbers that carry their rate; numbers whose parts are such
numbers carry two derivatives. The torque is that of d'Alembert's principle in the base's axes:
the Jacobian of each body times its inertial force, without any recursion over forces.
"""

from __future__ import annotations

import math

import numpy as np


class Dual:
    """A number and its rate; both may be dual numbers themselves."""

    __slots__ = ("rate", "value")

    def __init__(self, value, rate):
        self.value, self.rate = value, rate

    def __add__(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.rate + other.rate)
        return Dual(self.value + other, self.rate)

    def __mul__(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        if isinstance(other, Dual):
            return Dual(
                self.value * other.value, self.rate * other.value + self.value * other.rate
            )
        return Dual(self.value * other, self.rate * other)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return Dual(-self.value, -self.rate)

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other


def sine_cosine(x):
    if not isinstance(x, Dual):
        return math.sin(x), math.cos(x)
    s, c = sine_cosine(x.value)
    return Dual(s, c * x.rate), Dual(c, -(s * x.rate))


def nested(x0, x1, x2):
    """Numbers with two derivatives, as an array of nested dual numbers."""
    return np.array(
        [Dual(Dual(a, b), Dual(b, c)) for a, b, c in zip(x0, x1, x2, strict=True)], dtype=object
    )


def cross(a, b):
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
        dtype=object,
    )


def rotation(axis, angle):
    """Rodrigues' formula."""
    s, c = sine_cosine(angle)
    x, y, z = axis
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + s * skew + (1.0 - c) * (skew @ skew)


def torque(model, q, qd, qdd):
    """Return M qdd + c + g for numbers of any kind, rotors included."""
    zero = np.zeros(3).astype(object)
    base = (np.eye(3).astype(object), zero, zero, zero, zero - model.gravity)
    placed: list = []
    joints: list = []  # unit motions: axis, and origin of a revolute joint
    tau = [r * x for r, x in zip(model.rotor_inertia, qdd, strict=True)]
    for i in range(len(model.link_names)):
        p, k, ratio = model.parent[i], model.coordinate[i], model.ratio[i]
        R_p, o_p, w_p, wd_p, a_p = placed[p] if p >= 0 else base
        x, xd, xdd = ratio * q[k] + model.offset[i], ratio * qd[k], ratio * qdd[k]
        z = R_p @ (model.rotation[i] @ model.axis[i])
        if model.prismatic[i]:
            R = R_p @ model.rotation[i]
            r = R_p @ model.place[i] + z * x
        else:
            R = R_p @ model.rotation[i] @ rotation(model.axis[i], x)
            r = R_p @ model.place[i]
        o = o_p + r
        a = a_p + cross(wd_p, r) + cross(w_p, cross(w_p, r))
        w, wd = w_p, wd_p
        if model.prismatic[i]:
            a = a + 2.0 * cross(w_p, z * xd) + z * xdd
        else:
            w, wd = w_p + z * xd, wd_p + cross(w_p, z * xd) + z * xdd
        placed.append((R, o, w, wd, a))
        joints.append((z, o))
        c = R @ model.com[i]
        inertia = R @ model.inertia[i] @ R.T
        f = model.mass[i] * (a + cross(wd, c) + cross(w, cross(w, c)))
        moment = inertia @ wd + cross(w, inertia @ w)
        j = i
        while j >= 0:
            z, o_j = joints[j]
            along = z @ f if model.prismatic[j] else z @ (moment + cross(o + c - o_j, f))
            tau[model.coordinate[j]] = tau[model.coordinate[j]] + model.ratio[j] * along
            j = model.parent[j]
    return tau


def force_jerk(model, q, qd, qdd, qddd, qdddd):
    """Return tau, tau_dot and tau_ddot."""
    states = nested(q, qd, qdd), nested(qd, qdd, qddd), nested(qdd, qddd, qdddd)
    tau = torque(model, *states)
    parts = [(x.value.value, x.value.rate, x.rate.rate) for x in tau]
    return np.array(parts).T
