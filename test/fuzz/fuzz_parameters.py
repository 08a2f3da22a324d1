"""Parameter sets of a user: valid ones are accepted, others change nothing.

The rules below say again, by hand, what the documentation promises of each parameter; the code
under test is not asked.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from arm_rig import DT, Rig, rig
from fuzz_tools import ODD_NUMBERS, Verdict, expect, pick, random_of, time_limit
from rclpy.exceptions import ParameterNotDeclaredException
from rclpy.parameter import Parameter


class Number(NamedTuple):
    """One number in a range; `sure` is the part of it that is accepted whatever else is set."""

    low: float
    high: float
    sure: tuple[float, float]


class Each(NamedTuple):
    """One number for all joints, or one for each."""

    low: float
    high: float
    sure: tuple[float, float]


class Several(NamedTuple):
    """One to four numbers."""

    low: float
    high: float
    sure: tuple[float, float]


class Counted(NamedTuple):
    """As many numbers as one of `counts`; `drawn` are those accepted whatever else is set."""

    low: float
    high: float
    sure: tuple[float, float]
    counts: tuple[int, ...]
    drawn: tuple[int, ...]


class Text(NamedTuple):
    """Any text, or with `several` any list of texts: what it names is checked where it is used."""

    words: tuple[str, ...]
    several: bool = False


class Correlation(NamedTuple):
    """A single 0, or one number for each pair of the seven joints."""


class Choice(NamedTuple):
    """One of these words."""

    words: tuple[str, ...]


class Switch(NamedTuple):
    """True or false."""


class Names(NamedTuple):
    """A list of names of these."""

    known: tuple[str, ...]


SETS = 200  # of a case
JOINTS = tuple(f"joint_{k}" for k in range(1, 8))
LINKS = tuple(f"link_{k}" for k in range(1, 8))
INF = math.inf
GAIN = Each(1e-3, 1e4, (1.0, 400.0))
THRESHOLD = Each(0.0, INF, (0.5, 50.0))
ANSWER = Choice(("safe_hold", "continue", "disable"))
ANY_COUNT = tuple(range(10))  # how many a law needs is checked where the law is used
LIMIT = Counted(0.01, INF, (1.0, 50.0), (0, 1, 7), (1, 7))
GAINS = Counted(0.0, INF, (10.0, 100.0), (0, 1, 6, 7), (1, 7))
PAYLOAD = {
    "payload.link": Choice(("", *LINKS)),
    "payload.mass": Number(0.0, 1000.0, (0.0, 2.0)),
    "payload.com": Counted(-INF, INF, (-0.1, 0.1), (3,), (3,)),
    "payload.inertia": Counted(0.0, INF, (0.01, 0.02), (1, 3, 9), (1, 3)),
}
FOLLOWED = {
    **PAYLOAD,
    "payload.follow": Switch(),
    "payload.max_mass": Number(0.0, 1000.0, (1.0, 10.0)),
}
SENSING = {
    "sensing.max_age": Number(1e-3, 3600.0, (0.5, 2.0)),
    "sensing.max_lead": Number(1e-3, 3600.0, (0.2, 0.4)),
    "sensing.clock_reset": Number(0.01, 3600.0, (1.5, 3.0)),
    "sensing.lead_step": Number(1e-3, 3600.0, (0.05, 0.2)),
    "sensing.lead_samples": Number(1.0, 1e3, (2.0, 5.0)),
    "sensing.shift_time": Number(1e-3, 60.0, (0.1, 0.2)),
    "sensing.shift_tolerance": Number(1e-6, 60.0, (0.01, 0.02)),
    "sensing.default_speed": Number(1e-3, 1e9, (5.0, 20.0)),
    "sensing.same_place": Number(1e-6, 10.0, (0.05, 0.1)),
    "sensing.silence": Number(1e-3, 60.0, (0.02, 0.1)),
    "sensing.silence_periods": Number(1.0, 100.0, (2.0, 5.0)),
    "sensing.max_invalid": Number(0.0, 1e3, (0.0, 2.0)),
    "sensing.max_position": Number(1e-3, 1e9, (1e4, 1e5)),
    "sensing.max_velocity": Number(1e-3, 1e9, (1e2, 1e3)),
    "sensing.max_effort": Number(1e-3, 1e15, (1e6, 1e12)),
    "sensing.max_jump": Number(1e-6, 10.0, (0.02, 0.05)),
    "sensing.max_jump_receipt": Number(1e-6, 10.0, (0.05, 0.2)),
    "sensing.jump_samples": Number(1.0, 1e3, (2.0, 5.0)),
    "sensing.stuck_time": Number(1e-3, 10.0, (0.05, 0.1)),
    "sensing.stuck_samples": Number(1.0, 1e3, (3.0, 6.0)),
    "sensing.stuck_travel": Number(1e-6, 10.0, (0.005, 0.02)),
    "sensing.stuck_reference_travel": Number(1e-6, 10.0, (0.02, 0.05)),
    "sensing.stuck_torque_time": Number(1e-3, 10.0, (0.02, 0.05)),
    "sensing.stuck_torque_share": Number(0.01, 10.0, (0.4, 0.9)),
    "sensing.hand_over": Number(0.0, 60.0, (0.1, 0.5)),
    "sensing.blind_time": Number(0.01, 60.0, (0.5, 2.0)),
    "sensing.invalid_time": Number(0.01, 60.0, (0.1, 0.5)),
}
RULES: dict[str, dict[str, Any]] = {
    "dynamics_node": {
        **SENSING,
        **FOLLOWED,
        "heartbeat": Number(0.0, INF, (0.0, 0.1)),
        "effort.gain": Each(-1e6, 1e6, (0.9, 1.1)),
        "effort.offset": Each(-1e6, 1e6, (-0.1, 0.1)),
        "effort.side": Choice(("motor", "link")),
        "effort.gravity": Choice(("included", "removed")),
        "effort.friction": Choice(("none", "model")),
        "monitor.gain": GAIN,
        "monitor.debounce": Number(0.0, 1.0, (0.0, 0.05)),
        "monitor.hysteresis": Number(0.05, 1.0, (0.3, 0.9)),
        "monitor.release": Number(0.0, 10.0, (0.0, 0.1)),
        "monitor.settling": Number(0.0, 10.0, (0.0, 0.2)),
        "monitor.masked": Names(JOINTS),
        "monitor.force.contact": Number(0.0, 1e4, (0.0, 20.0)),
        "monitor.force.collision": Number(0.0, 1e4, (20.0, 100.0)),
        "monitor.force.link": Text(("", *LINKS)),
        "monitor.force.point": Counted(-10.0, 10.0, (-0.2, 0.2), (3,), (3,)),
        "monitor.drag.dry": Each(-INF, INF, (-1.0, 1.0)),
        "monitor.drag.viscous": Each(-INF, INF, (-1.0, 1.0)),
        "monitor.drag.speed": Number(1e-4, INF, (0.01, 0.1)),
        "monitor.drag.presliding": Each(0.0, INF, (0.0, 0.01)),
        "monitor.faults.enabled": Switch(),
        "monitor.faults.first": Number(0.3, 10.0, (0.3, 1.0)),
        "monitor.faults.period": Number(0.02, 1.0, (0.05, 0.2)),
        "monitor.faults.window": Number(0.5, 30.0, (1.0, 5.0)),
        "monitor.faults.lead": Number(0.5, 0.999, (0.6, 0.99)),
        "monitor.faults.close": Number(0.0, 10.0, (0.0, 1.0)),
        "monitor.faults.hold": Number(0.0, 60.0, (0.0, 5.0)),
        "monitor.faults.payload_time": Number(0.3, 10.0, (0.3, 1.0)),
        "monitor.contact.base": Each(0.0, INF, (0.5, 3.0)),
        "monitor.collision.base": Each(0.0, INF, (4.0, 50.0)),
        "monitor.contact.in_motion": THRESHOLD,
        "monitor.contact.per_velocity": THRESHOLD,
        "monitor.contact.per_acceleration": THRESHOLD,
        "monitor.collision.in_motion": THRESHOLD,
        "monitor.collision.per_velocity": THRESHOLD,
        "monitor.collision.per_acceleration": THRESHOLD,
        **{
            f"monitor.noise.{window}.{name}": rule
            for window in ("short", "long")
            for name, rule in {
                "window": Number(1e-3, 0.1, (0.01, 0.1)),
                "threshold": Number(0.0, INF, (0.0, 50.0)),
                "base": Each(1e-6, INF, (0.5, 3.0)),
                "in_motion": Each(-INF, INF, (0.5, 50.0)),
                "per_velocity": THRESHOLD,
                "per_acceleration": THRESHOLD,
                "at_rest": Each(0.0, INF, (0.0, 3.0)),
                "correlation": Correlation(),
            }.items()
        },
        "monitor.noise.rest_time": Number(1e-3, INF, (0.5, 3.0)),
        "monitor.noise.spike": Each(-INF, INF, (1.0, 1e6)),
        "monitor.noise.collision": Number(1.0, 1e3, (2.0, 4.0)),
        "monitor.noise.speed": Number(1e-4, INF, (0.01, 0.1)),
        "monitor.bias.rate": Number(0.0, 10.0, (0.0, 1.0)),
        "monitor.bias.limit": Each(0.0, INF, (0.5, 3.0)),
        "monitor.bias.start_limit": Each(0.0, INF, (0.5, 3.0)),
        "monitor.bias.start_time": Number(0.0, 10.0, (0.0, 0.3)),
        "monitor.bias.doubt": Number(0.0, 1.0, (0.3, 0.7)),
        "monitor.bias.quiet": Number(0.0, 10.0, (0.0, 0.1)),
        "monitor.isolation.lead": Number(1.0, 1e6, (1.0, 20.0)),
        "monitor.isolation.force": Several(1e-3, 1e5, (5.0, 100.0)),
        "monitor.isolation.cone": Several(1e-3, 10.0, (0.1, 1.0)),
        "monitor.isolation.any_direction": Number(0.0, 1.0, (0.0, 0.5)),
        "monitor.isolation.model_error": Number(0.0, 1.0, (0.05, 0.5)),
        "monitor.isolation.cross_talk": Number(0.0, 1.0, (0.0, 0.1)),
        "monitor.isolation.force_error": Number(0.0, 10.0, (0.1, 2.0)),
        "monitor.wrench_link": Choice(("", *LINKS)),
    },
    "controller_node": {
        **SENSING,
        **FOLLOWED,
        "detector_timeout": Number(0.0, INF, (0.02, 0.1)),
        "react_to": Choice(("contact", "collision")),
        "arm.controller": Choice(
            (
                *("passivity", "computed_torque", "pd_gravity", "pid"),
                *("task_space", "adaptive", "elastic"),
            )
        ),
        "arm.computed_torque": Choice(("tracking", "position", "predictive")),
        "arm.gravity_at": Choice(("measured", "desired")),
        "arm.task.link": Text(("", *LINKS)),
        "arm.task.point": Counted(-10.0, 10.0, (-0.2, 0.2), ANY_COUNT, (3,)),
        "arm.task.orientation": Switch(),
        "arm.task.null_damping": Number(0.1, 100.0, (1.0, 20.0)),
        "arm.task.v_max": Number(1e-3, 10.0, (0.1, 1.0)),
        "arm.task.a_max": Number(1e-2, 100.0, (0.5, 5.0)),
        "arm.task.w_max": Number(1e-3, 10.0, (0.2, 2.0)),
        "arm.task.alpha_max": Number(1e-2, 100.0, (1.0, 10.0)),
        "arm.adaptive.law": Choice(("slotine_li", "lu_meng", "craig")),
        "arm.adaptive.unknown": Text(
            ("payload", "payload.mass", "links", "friction", "rotors", "all", "joint_1.viscous"),
            several=True,
        ),
        "arm.adaptive.gain": Number(0.0, 1e6, (0.5, 2.0)),
        "arm.adaptive.link": Text(("", *LINKS)),
        "arm.adaptive.reach": Number(1e-3, 10.0, (0.05, 0.2)),
        "arm.adaptive.dead_zone": Number(0.0, math.pi, (0.0, 0.1)),
        "arm.elastic.stiffness": Counted(0.0, INF, (5e3, 2e4), ANY_COUNT, (1, 7)),
        "arm.elastic.damping": Counted(0.0, INF, (1.0, 20.0), ANY_COUNT, (1, 7)),
        "arm.elastic.measured": Choice(("torque", "motor")),
        **dict.fromkeys(("arm.kp", "arm.kd", "arm.ki", "arm.rate"), GAINS),
        "arm.frequency": Each(0.1, 1e3, (5.0, 40.0)),
        "arm.friction": Switch(),
        "arm.friction_observer": Number(0.0, 1e3, (0.0, 50.0)),
        "arm.torque_share": Number(0.01, 1.0, (0.6, 1.0)),
        "arm.tau_rate_max": Each(1.0, INF, (200.0, 5000.0)),
        "arm.qdd_max": LIMIT,
        "arm.scaling": Choice(("live", "strict")),
        "arm.catch_up": Number(1.0, 4.0, (1.0, 2.0)),
        "arm.reaction": Choice(("none", "stop", "float", "reflex", "admittance", "null_space")),
        "arm.reflex_gain": Each(0.0, 100.0, (0.5, 5.0)),
        "arm.admittance_gain": Each(1e-3, 100.0, (1.0, 10.0)),
        "arm.admittance_damping": Number(0.1, 100.0, (1.0, 20.0)),
        "arm.damping": Number(0.0, 100.0, (0.5, 10.0)),
        "arm.braking": Number(1.0, 100.0, (10.0, 50.0)),
        "arm.resume_after": Number(0.0, INF, (0.0, 1.0)),
        "arm.return_speed": Number(0.01, 1.0, (0.1, 0.5)),
        "arm.ramp": Number(0.01, 10.0, (0.2, 1.0)),
        "arm.start_tolerance": Number(0.0, 10.0, (0.05, 0.3)),
        "arm.error_max": Number(1e-3, 10.0, (0.3, 1.0)),
        "arm.timeout": Number(1e-3, 1.0, (0.01, 0.05)),
        "arm.rest_timeout": Number(0.01, 3600.0, (1.0, 10.0)),
        "arm.feedback_delay": Number(0.0, 10.0, (0.05, 0.2)),
        "arm.start_speed": Number(0.0, 100.0, (0.05, 0.3)),
        "arm.swing_time": Number(0.0, 10.0, (0.02, 0.1)),
        "arm.ramp_down_time": Number(0.0, 10.0, (0.3, 1.0)),
        "arm.disabled": Choice(("gravity", "zero")),
        **{
            f"arm.on_fault.{kind}": ANSWER
            for kind in (
                *("free_swinging", "effectiveness", "bias", "locked", "friction"),
                *("sensor_freeze", "effort_scale", "effort_sign", "payload"),
            )
        },
    },
    "simulator_node": {
        **PAYLOAD,
        "fault.kind": Choice(
            (
                *("none", "free_swinging", "effectiveness", "bias", "locked", "friction"),
                *("sensor_freeze", "encoder_freeze", "position_freeze", "velocity_freeze"),
                *("effort_scale", "effort_sign"),
            )
        ),
        "fault.joint": Text(("", *JOINTS)),
        "fault.value": Counted(-INF, INF, (0.1, 2.0), ANY_COUNT, (1,)),
        "command_timeout": Number(1e-3, INF, (0.05, 0.2)),
        "push_duration": Number(1e-3, INF, (0.05, 0.3)),
    },
}
# Right or not with others: one threshold over the other; a deviation at rest and a negative change
# of it in motion; pid and a friction that asks for more than a low frequency gives; two ways to
# compensate friction; a hand that the task-space law cannot move in all directions, and that law
# with frequencies that differ; what an adaptive law is told; a fault and its joint. A gain of 0 is
# in its range, and refused.
TOGETHER = (
    *("monitor.contact.base", "monitor.collision.base", "arm.controller", "arm.friction"),
    *("effort.gain", "monitor.force.contact", "monitor.force.collision"),
    *("monitor.noise.short.base", "monitor.noise.long.base", "arm.friction_observer"),
    *("arm.frequency", "arm.kp", "arm.kd", "arm.ki", "arm.rate", "arm.reaction"),
    *("arm.task.link", "arm.task.orientation", "arm.adaptive.law", "arm.adaptive.unknown"),
    *("arm.adaptive.link", "fault.kind", "fault.joint", "fault.value"),
)
FIXED = {
    "dynamics_node": ("robot.name", "robot.urdf", "effort.source"),
    "controller_node": ("robot.name", "rate", "lockstep", "sensing.stamps"),
    "simulator_node": ("robot.root", "rate", "plant.kind", "plant.start", "plant.seed"),
}
WORDS = ("", "x", "nan", "1.0", "joint_1", "joint_9", "true", "\u0000", "é" * 200)
LISTS: tuple[list[Any], ...] = (
    [],
    [""],
    ["x"],
    ["joint_1", "joint_9"],
    [True],
    [True, False],
    [1, 2],
    [-1],
    [0.1] * 3,
    [-0.1] * 3,
    [0.0] * 6,
    [1.0] * 8,
    [float("nan")],
    [1.0] * 6 + [float("inf")],
    [-1.0] * 7,
    [b"a", b"b"],
    [1e308] * 7,
)


def anything(random: Any) -> Any:
    """A value of any type that a parameter may have."""
    how = int(random.integers(6))
    if how == 0:
        return pick(random, ODD_NUMBERS)
    if how == 1:
        return pick(random, [0, 1, -1, 2**62, -(2**62)])
    if how == 2:
        return pick(random, WORDS)
    if how == 3:
        return bool(random.random() < 0.5)
    if how == 4:
        return list(pick(random, LISTS))
    return None


def right(random: Any, rule: Any) -> Any:
    """A value that must be accepted."""
    if isinstance(rule, Number):
        return float(random.uniform(*rule.sure))
    if isinstance(rule, Each):
        count = pick(random, [1, 7])
        return random.uniform(*rule.sure, count).tolist()
    if isinstance(rule, Several):
        return random.uniform(*rule.sure, int(random.integers(1, 5))).tolist()
    if isinstance(rule, Counted):
        return random.uniform(*rule.sure, pick(random, rule.drawn)).tolist()
    if isinstance(rule, Text):
        word = pick(random, rule.words)
        return [word] if rule.several else word
    if isinstance(rule, Correlation):  # small ones belong to a positive definite matrix
        return pick(random, [[0.0], random.uniform(-0.1, 0.1, 21).tolist()])
    if isinstance(rule, Choice):
        return pick(random, rule.words)
    if isinstance(rule, Switch):
        return bool(random.random() < 0.5)
    return list(random.permutation(rule.known)[: int(random.integers(1, 4))])


def border(random: Any, rule: Number | Each | Several) -> float:
    """A number at an end of the range, or the next one on either side of it; for a gain also just
    below and above one over the period, from which on it is too much.
    """
    ends = [end for end in (rule.low, rule.high) if math.isfinite(end)]
    if rule == GAIN and random.random() < 0.5:
        return pick(random, [0.99, 1.01]) / DT
    end = pick(random, ends)
    return pick(random, [end, math.nextafter(end, -INF), math.nextafter(end, INF)])


def verdict(rule: Any, value: Any) -> Verdict:
    """What must become of a value, by the rule alone."""
    if isinstance(rule, Switch):
        return Verdict.EITHER if isinstance(value, bool) else Verdict.BAD
    if isinstance(rule, Text):
        listed = value if isinstance(value, list) and rule.several else [value]
        fine = all(isinstance(x, str) for x in listed)
        return Verdict.EITHER if fine else Verdict.BAD
    if isinstance(rule, Correlation):
        zero = value in (0, 0.0, [0.0]) and not isinstance(value, bool)
        return Verdict.EITHER if zero else Verdict.BAD
    if isinstance(rule, Choice):
        return Verdict.EITHER if value in rule.words else Verdict.BAD
    if isinstance(rule, Names):
        listed = [value] if isinstance(value, str) else value
        fine = isinstance(listed, list) and all(x == "" or x in rule.known for x in listed)
        return Verdict.EITHER if fine else Verdict.BAD
    if isinstance(rule, Counted) and value in ("", [""]):  # ROS has no other empty list of a type
        return Verdict.EITHER if 0 in rule.counts else Verdict.BAD
    many = isinstance(value, list) and isinstance(rule, (Each, Several, Counted))
    listed = value if many else [value]
    counts = (1, 2, 3, 4) if isinstance(rule, Several) else (1, 7)
    if isinstance(rule, Counted):
        counts = rule.counts
    fine = len(listed) in counts and all(
        isinstance(x, (int, float))
        and not isinstance(x, bool)
        and math.isfinite(x)
        and rule.low <= x <= rule.high
        and (rule != GAIN or x * DT <= 1.0)
        for x in listed
    )
    return Verdict.EITHER if fine else Verdict.BAD


def one(random: Any, node: str) -> tuple[str, tuple[Any, Verdict]]:
    """A parameter of a node: its name, a value, and what must become of that."""
    how = random.random()
    if how < 0.06:
        return pick(random, FIXED[node]), (anything(random), Verdict.BAD)
    if how < 0.08:
        return f"{pick(random, WORDS)}.unknown", (1.0, Verdict.BAD)
    name = pick(random, list(RULES[node]))
    rule = RULES[node][name]
    if how < 0.6:
        expected = Verdict.EITHER if name in TOGETHER else Verdict.GOOD
        return name, (right(random, rule), expected)
    if how < 0.75 and isinstance(rule, (Number, Each)) and rule.low > -INF:
        value = border(random, rule)
    else:
        value = anything(random)
    return name, (value, verdict(rule, value))


def parameter_sets(seed: int, case: int, sets: int = SETS) -> dict[Verdict, int]:
    """Set parameters of an arm's nodes, again and again; how many were of which kind."""
    random = random_of(seed, "parameters", case)
    count = dict.fromkeys(Verdict, 0)
    with rig() as arm, time_limit(60.0):
        arm.excused = INF  # thresholds may be anything
        for k in range(sets):
            count[parameter_set(arm, random)] += 1
            if k % 4 == 0:
                arm.run(1)
    return count


def parameter_set(made: Rig, random: Any) -> Verdict:
    """Set some parameters of one node at once; what was expected of it."""
    node = pick(random, made.nodes)
    drawn = dict(one(random, node.get_name()) for _ in range(int(random.integers(1, 5))))
    parameters = [Parameter(name, value=value) for name, (value, _) in drawn.items()]
    verdicts = {expected for _, expected in drawn.values()}
    told = {name: value for name, (value, _) in drawn.items()}
    settings, before = node.settings, all_values(node)
    try:
        result = node.set_parameters_atomically(parameters)
        accepted, reason = result.successful, result.reason
    except ParameterNotDeclaredException as error:  # rclpy's own answer to an unknown name
        accepted, reason = False, str(error)
    if accepted:
        expect(Verdict.BAD not in verdicts, "accepted", told)
        expect(all_values(node) == {**before, **told}, "is not what was set:", told)
    else:
        expect(reason, "refused without a reason:", told)
        expect(verdicts != {Verdict.GOOD}, "refused", told, "because", reason)
        same = node.settings is settings and all_values(node) == before
        expect(same, "changed something although it refused", told)
    for worst in (Verdict.BAD, Verdict.EITHER):
        if worst in verdicts:
            return worst
    return Verdict.GOOD


def all_values(node: Any) -> dict[str, Any]:
    """Every parameter that rules are about, as the node tells it."""
    names = RULES[node.get_name()]
    return {name: node.get_parameter(name).value for name in names if node.has_parameter(name)}
