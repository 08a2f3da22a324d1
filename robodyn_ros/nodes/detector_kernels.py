"""The compiled kernels that a detector calls, and of these what other nodes need, too.

Nothing of the controller is imported here: that would take a detector a tenth of its start.
"""

from __future__ import annotations

from ..detection.contact_evidence import weigh_link
from ..detection.detector import forget_times
from ..detection.faults.case import follow_case, pause_case, restart_case
from ..detection.force_thresholds import follow_posture
from ..detection.monitor_step import follow_touch, judge, mark_joints, restart
from ..detection.noise import find_contact, restart_noise
from ..detection.observer import restart_observer, set_step
from ..dynamics.cpython_binding import builtin, framed
from ..dynamics.kinematics import _jacobian, _pose
from ..dynamics.mass_matrix import _mass_matrix
from ..sensing.effort import applied_torque
from ..sensing.stamps import is_silent, note_arrival, sample_time
from ..sensing.stuck import find_stuck, forget_readings
from ..sensing.validator import validate

MASS_MATRIX = (builtin, _mass_matrix, framed(_mass_matrix, 1, 1))
LINKS = (builtin, _jacobian, framed(_jacobian, 1, 1), _pose, framed(_pose, 1, 1))
SAMPLES = (validate, sample_time, note_arrival, is_silent, find_stuck, forget_readings)

DETECTOR = (
    judge, restart, set_step, restart_observer, forget_times, restart_noise, mark_joints,
    restart_case, *SAMPLES, applied_torque,
)  # fmt: skip
# That find link and cause of a contact; the mass matrix is for a payload, `find_contact` for the
# noise test
NAMES = (
    find_contact, follow_touch, follow_case, weigh_link, pause_case, follow_posture, *LINKS,
    *MASS_MATRIX,
)  # fmt: skip
