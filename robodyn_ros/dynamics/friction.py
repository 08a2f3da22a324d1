"""Joint friction, [Khalil2019] (7.26) and what gears add to it:

    F_v qd + s (F_c + (F_st - F_c) exp(-|qd| B) + load |torque in the gear|) + offset

s is the sign of the velocity: sharp, or tanh(qd / width), or a state. After a reversal gear teeth
first bend (presliding), so s follows Dahl's law with a smooth end value:

    ds/dt = |qd| / presliding (tanh(qd / width) - s)      in motion,
    ds/dt = -s / RELAXATION_TIME                          at rest.

Over a sample that is long beside the time in which friction brakes a joint, the velocity relaxes
and friction with it: its mean is not half of both ends. With the slope c of friction over speed
and the joint's inertia J it is, exactly for a line, a sum of both ends with the shares

    w = 1/x - 1/(exp(x) - 1)  of the start,      1 - w  of the end,       x = c dt / J

So noise of the velocity at rest moves s but little, and leaves none of it. Beyond the highest
speed for which the law is known, `friction_speed`, friction stays what it is there.
"""

import math

import numpy as np

from ..errors import ArgumentError, positive
from ..model import packed_model as at
from ..model.packed_model import U, friction_rows, pack_friction
from ..model.robot import RobotModel
from .compile import index, inline, kernel, samples
from .dispatch import Array, ArrayLike, bind_to, checked, evaluate, finite, for_kernel, states_of
from .mass_matrix import _mass_matrix

REST_SPEED = 1e-3  # [rad/s or m/s]: below it a joint is at rest
RELAXATION_TIME = 0.1  # [s], time constant with which s decays at rest
MAX_RELAXATION = 50.0  # relaxation times in a step: beyond, the mean is the end
LEAST_INERTIA = 1e-9  # [kg m^2 or kg]
WIDTH = 0.02  # [rad/s or m/s], of the step where a sharp one would follow noise


@inline
def sharp_sign(v):
    """Return -1, 0 or 1, the sign of v."""
    return math.copysign(1.0, v) if v != 0.0 else 0.0


@inline
def slide(s, v, width, travel, dt):
    """Return s after dt [s] at the speed v; travel: of presliding, 0 without it."""
    if travel > 0.0 and abs(v) <= REST_SPEED:
        return s * math.exp(-dt / RELAXATION_TIME)
    end = math.tanh(v / width) if width > 0.0 else sharp_sign(v)
    if travel > 0.0:
        end += (s - end) * math.exp(-abs(v) * dt / travel)
    return end


@inline
def sliding(p, f, d, s, v, dt):
    """The same of a joint whose parameters are p[f], p[f + d], …"""
    return slide(s, v, p[f + at.WIDTH * d], p[f + at.PRESLIDING * d], dt)


@inline
def _parts(p, f, d, v):
    """Return the friction at speed v that does not depend on s, and what s is multiplied with."""
    fastest = p[f + at.FRICTION_SPEED * d]
    u = min(max(v, -fastest), fastest)
    dry, static = p[f + at.COULOMB * d], p[f + at.STICTION * d]
    if static != dry:
        dry += (static - dry) * math.exp(-abs(u) * p[f + at.FADING * d])
    return p[f] * u + p[f + at.FRICTION_OFFSET * d], dry


@inline
def friction_of_load(p, f, d, s, v, load):
    """Return the friction at speed v under this torque in the gear, friction not included."""
    even, dry = _parts(p, f, d, v)
    return even + s * (dry + p[f + at.LOAD * d] * abs(load))


@inline
def friction_of_drive(p, f, d, s, v, tau):
    """Return the friction at speed v of a motor that gives tau, friction included.

    It is `friction_of_load` of the torque that remains, solved for it.
    """
    even, dry = _parts(p, f, d, v)
    known = even + s * dry
    share = s * p[f + at.LOAD * d]
    if share == 0.0:
        return known
    left = tau - known
    return tau - left / (1.0 + (share if left >= 0.0 else -share))


@inline
def next_sign(p, f, d, s, before, begun, v, dt):
    """Return s at a sample of the velocity v, dt after the one before; with presliding it is 0 at
    the first sample.
    """
    if p[f + at.PRESLIDING * d] <= 0.0:
        return sliding(p, f, d, s, v, dt)
    return sliding(p, f, d, s, 0.5 * (before + v), dt) if begun else 0.0


@inline
def mean_loss(before, after, v_before, v, inertia, dt):
    """Return the mean friction over a step of dt [s] from its values and speeds at both ends."""
    x = 0.0
    if v != v_before:
        x = min((after - before) / (v - v_before) * dt / inertia, MAX_RELAXATION)
    share = 0.5 - x / 12.0 if x < 0.01 else 1.0 / x - 1.0 / math.expm1(x)
    if x <= 0.0:
        share = 0.5
    return after + share * (before - after)


