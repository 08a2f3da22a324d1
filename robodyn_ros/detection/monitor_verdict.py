"""What a verdict says beside its level: why that is UNKNOWN, or where the arm is touched.

The same functions serve the monitor, sample by sample, and recordings (`recording/offline.py`).
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..dynamics.kinematics import forward_kinematics
from ..model.robot import RobotModel
from ..sensing.sample import Status
from . import monitor_step as at
from .detector import Level
from .effort_scale import scale_fault, scale_text
from .fault import HARMLESS_KINDS, JOINT_STOP, SENSOR_FREEZE, STOP_KINDS, Fault
from .isolation import Isolation
from .monitor_settings import MonitorSettings
from .noise import mean_noise
from .verdict import LEAST_FORCE, Ended, Verdict
from .wrench import external_wrench, followed_force

Array = npt.NDArray[np.float64]

NO_WRENCH = np.zeros(6)
TARING = "taring: the offset of the residual is averaged"
UNDECIDED = "not decided yet"
LIKELY_FORCE = 100.0  # [N], a contact's usual size: directions hardly felt give no larger one


def unknown_cause(
    found: int,
    value: float,
    joints: Sequence[str],
    *,
    status: int,
    dt: float,
    cause: str,
    late: bool,
    stuck_time: float | None = None,
) -> str:
    """Return why the level is UNKNOWN; empty: for the same reason as before.

    found: by `judge`, with its value: the scale of the effort or the number of the stuck joint.
    joints: their names. stuck_time [s]: for how long that joint has read the same, if it is known.
    The rest are fields of the sample.
    """
    if found == at.SCALED:
        return scale_text(value)
    if found == at.STUCK:
        reads = "reads the same"
        if stuck_time is not None:
            reads = f"has read the same for {stuck_time:.3g} s"
        return f"joint '{joints[int(value)]}' {reads} although its torque moves"
    if found == at.OVERFLOW:
        return "the momentum of the sample is not finite"
    if found == at.TARING:
        return TARING
    if cause:
        return cause
    if status == Status.RESTART:
        return "joint states begin anew"
    if found == at.UNSTUCK:
        return "a joint that was stuck reads something else"
    if found == at.GAP:
        return f"no sample for {dt:.3g} s"
    return "joint states were silent" if late else ""


def unknown_fault(
    found: int, value: float, joints: Sequence[str], kind: str, joint: str
) -> Fault | None:
    """Return the fault behind the level UNKNOWN, if there is one.

    found, value and joints as for `unknown_cause`; kind and joint: the fault of the sample.
    """
    if found == at.SCALED:
        return scale_fault(value)
    if found == at.STUCK:
        return Fault(SENSOR_FREEZE, joints[int(value)])
    return Fault(kind, joint) if kind else None


def located(
    verdict: Verdict,
    model: RobotModel,
    settings: MonitorSettings,
    q: Array,
    r: Array,
    answer: Isolation | None,
    ended: Isolation | None,
    stop: int,
) -> Verdict:
    """Return a verdict of a known level with link and wrench.

    answer: about the present contact, None: links are not named; ended: about one that is over;
    stop: the joint at its stop in the last contact, counted from 1, negative at the lower one.
    """
    joint = model.joint_names[abs(stop) - 1] if stop else ""
    if joint and (verdict.fault or verdict.level >= Level.CONTACT):  # a case outlasts its contact
        verdict = verdict._replace(fault=stop_fault(verdict.fault, joint))
    if ended is not None:
        size = math.nan if ended.force is None else float(np.linalg.norm(ended.force))
        told = Ended(ended.link or "", ended.name, ended.probability, size)
        verdict = verdict._replace(ended=told)
    if verdict.level < Level.CONTACT:
        link = settings.wrench_link
        wrench = chosen_wrench(model, settings, q, r) if link else NO_WRENCH
        return verdict._replace(wrench=wrench, wrench_link=link or model.link_names[-1])
    push: Array | None = None
    at_link = ""
    if joint:
        verdict = verdict._replace(link_cause=stop_text(joint, stop))
    elif answer is not None:
        name, cause = answer.name, answer.reason
        cause = cause or ("" if name else UNDECIDED)
        verdict = verdict._replace(
            link=answer.link or "", where=name, confidence=answer.probability, link_cause=cause
        )
        push, at_link = push_wrench(model, settings, q, r, answer), answer.link or ""
    if settings.wrench_link:
        push, at_link = chosen_wrench(model, settings, q, r), settings.wrench_link
    return verdict._replace(wrench=push, wrench_link=at_link)


def stop_fault(case: Fault | None, joint: str) -> Fault:
    """Return the fault to report for a joint at its stop; case: the cause named so far.

    A joint that swings freely ends at its stop: that name stays.
    """
    if case is None or case.kind in HARMLESS_KINDS:
        return Fault(JOINT_STOP, joint)
    held = case.kind in STOP_KINDS and case.joint == joint
    return Fault(JOINT_STOP, joint) if held else case


def stop_text(joint: str, stop: int) -> str:
    """Return which end of its range a joint has run into."""
    return f"{joint} at its {'upper' if stop > 0 else 'lower'} stop"


def push_wrench(
    model: RobotModel, settings: MonitorSettings, q: Array, r: Array, answer: Isolation
) -> Array | None:
    """Return the wrench (6,) [N, N m] of a push that was found, in the axes of its link.

    None if its force is not known, or if hardly anything of it is left.
    """
    if answer.link is None or answer.force is None or answer.place is None:
        return None
    variance = np.diag(mean_noise(model, settings, np.zeros(model.n)))
    force = followed_force(model, q, r, answer.link, answer.place, answer.force, variance)
    if math.hypot(*force) < LEAST_FORCE:
        return None
    F = forward_kinematics(model, q, answer.link)[:3, :3].T @ force
    return np.concatenate([F, np.cross(answer.place, F)])


def chosen_wrench(model: RobotModel, settings: MonitorSettings, q: Array, r: Array) -> Array:
    """Return the wrench (6,) [N, N m] that explains the residual on `wrench_link`, in its axes."""
    link, limit = settings.wrench_link, np.broadcast_to(settings.contact.base, (model.n,))
    # Far less than a threshold is noise
    weights = 1.0 / np.maximum(0.1 * limit, 1e-6)
    W = external_wrench(model, q, r, link, weights=weights, likely=LIKELY_FORCE)
    R_link = forward_kinematics(model, q, link)[:3, :3]
    return np.concatenate([R_link.T @ W[:3], R_link.T @ W[3:]])
