"""Samples: a log evenly sampled and filtered, as the regression takes it."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.signal import butter, sosfiltfilt

from ..dynamics import momentum_regressor as forms
from ..dynamics.regressor import regressor, rotor_columns
from ..errors import ArgumentError, one_of
from ..model.robot import RobotModel
from ..sensing.log import Array, Log, derivative

PER_PERIOD = 10  # samples kept per period of the cutoff: enough to draw it, and no more
EDGE = 1.0  # periods of the cutoff left out at both ends, where a filter guesses
USUAL_CUTOFF = 20.0  # [Hz]: arms move slower, and friction that turns round is not smeared much
METHODS = ("differences", "momentum")
ORDER = 4  # of the Butterworth filter; filtering forward and backward doubles it
MOVED = 0.02  # [rad or m]: a joint that does
MISSED = 0.5  # share of its way that its velocities may miss


@dataclass(frozen=True, eq=False)
class Samples:
    """A log as the regression takes it. `kept` are the samples that count; whatever has a memory,
    as dry friction has, is computed on all of them first.

    By 'differences' everything is filtered forth and back, and accelerations are central
    differences of the velocity. By 'momentum' only torques are filtered, by a first-order
    low-pass, for which the regressor needs no acceleration.
    """

    t: Array  # (T,) [s], evenly spaced
    q: Array
    qd: Array
    tau: Array  # filtered
    cutoff: float  # [Hz]
    method: str = "differences"
    name: str = ""

    @property
    def rate(self) -> float:
        """Samples per second."""
        return float((self.t.size - 1) / (self.t[-1] - self.t[0]))

    @cached_property
    def kept(self) -> slice:
        edge = int(EDGE * self.rate / self.cutoff)
        step = max(1, int(self.rate / (PER_PERIOD * self.cutoff)))
        return slice(edge, self.t.size - edge, step)

    @property
    def independence(self) -> float:
        """Share of independent samples: a signal of bandwidth f carries 2 f numbers a second."""
        return min(1.0, 2.0 * self.cutoff * (self.kept.step or 1) / self.rate)

    def filtered(self, x: Array) -> Array:
        """Return the kept samples of signals x (T, …), filtered as the torque was."""
        return _filtered(self.t, x, self.cutoff, self.rate, self.method)[self.kept]

    def regressor(self, model: RobotModel) -> Array:
        """Return the regressor (kept, n, 10 N + n) of standard parameters and rotors."""
        if self.method == "momentum":
            Y = forms.filtered_regressor(model, self.t, self.q, self.qd, self.cutoff)
            rotors = forms.filtered_rotor_columns(model, self.t, self.qd, self.cutoff)
            return np.concatenate([Y[self.kept], rotors[self.kept]], axis=-1)
        qdd = derivative(self.t, self.qd)[self.kept]
        Y = regressor(model, self.q[self.kept], self.qd[self.kept], qdd)
        return np.concatenate([Y, rotor_columns(model, qdd)], axis=-1)


def prepare(
    model: RobotModel, log: Log, cutoff: float | None = None, method: str = "differences"
) -> Samples:
    """Return a log filtered at cutoff [Hz]: by default a tenth of its rate, 20 Hz at most."""
    if log.n != model.n:
        raise ArgumentError(
            f"log '{log.name}' has {log.n} joints, robot '{model.name}' has {model.n}"
        )
    one_of("method", method, METHODS)
    _check_velocities(model, log)
    step = float(np.median(np.diff(log.t)))
    rate = 1.0 / step
    if cutoff is None:
        cutoff = min(USUAL_CUTOFF, 0.1 * rate)
    if not 0.0 < cutoff < 0.45 * rate:
        raise ArgumentError(
            f"cutoff must be positive and below 0.45 of the log's {rate:.4g} Hz, got {cutoff!r}"
        )
    t = np.arange(log.t[0], log.t[-1] + 0.5 * step, step)
    if t.size < 4.0 * rate / cutoff:
        raise ArgumentError(
            f"log '{log.name}' of {t[-1] - t[0]:.3g} s is too short for a cutoff of {cutoff:g} Hz"
        )
    q, qd, tau = (_evenly(t, log.t, x) for x in (log.q, log.qd, log.tau))
    if method == "differences":
        q, qd = (low_pass(x, cutoff, rate) for x in (q, qd))
    tau = _filtered(t, tau, cutoff, rate, method)
    return Samples(t, q, qd, tau, cutoff, method, log.name)


def _check_velocities(model: RobotModel, log: Log) -> None:
    """Velocities add up to the way: else columns are mixed up, or positions jump by a turn."""
    steps = 0.5 * np.diff(log.t)[:, None] * (log.qd[1:] + log.qd[:-1])
    way = np.vstack([np.zeros(log.n), np.cumsum(steps, axis=0)])
    t = np.column_stack([np.ones(log.t.size), log.t - log.t[0]])
    moved, missed = (  # an offset of the velocity is no mistake
        np.std(x - t @ np.linalg.lstsq(t, x, rcond=None)[0], axis=0) for x in (log.q, log.q - way)
    )
    wrong = (missed > MISSED * moved) & (moved > MOVED)
    if wrong.any():
        joint = model.joint_names[int(np.argmax(wrong))]
        raise ArgumentError(
            f"log '{log.name}': velocities of joint '{joint}' are not those of its positions; "
            "check which columns are q and qd, their units, and that positions do not jump by 2 pi"
        )


def _evenly(t: Array, times: Array, x: Array) -> Array:
    return np.column_stack([np.interp(t, times, column) for column in x.T])


def _filtered(t: Array, x: Array, cutoff: float, rate: float, method: str) -> Array:
    if method == "differences":
        return low_pass(x, cutoff, rate)
    return forms.low_pass(t, x, cutoff)


def low_pass(x: Array, cutoff: float, rate: float) -> Array:
    """Return x (T, ...) low-passed at cutoff [Hz] without delay; rate: samples per second."""
    return np.asarray(sosfiltfilt(_sections(cutoff, rate), x, axis=0))


@lru_cache(maxsize=8)
def _sections(cutoff: float, rate: float) -> Array:
    return np.asarray(butter(ORDER, cutoff, fs=rate, output="sos"))