@kernel("int64(vector, vector, vector, vector)")
def mean_losses(inertia, dt, qd, losses):
    """Replace the friction at each sample of a log (T n) by its mean since the sample before."""
    n = U(inertia.size)
    for k in range(n):
        before = losses[k]
        for t in range(U(1), U(dt.size)):
            i = t * n + k
            after = losses[i]
            losses[i] = mean_loss(before, after, qd[i - n], qd[i], inertia[k], dt[t])
            before = after
    return 0


def usual_inertia(model: RobotModel) -> Array:
    """Return the inertia (n,) [kg m^2 or kg] of each joint in the middle of all ranges."""
    low, high = (np.where(np.isfinite(x), x, 0.0) for x in (model.q_min, model.q_max))
    middle = {"q": 0.5 * (low + high)}
    (M,) = evaluate(_mass_matrix, model, middle, [(model.n, model.n)])
    return np.asarray(np.maximum(np.diag(M), LEAST_INERTIA))


@kernel("int64(vector, vector, vector)")
def _friction(block, qd, tau):
    n = index(block[0])
    T = samples(n, U(qd.size))
    if T == 0 or tau.size != qd.size:
        return 1
    bad = 0.0
    for t in range(T):
        for k in range(n):
            v = qd[t * n + k]
            width = block[at.FRICTION_HEADER + at.WIDTH * n + k]
            s = math.tanh(v / width) if width > 0.0 else sharp_sign(v)
            tau[t * n + k] = friction_of_load(block, at.FRICTION_HEADER + k, n, s, v, 0.0)
            bad += 0.0 * v + 0.0 * tau[t * n + k]
    return 0 if bad == 0.0 else 1


def friction_torque(
    model: RobotModel, qd: ArrayLike, *, width: float = 0.0, load: ArrayLike | None = None
) -> Array:
    """Return the friction torque (n,) or (T, n) [N m or N] of steady sliding at qd.

        F_v qd + sign(qd) (F_c + (F_st - F_c) exp(-|qd| B) + F_l |load|) + F_o

    F_l is the model's `friction_load`, F_o its `friction_offset`.
    `width` [rad/s or m/s], for joints without a `friction_width`, replaces sign(qd) by
    tanh(qd / width), which a simulation can integrate; 0 keeps the step, with no dry friction at
    rest. load: torque that passes the gears, friction not included [N m or N].
    """
    shapes = [(model.n,)]
    tau = None
    if width == 0.0:
        try:
            tau = model.bound["friction_torque"](qd)
        except KeyError:
            packed = pack_friction(model)
            tau = bind_to(model, "friction_torque", _friction, 1, shapes, packed)(qd)
    elif not (isinstance(width, (int, float)) and 0.0 < width < math.inf):
        raise ArgumentError(f"width must be finite and not negative, got {width!r}")
    if tau is None:
        tau = evaluate(_friction, model, {"qd": qd}, shapes, pack_friction(model, width))[0]
    if load is not None and model.friction_load.any():
        s = steady_sign(model, qd, width)
        tau = tau + s * model.friction_load * np.abs(states_of(model, "load", load))
    return tau


def steady_sign(model: RobotModel, qd: ArrayLike, width: float = 0.0) -> Array:
    """Return s of steady sliding at qd, (n,) or (T, n); width: as for `friction_torque`."""
    widths = friction_rows(pack_friction(model, width))[int(at.WIDTH)]
    v = np.asarray(qd, dtype=np.float64)
    smooth = np.tanh(v / np.where(widths > 0.0, widths, 1.0))
    return np.where(widths > 0.0, smooth, np.sign(v))


def drive_friction(
    model: RobotModel, qd: ArrayLike, tau: ArrayLike, *, width: float = 0.0
) -> Array:
    """Return the friction torque (n,) or (T, n) [N m or N] of motors that give tau, at qd.

    The load is the torque that remains: inverse to `friction_torque` of a load.
    """
    known = friction_torque(model, qd, width=width)
    if not model.friction_load.any():
        return known
    tau = states_of(model, "tau", tau)
    share = steady_sign(model, qd, width) * model.friction_load
    return np.asarray(tau - (tau - known) / (1.0 + share * np.sign(tau - known)))


