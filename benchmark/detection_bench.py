"""Bench: runs what the figures of `detection.py` need, each thing once, in several processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import detection_runs as runs
import numpy as np
from checkpoint import Checkpoint
from detection_pushes import Told, push_times, pushes
from detection_runs import Arm, Quiet, Run
from rich.console import Console
from rich.progress import track

import robodyn_ros as rd
from robodyn_ros.detection.thresholds import Thresholds, calibrate

# Thresholds are the larger of two. Noise decides the first: with 1.35 times the most that an hour
# shows, noise alone is expected to make 0.1 to 0.2 alarms in 100 hours of all arms together (see
# `bounds` in detection.py). What the model has wrong decides the second: it may oppose a push, of
# which half a threshold is left if rho is 1.5.
MARGIN = 1.35  # times the largest residual
OPPOSED = 2.2  # times its slow part, the largest mean over MEAN samples


@dataclass(frozen=True)
class Settings:
    """What is run, and how much of it."""

    robots: tuple[str, ...]
    seed: int
    plant: str
    hours: float  # without contact
    pushes: int
    steps: int  # noiseless ones
    arms: int  # of each robot, to try things on
    calibration_arms: int  # of each robot, to get thresholds from
    faults: int  # of each kind
    payloads: int
    calibration_motions: int  # of each arm
    seconds: float = 20.0  # of a motion with pushes
    free_seconds: float = 60.0  # of one without
    commanded: bool = False  # whether torque is known from the commands alone


class Bench:
    """Runs what the figures need, each thing once."""

    def __init__(
        self,
        settings: Settings,
        console: Console,
        pool: ProcessPoolExecutor,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.settings, self.console, self.pool = settings, console, pool
        self.checkpoint = checkpoint or Checkpoint(None, {})

    def map(self, what: str, function: Callable, items: list) -> list:
        """What the function makes of each."""
        if self.settings.commanded:
            what += ", commanded torque"
        results = self.pool.map(function, items, chunksize=1)
        return list(track(results, what, len(items), console=self.console))

    def map_once(self, what: str, function: Callable, items: list, read: Callable) -> list:
        """The same, but for what a checkpoint has already; read: makes a result of its JSON."""
        if self.settings.commanded:
            what += ", commanded torque"
        rows = self.checkpoint.state.setdefault(what, [])
        results = self.pool.map(function, items[len(rows) :], chunksize=1)
        for result in track(results, what, len(items), len(rows), console=self.console):
            rows.append(plain(result))
            self.checkpoint.save_now_and_then()
        self.checkpoint.save()
        return [read(row) for row in rows]

    def seeds(self, stage: int, count: int) -> list[int]:
        stage += 100 * self.settings.commanded
        words = np.random.SeedSequence([self.settings.seed, stage]).generate_state(count)
        return [int(word) for word in words]

    def arms(self, stage: int, count: int) -> list[tuple[Arm, rd.RobotModel]]:
        """So many arms of each robot, by turns, and what they are taken for."""
        robots, commanded = self.settings.robots, self.settings.commanded
        seeds = self.seeds(stage, count * len(robots))
        arms = [Arm(robots[i % len(robots)], seed, commanded) for i, seed in enumerate(seeds)]
        return list(zip(arms, self.map("models", runs.known_model, arms), strict=True))

    @cached_property
    def fleet(self) -> list[tuple[Arm, rd.RobotModel]]:
        """The arms that things are tried on."""
        return self.arms(4, self.settings.arms)

    def tries(self, stage: int, count: int, seconds: float, plant: str) -> list[Run]:
        """Runs of the fleet by turns, with motions of their own."""
        made = []
        for i, seed in enumerate(self.seeds(stage, count)):
            arm, known = self.fleet[i % len(self.fleet)]
            made.append(Run(arm, plant, seed, seconds, known, *self.levels[arm.robot]))
        return made

    @cached_property
    def levels(self) -> dict[str, tuple[Thresholds, Thresholds]]:
        """Of each robot, thresholds for the residual and for its mean, from arms not used again.

        They are fixed: behind the torque sensors there is no friction to follow.
        """
        settings = self.settings
        arms = self.arms(5, settings.calibration_arms) * settings.calibration_motions
        made = [
            Run(arm, "rigid", seed, settings.free_seconds, known)
            for (arm, known), seed in zip(arms, self.seeds(1, len(arms)), strict=True)
        ]
        peaks = self.map("thresholds", runs.free_motion, made)
        found = {}
        for robot in settings.robots:
            mine = [peak for run, peak in zip(made, peaks, strict=True) if run.arm.robot == robot]
            quick, slow = (np.array(part) for part in zip(*mine, strict=True))
            still = [np.zeros_like(quick)]
            fast = calibrate([quick], still, margin=MARGIN).base
            opposed = calibrate([slow], still, margin=OPPOSED).base
            noise = calibrate([slow], still, margin=MARGIN)
            found[robot] = Thresholds(np.maximum(fast, opposed)), noise
        return found

    @cached_property
    def quiet(self) -> list[Quiet]:
        """Motion without contact; always on the rigid plant, which is the fast one."""
        seconds = self.settings.free_seconds
        count = max(len(self.settings.robots), math.ceil(self.settings.hours * 3600.0 / seconds))
        made = self.tries(2, count, seconds, "rigid")
        return self.map_once("no contact", runs.false_alarms, made, read_quiet)

    @cached_property
    def told(self) -> list[Told]:
        seconds = self.settings.seconds
        count = math.ceil(self.settings.pushes / push_times(seconds).size)
        made = self.tries(3, count, seconds, self.settings.plant)
        lists = self.map_once("pushes", pushes, made, lambda rows: [Told(*row) for row in rows])
        return [one for many in lists for one in many][: self.settings.pushes]

    def told_of(self, kind: str) -> list[Told]:
        return [one for one in self.told if one.kind == kind]

    @cached_property
    def by_command(self) -> Bench:
        """A smaller bench of the robots with friction, torque known from the commands alone."""
        settings = self.settings
        robots = tuple(r for r in settings.robots if runs.nominal(r).coulomb.any())
        smaller = replace(
            settings,
            robots=robots,
            arms=settings.arms // 2,
            calibration_arms=settings.calibration_arms // 2,
            hours=settings.hours / 10.0,
            pushes=settings.pushes // 10,
            commanded=True,
        )
        return Bench(smaller, self.console, self.pool, self.checkpoint)


def plain(result: Any) -> Any:
    """The same as lists and numbers."""
    if isinstance(result, np.ndarray | np.generic):
        return result.tolist()
    return [plain(part) for part in result] if isinstance(result, list | tuple) else result


def read_quiet(row: list) -> Quiet:
    """A run without contact, from a checkpoint."""
    return Quiet(*row[:-1], np.array(row[-1]))
