"""Marker for RViz: the estimated contact force as an arrow at the touched link."""

from __future__ import annotations

from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from ..detection.detector import Level
from ..detection.monitor import Report
from .runtime import set_stamp

ARROW_SCALE = 0.01  # [m/N]
COLOURS = {Level.CONTACT: (1.0, 0.7, 0.0), Level.COLLISION: (0.9, 0.1, 0.1)}


def force_arrow(report: Report, t: float) -> MarkerArray:
    """Return an arrow that ends where the force acts; without contact, its deletion."""
    arrow = Marker(ns="contact_force", type=Marker.ARROW, action=Marker.DELETE)
    arrow.header.frame_id = report.link
    set_stamp(arrow.header.stamp, t)
    if report.state.level in COLOURS:
        arrow.action = Marker.ADD
        x, y, z = (-ARROW_SCALE * report.wrench[:3]).tolist()
        arrow.points = [Point(x=x, y=y, z=z), Point()]
        arrow.scale.x, arrow.scale.y, arrow.scale.z = 0.02, 0.05, 0.08
        arrow.color.r, arrow.color.g, arrow.color.b = COLOURS[report.state.level]
        arrow.color.a = 1.0
        arrow.pose.orientation.w = 1.0
    return MarkerArray(markers=[arrow])
