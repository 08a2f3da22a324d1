"""Episodes of an arm with bad messages: a mixture of all kinds, then it must recover.

The arm differs from the model and has friction. In half of the episodes no input looks like a
contact: then every alarm is a false one; in the others the arm also has a fault or an unknown
payload for a while.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from arm_rig import BELIEVABLE, INJECTIONS, NOTHING, Rig, rig
from fuzz_messages import Sent, command, joint_state, push, trajectory, word
from fuzz_tools import pick, random_of, time_limit

MESSAGES = 1000  # of an episode
KINDS = ("joint_states", "commands", "push", "joint_trajectory", "collision_state")


class Course(NamedTuple):
    """Result of an episode."""

    sent: dict[str, int]  # messages of each kind
    tally: Counter[str]  # verdicts of the detector until the recovery: known, judged; thrown
    back: float  # [s], duration of the recovery


def episode(seed: int, case: int, messages: int = MESSAGES, noise: bool = False) -> Course:
    """Send an arm bad messages of all kinds; return the result."""
    random = random_of(seed, "messages", case)
    # Mean number of bad messages per period: in some episodes of one kind, in others of all
    often = random.dirichlet(np.full(len(KINDS), 0.5)) * random.uniform(1.0, 5.0)
    count = dict.fromkeys(KINDS, 0)
    alarming = case % 2 == 0
    fault = pick(random_of(seed, "faults", case), INJECTIONS)
    injections = [(0.2, fault), (0.5, NOTHING)]  # after these shares of the messages
    plant = {**BELIEVABLE, "plant.seed": case, "plant.noise": str(noise).lower()}
    with rig(**plant) as arm, time_limit(60.0):
        while (done := sum(count.values())) < messages:
            if alarming and injections and done > injections[0][0] * messages:
                arm.inject(injections.pop(0)[1])
            due = dict(zip(KINDS, random.poisson(often).tolist(), strict=True))
            period(arm, random, due, alarming)
            for kind in KINDS:
                count[kind] += due[kind]
            if random.random() < 0.01:
                arm.clear()
        tally = arm.tally.copy()
        back = arm.recover()
        tally["thrown"] = arm.tally["thrown"]
    return Course(count, tally, back)


def period(made: Rig, random: np.random.Generator, due: dict[str, int], alarming: bool) -> None:
    """Run one period with a number of bad messages of each kind."""
    arm, model = made.controller.arm, made.model

    def drawn(make: Callable[..., Sent], *args: Any) -> Sent:
        while (sent := make(random, *args)).alarms and not alarming:
            pass
        return sent

    for _ in range(due["commands"]):
        made.deliver_command(drawn(command, arm.tau, model.tau_max))
    for _ in range(due["push"]):
        made.deliver_push(drawn(push, list(model.link_names)))
    for _ in range(due["joint_trajectory"]):
        made.deliver_trajectory(drawn(trajectory, model.joint_names, arm.reference.q))
    for _ in range(due["collision_state"]):
        made.deliver_word(drawn(word, made.word))
    right: Sent = made.step()
    for _ in range(due["joint_states"]):
        made.deliver_state(drawn(joint_state, right.message, made.accepted))
    if not due["joint_states"] or random.random() < 0.3:
        made.deliver_state(right)
