"""A robot as a readable table."""

from __future__ import annotations

from .robot import RobotModel

HEADINGS = ("joint", "link", "parent", "type", "range", "effort", "speed", "rotor", "mass")


def summary(model: RobotModel) -> str:
    gravity = " ".join(f"{x:g}" for x in model.gravity)
    moving = model.mass.sum()
    masses = f"{moving:.3f} kg moving of {moving + model.base_body.mass:.3f} kg"
    return f"{model.name}: {model.n} joints, {masses}, gravity ({gravity}) m/s^2"


def rows(model: RobotModel) -> list[tuple[str, ...]]:
    """One row of text per moving body, under HEADINGS; all in SI units."""
    return [_row(model, i) for i in range(len(model.link_names))]


def _row(model: RobotModel, i: int) -> tuple[str, ...]:
    k = int(model.coordinate[i])
    joint, mass = model.body_joint_names[i], f"{model.mass[i]:.3f}"
    parent = "base" if model.parent[i] < 0 else model.link_names[model.parent[i]]
    kind = "prismatic" if model.prismatic[i] else "revolute"
    if joint != model.joint_names[k]:  # it follows another joint and has no limits of its own
        follows = f"{model.ratio[i]:.3g} x {model.joint_names[k]}"
        return joint, model.link_names[i], parent, kind + ", mimic", follows, "", "", "", mass
    span = f"{model.q_min[k]:.3g} … {model.q_max[k]:.3g}"
    if model.continuous[k]:
        span = "continuous"
    limits = (model.tau_max[k], model.qd_max[k], model.rotor_inertia[k])
    numbers = (f"{x:.3g}" for x in limits)
    return joint, model.link_names[i], parent, kind, span, *numbers, mass


def text(model: RobotModel) -> str:
    table = [HEADINGS, *rows(model)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join([summary(model), lines[0], "-" * max(map(len, lines)), *lines[1:]])
