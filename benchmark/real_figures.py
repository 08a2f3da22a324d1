"""Figures of real arms: the plain method, the present one, and the bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from figures import Figure
from rich import box
from rich.table import Table

import robodyn_ros as rd

Array = np.ndarray
Spans = Sequence[tuple[float, float]]
COLLISION = 2.0  # collision thresholds over contact thresholds
MARGIN = 1.2  # of the plain method's thresholds


@dataclass(frozen=True)
class RealFigure(Figure):
    """One line of the table; `measured` is the present method."""

    today: str = "–"


def real_table(figures: Sequence[Figure], title: str) -> Table:
    """All figures beside the plain method and their bars."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("figure", "plain method", "now", "bar", "", "of what"):
        right = name in ("plain method", "now", "bar")
        table.add_column(name, justify="right" if right else "left")
    for figure in figures:
        verdict = "[green]passed[/]" if figure.passed else "[red]missed[/]"
        asked = "" if figure.bar.startswith("(") else verdict
        today = getattr(figure, "today", "–")
        table.add_row(figure.figure, today, figure.measured, figure.bar, asked, figure.note)
    return table


def todays_settings(
    model: rd.RobotModel,
    logs: Sequence[rd.Log],
    contacts: Sequence[Spans] = (),
    gain: float = 50.0,
    friction: bool = False,
) -> rd.MonitorSettings:
    """Thresholds of each joint, as `calibrate` finds them on free motion: no noise test, no bias.

    This is what the package did before it knew its noise.
    """
    settings = rd.MonitorSettings(gain=(gain,), friction=friction)
    r, qd = [], []
    for k, log in enumerate(logs):
        found = rd.detect(model, log, settings)
        free = found.level != rd.Level.UNKNOWN
        for begin, end in contacts[k] if contacts else ():
            free &= ~((found.t >= begin) & (found.t <= end))
        if free.any():
            r.append(found.r[free])
            qd.append(found.samples.qd[free])
    limit = rd.calibrate(r, qd, margin=MARGIN)
    contact, collision = (_settings(limit.scaled(x)) for x in (1.0, COLLISION))
    return replace(settings, contact=contact, collision=collision)


def _settings(limit: rd.Thresholds) -> rd.ThresholdSettings:
    low = np.maximum(limit.base, 1e-3)
    base, in_motion, per_velocity = (
        tuple(float(x) for x in row) for row in (low, limit.in_motion, limit.per_velocity)
    )
    return rd.ThresholdSettings(base, in_motion, per_velocity)


def scaled(settings: rd.MonitorSettings, factor: float) -> rd.MonitorSettings:
    """The settings with all thresholds times a factor."""

    def joint(limit: rd.ThresholdSettings) -> rd.ThresholdSettings:
        names = ("base", "in_motion", "per_velocity", "per_acceleration")
        return rd.ThresholdSettings(
            *(tuple(factor * x for x in getattr(limit, name)) for name in names)
        )

    noise = settings.noise
    short = replace(noise.short, threshold=factor * noise.short.threshold)
    long = replace(noise.long, threshold=factor * noise.long.threshold)
    return replace(
        settings,
        contact=joint(settings.contact),
        collision=joint(settings.collision),
        noise=replace(noise, short=short, long=long),
    )