def friction_rate(model: RobotModel, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return the rate of `friction_torque` (n,) or (T, n) [N m/s or N/s], without its steps."""
    qd, qdd = checked(model, qd=qd, qdd=qdd)
    return finite(model, friction_slopes(model, qd)[0] * qdd, qd=qd, qdd=qdd)


def friction_slopes(model: RobotModel, qd: Array) -> tuple[Array, Array]:
    """Return first and second derivative of `friction_torque` by qd, (n,) or (T, n) each."""
    u = np.clip(qd, -model.friction_speed, model.friction_speed)
    B, inside = model.stribeck, np.abs(qd) <= model.friction_speed
    above = (model.stiction - model.coulomb) * np.exp(-np.abs(u) * B)
    fading = np.where(inside, -B * above * np.sign(u), 0.0)  # d above / d qd
    s, s1, s2 = steady_sign_slopes(model, qd)
    slope = np.where(inside, model.viscous, 0.0) + fading * s + (model.coulomb + above) * s1
    bending = np.where(inside, B**2 * above, 0.0) * s
    return slope, bending + 2.0 * fading * s1 + (model.coulomb + above) * s2


def steady_sign_slopes(model: RobotModel, qd: Array) -> tuple[Array, Array, Array]:
    """Return s of steady sliding and its two derivatives by qd, without the step of a sharp s."""
    s, width = steady_sign(model, qd), model.friction_width
    s1 = (1.0 - s**2) / np.where(width > 0.0, width, np.inf)
    return s, s1, -2.0 * s * s1 / np.where(width > 0.0, width, np.inf)


# Rows of a SlidingFriction: state s, previous velocity, whether there was one
S, BEFORE, BEGUN = U(0), U(1), U(2)


@kernel("int64(vector, matrix, vector, vector, float64, boolean, vector)")
def _slide(block, own, qd, tau, dt, driven, out):
    """Take a velocity after dt; write the friction under tau, which includes it if driven."""
    n = index(block[0])
    if qd.size != n or tau.size != n or out.size != n:
        return 1
    bad = 0.0
    for k in range(n):
        bad += 0.0 * qd[k] + 0.0 * tau[k]
    if bad != 0.0 or not dt > 0.0:
        return 1
    for k in range(n):
        f = at.FRICTION_HEADER + k
        begun = own[BEGUN, k] != 0.0
        own[S, k] = next_sign(block, f, n, own[S, k], own[BEFORE, k], begun, qd[k], dt)
        own[BEFORE, k], own[BEGUN, k] = qd[k], 1.0
        if driven:
            out[k] = friction_of_drive(block, f, n, own[S, k], qd[k], tau[k])
        else:
            out[k] = friction_of_load(block, f, n, own[S, k], qd[k], tau[k])
    return 0


class SlidingFriction:
    """Friction of the model sample by sample, with s as a state.

    width [rad/s or m/s]: for joints without a `friction_width`.
    """

    def __init__(self, model: RobotModel, width: float = WIDTH) -> None:
        self.model = model
        self.packed = pack_friction(model, positive("width", width))
        self._own, self._torque = np.zeros((3, model.n)), np.zeros(model.n)

    @property
    def s(self) -> Array:
        """State of dry friction (n,), from -1 to 1; a copy."""
        return self._own[int(S)].copy()

    def of_load(self, qd: Array, load: Array, dt: float) -> Array:
        """Return the friction (n,) [N m or N] at qd, dt after the last; load: without friction."""
        return self._take(qd, load, dt, False)

    def of_drive(self, qd: Array, tau: Array, dt: float) -> Array:
        """Return the friction (n,) [N m or N] at qd, dt after the last; tau: with friction."""
        return self._take(qd, tau, dt, True)

    def reset(self) -> None:
        """Forget the last sample: presliding begins anew."""
        self._own[:] = 0.0

    def _take(self, qd: Array, tau: Array, dt: float, driven: bool) -> Array:
        try:
            failed = _slide(self.packed, self._own, qd, tau, dt, driven, self._torque)
        except TypeError:
            qd, tau = (for_kernel(states_of(self.model, *x)) for x in (("qd", qd), ("tau", tau)))
            failed = _slide(self.packed, self._own, qd, tau, dt, driven, self._torque)
        if failed:
            raise ArgumentError(f"qd and tau must be {self.model.n} finite numbers, dt positive")
        return self._torque


@kernel("int64(vector, vector, vector, vector, vector)")
def friction_over_log(block, dt, qd, tau, out):
    """The same over a log: `out` (T n) gets the friction of motors that give tau (T n)."""
    n = index(block[0])
    T = U(dt.size)
    for k in range(n):
        s, f = 0.0, at.FRICTION_HEADER + k
        for t in range(T):
            i = t * n + k
            before = qd[i - n] if t > 0 else 0.0
            s = next_sign(block, f, n, s, before, t > 0, qd[i], dt[t])
            out[i] = friction_of_drive(block, f, n, s, qd[i], tau[i])
    return 0
