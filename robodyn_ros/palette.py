"""Colours and typefaces of the live page, the reports and the pictures.

Lines and states can be told apart with every kind of colour blindness (after Okabe and Ito, 2008);
`test/test_palette.py` measures it. No colour stands alone: words, dashes or widths say it, too.
"""

INK = "#1b2733"  # text
SOFT = "#55616e"  # text of less weight
LINE = "#dfe5ec"  # borders
GROUND = "#f3f5f8"  # behind panels
PAPER = "#ffffff"

BLUE = "#0072b2"
ORANGE = "#e69f00"
RED = "#c23b00"  # vermillion, dark enough for text on white
GREEN = "#00805f"  # bluish green
GREY = "#6b7785"
SLATE = "#3a4450"  # grey, dark enough beside green
SKY = "#56b4e9"
PINK = "#cc79a7"

# Background and text of each state of the detector
LEVEL_COLOURS = {
    "UNKNOWN": (SLATE, PAPER),
    "CLEAR": (GREEN, PAPER),
    "CONTACT": (ORANGE, INK),
    "COLLISION": (RED, PAPER),
}
AMBER = "#8a5a00"  # orange, dark enough for text on white
# Colour and dash of the thresholds, beside a solid blue residual
THRESHOLD_LINES = {"contact": (ORANGE, "5px 3px"), "collision": (RED, "11px 4px")}

# One per joint, and a dash as in SVG and plotly: two joints never share both
JOINT_COLOURS = (BLUE, ORANGE, GREEN, RED, SKY, INK, PINK)
JOINT_DASHES = ("solid", "5px 2px", "1px 2px", "9px 3px 2px 3px")

SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
MONO = "ui-monospace, Menlo, Consolas, monospace"


def joint_line(k: int) -> tuple[str, str]:
    """Return colour and dash of the k-th joint's line."""
    turn, colour = divmod(k, len(JOINT_COLOURS))
    return JOINT_COLOURS[colour], JOINT_DASHES[(colour + turn) % len(JOINT_DASHES)]


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue, 0 to 255, of '#rrggbb'."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue
