"""Parts of a ContactMonitor, made from its settings, the effort and the payload."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import per_joint
from ..model.robot import Payload, RobotModel
from ..model.surface import LinkSurfaces
from ..sensing.effort_settings import EffortSettings
from ..sensing.gap_compensation import GapCompensation
from ..settings import one_or_each
from .detector import CollisionDetector
from .effort_scale import EffortScale
from .faults.stream import FaultStream, Torque
from .force_thresholds import force_memory
from .isolation import ContactIsolator
from .link_naming import LinkDecisions
from .monitor_settings import MonitorSettings
from .noise import NoiseDetector, mean_noise
from .observer import MomentumObserver
from .payload_noise import payload_noise

Array = npt.NDArray[np.float64]


class Load(NamedTuple):
    """Payload in the observed model, and what tells how noisy it makes the residual."""

    payload: Payload | None
    doubt: Array  # (n,) by how much its weight may be off [N m or N]
    step: float  # [s] between samples when it was taken over; 0: not known
    speed_noise: Array  # (n,) standard deviation of the measured velocities [rad/s or m/s]


class Parts(NamedTuple):
    """What works with one set of settings."""

    settings: MonitorSettings
    effort: EffortSettings
    observer: MomentumObserver
    detector: CollisionDetector
    noise: NoiseDetector
    scale: EffortScale
    gap: GapCompensation
    links: LinkDecisions | None
    faults: FaultStream | None
    drag: Array  # (4, n): dry, viscous, presliding of the friction that the model lacks; zigzag

    def continue_from(self, other: "Parts") -> None:
        """Continue where the parts of other settings stand: nothing jumps."""
        self.observer.continue_from(other.observer)
        self.detector.continue_from(other.detector)
        self.noise.continue_from(other.noise)
        self.scale.continue_from(other.scale)
        self.gap.continue_from(other.gap)
        if self.links is not None and other.links is not None:
            self.links.continue_from(other.links)
        if self.faults is not None and other.faults is not None:
            self.faults.continue_from(other.faults)


class PartsMaker:
    """Makes the parts of one robot's monitor.

    surfaces: of the links; None: touched links are not named. commanded: the torque is the
    commanded one. faults: whether causes of contacts are named.
    """

    def __init__(
        self, model: RobotModel, surfaces: LinkSurfaces | None, *, commanded: bool, faults: bool
    ) -> None:
        self.model = model
        self._surfaces, self._commanded, self._with_faults = surfaces, commanded, faults
        self._link_side: RobotModel | None = None  # the model without rotors, once it is needed

    def parts(self, settings: MonitorSettings, effort: EffortSettings, load: Load) -> Parts:
        """Return all parts, or raise if the settings do not fit the robot."""
        model = self.model
        if settings.wrench_link:
            model.frame(settings.wrench_link)
        observer, detector, scale = self._loaded(settings, effort, load)
        noise = NoiseDetector(model, settings.noise, settings.bias)
        gap = GapCompensation(observer.gain)
        links = None if self._surfaces is None else decisions(model, settings, self._surfaces)
        faults = self._faults(settings, effort, detector.contact.base)
        names = ("dry", "viscous", "presliding")
        rows = [per_joint(model, f"drag.{x}", getattr(settings.drag, x)) for x in names]
        drag = np.array([*rows, per_joint(model, "noise.spike", settings.noise.spike)])
        return Parts(settings, effort, observer, detector, noise, scale, gap, links, faults, drag)

    def reloaded(self, parts: Parts, load: Load) -> Parts:
        """Return the parts with another payload, which continue where they stand, or raise."""
        observer, detector, scale = self._loaded(parts.settings, parts.effort, load)
        observer.continue_from(parts.observer)
        detector.continue_from(parts.detector)
        scale.continue_from(parts.scale)
        return parts._replace(observer=observer, detector=detector, scale=scale)

    def _loaded(
        self, settings: MonitorSettings, effort: EffortSettings, load: Load
    ) -> tuple[MomentumObserver, CollisionDetector, EffortScale]:
        """Return the parts that depend on the payload, which the observed model includes."""
        model = self.model
        observer = MomentumObserver(
            self._observed(effort.side, load.payload),
            one_or_each(settings.gain),
            _subtracts_friction(settings, effort),
            gravity_free=settings.gravity_free or effort.gravity == "removed",
        )
        added = self._payload_noise(observer, effort.side, load)
        detector = CollisionDetector(
            settings.contact.thresholds(model).above(added),
            settings.collision.thresholds(model).above(added),
            model,
            debounce=settings.debounce,
            hysteresis=settings.hysteresis,
            release=settings.release,
            settling=settings.settling,
            masked=settings.masked,
            force=force_memory(model, settings.force),
        )
        return observer, detector, EffortScale(model, detector.contact.base)

    def _faults(
        self, settings: MonitorSettings, effort: EffortSettings, limit: Array
    ) -> FaultStream | None:
        """Return what names the causes of contacts."""
        if not (self._with_faults and settings.faults.enabled):
            return None
        motor_side = self._commanded or effort.side == "motor"
        torque = Torque(self._commanded, motor_side, _subtracts_friction(settings, effort))
        return FaultStream(self.model, settings.faults, limit, torque)

    def _observed(self, side: str, payload: Payload | None) -> RobotModel:
        """Return the model that moves by the torque of this side, with a payload: sensors see no
        rotors.
        """
        model = self.model
        if side == "link" and model.rotor_inertia.any():
            if self._link_side is None:
                self._link_side = model.replace(rotor_inertia=0.0)
            model = self._link_side
        return model if payload is None else model.replace(payload=payload)

    def _payload_noise(self, observer: MomentumObserver, side: str, load: Load) -> Array:
        """Return what the payload adds to the noise of the residual (n,)."""
        if load.payload is None or load.step == 0.0:
            return np.zeros(self.model.n)
        empty = self._observed(side, None)
        noise = load.speed_noise
        added = payload_noise(empty, observer.model, observer.gain, load.step, noise)
        return np.asarray(np.hypot(added, load.doubt))


def _subtracts_friction(settings: MonitorSettings, effort: EffortSettings) -> bool:
    """Return whether the model's friction is subtracted from the torque."""
    return settings.friction or effort.friction == "model"


def decisions(
    model: RobotModel, settings: MonitorSettings, surfaces: LinkSurfaces
) -> LinkDecisions:
    """Return what decides on the touched link."""
    isolator = ContactIsolator(model, surfaces, settings.isolation)
    return LinkDecisions(isolator, lambda speed: mean_noise(model, settings, speed))
