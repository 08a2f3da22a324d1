"""Episodes of an arm whose messages go wrong: a mixture of all kinds, then it must recover."""

from __future__ import annotations

import numpy as np
from arm_rig import Rig, rig
from fuzz_messages import Sent, command, joint_state, push, trajectory, word
from fuzz_tools import random_of, time_limit

MESSAGES = 1000  # of an episode
KINDS = ("joint_states", "commands", "push", "joint_trajectory", "collision_state")


def episode(seed: int, case: int, messages: int = MESSAGES) -> dict[str, int]:
    """Send an arm messages that are wrong in every way; how many of each kind."""
    random = random_of(seed, "messages", case)
    # How many of a kind come in a period: in some episodes only one goes wrong, in others all do
    often = random.dirichlet(np.full(len(KINDS), 0.5)) * random.uniform(1.0, 5.0)
    count = dict.fromkeys(KINDS, 0)
    with rig() as arm, time_limit(60.0):
        while sum(count.values()) < messages:
            due = dict(zip(KINDS, random.poisson(often).tolist(), strict=True))
            period(arm, random, due)
            for kind in KINDS:
                count[kind] += due[kind]
            if random.random() < 0.01:
                arm.clear()
        arm.recover()
    return count


def period(made: Rig, random: np.random.Generator, due: dict[str, int]) -> None:
    """One period, in which so many messages of each kind go wrong."""
    arm, model = made.controller.arm, made.model
    for _ in range(due["commands"]):
        made.deliver_command(command(random, arm.tau, model.tau_max))
    for _ in range(due["push"]):
        made.deliver_push(push(random, list(model.link_names)))
    for _ in range(due["joint_trajectory"]):
        made.deliver_trajectory(trajectory(random, model.joint_names, arm.reference.q))
    for _ in range(due["collision_state"]):
        made.deliver_word(word(random, made.word))
    right: Sent = made.step()
    for _ in range(due["joint_states"]):
        made.deliver_state(joint_state(random, right.message, made.accepted))
    if not due["joint_states"] or random.random() < 0.3:
        made.deliver_state(right)
