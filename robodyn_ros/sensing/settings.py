"""SensingSettings: every limit by which measured data is judged, with unit, range and meaning.

The nodes declare it as `sensing.*`; offline analysis takes the same object.
"""

from dataclasses import dataclass

from ..settings import check, setting


@dataclass(frozen=True)
class SensingSettings:
    """Limits for joint states."""

    # Time
    stamps: str = setting(
        "header",
        "time of a sample: the header's stamp, or the time of receipt",
        choices=("header", "receipt"),
        fixed=True,
    )
    max_age: float = setting(
        1.0, "reject stamps further behind the clock", "s", low=1e-3, high=3600.0
    )
    max_lead: float = setting(
        0.4, "reject stamps further ahead of the clock", "s", low=1e-3, high=3600.0
    )
    clock_reset: float = setting(
        2.0, "a stamp that steps back by more is a clock reset", "s", low=0.01, high=3600.0
    )
    lead_step: float = setting(
        0.1, "reject stamps whose lead grows by more at once", "s", low=1e-3, high=3600.0
    )
    lead_samples: float = setting(
        3.0, "accept a larger lead after this many such stamps", low=1.0, high=1e3
    )
    shift_time: float = setting(
        0.1, "accept a publisher's clock that is behind after this long", "s", low=1e-3, high=60.0
    )
    shift_tolerance: float = setting(
        0.02, "such a clock keeps the node's pace within this tolerance", "s", low=1e-6, high=60.0
    )
    silence: float = setting(
        0.02, "no joint state, or no command, for this long: silent", "s", low=1e-3, high=60.0
    )
    silence_periods: float = setting(
        3.0, "silence lasts at least this many sample periods", low=1.0, high=100.0
    )
    max_invalid: float = setting(
        2.0, "rejected messages in a row that are tolerated; more: UNKNOWN", low=0.0, high=1e3
    )
    # Values
    max_position: float = setting(1e5, "largest accepted position", "rad or m", low=1e-3, high=1e9)
    max_velocity: float = setting(
        1e3, "largest accepted velocity", "rad/s or m/s", low=1e-3, high=1e9
    )
    max_effort: float = setting(1e12, "largest accepted torque", "N m or N", low=1e-3, high=1e15)
    max_jump: float = setting(
        0.02,
        "reject steps longer than twice the speed limit allows, by this much",
        "rad or m",
        low=1e-6,
        high=10.0,
    )
    max_jump_receipt: float = setting(
        0.1, "max_jump where stamps are times of receipt", "rad or m", low=1e-6, high=10.0
    )
    default_speed: float = setting(
        10.0, "speed limit of joints that have none", "rad/s or m/s", low=1e-3, high=1e9
    )
    jump_samples: float = setting(
        3.0, "accept a jump after this many samples at the new place", low=1.0, high=1e3
    )
    same_place: float = setting(
        0.1,
        "largest distance between readings that agree after a jump",
        "rad or m",
        low=1e-6,
        high=10.0,
    )
    # Stuck readings
    stuck_time: float = setting(
        0.05, "a reading that stays the same this long may be stuck", "s", low=1e-3, high=10.0
    )
    stuck_samples: float = setting(
        3.0, "a stuck reading has been the same for this many samples", low=1.0, high=1e3
    )
    stuck_travel: float = setting(
        0.005,
        "stuck if the measured velocity meanwhile integrates to this",
        "rad or m",
        low=1e-6,
        high=10.0,
    )
    stuck_reference_travel: float = setting(
        0.02, "stuck if the reference meanwhile travels this far", "rad or m", low=1e-6, high=10.0
    )
    stuck_torque_time: float = setting(
        0.02, "stuck_time for the comparison with the commanded torque", "s", low=1e-3, high=10.0
    )
    stuck_torque_share: float = setting(
        0.5,
        "stuck if commanded torque and residual change by this share of the contact threshold",
        low=0.01,
        high=10.0,
    )
    # Commands and the driver
    hand_over: float = setting(
        0.4, "applied torque unknown for this long after command loss", "s", low=0.0, high=60.0
    )
    blind_time: float = setting(
        1.0, "stop commanding after this long without a joint state", "s", low=0.01, high=60.0
    )
    invalid_time: float = setting(
        0.2, "stop commanding after this long of rejected joint states", "s", low=0.01, high=60.0
    )

    def __post_init__(self) -> None:
        check(self)
