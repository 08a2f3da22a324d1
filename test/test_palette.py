"""The palette under simulated colour blindness, and the contrast of its texts."""

import re
from itertools import combinations

import numpy as np
import pytest
from source_tree import ROOT, source_files

from robodyn_ros import palette

# Simulation of full colour blindness on linear RGB [Machado2009, table 1, severity 1]
SIGHT = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
LEVELS = [background for background, _ in palette.LEVEL_COLOURS.values()]
LEAST_DISTANCE = 20.0  # in CIELAB; 2.3 is just noticeable
LINES = (palette.BLUE, palette.ORANGE, palette.RED, palette.SKY, palette.INK)  # of one chart


def linear(colour):
    x = np.array(palette.rgb(colour)) / 255.0
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def lab(colour, sight):
    """Return CIELAB coordinates of a colour as such an eye sees it."""
    xyz = TO_XYZ @ np.clip(SIGHT[sight] @ linear(colour), 0.0, 1.0)
    x = xyz / TO_XYZ.sum(axis=1)
    f = np.where(x > (6 / 29) ** 3, np.cbrt(x), x * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, other):
    """Return the contrast ratio as WCAG 2 defines it."""
    light = sorted(float(TO_XYZ[1] @ linear(c)) + 0.05 for c in (one, other))
    return light[1] / light[0]


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("colours", [LEVELS, LINES], ids=["states", "lines"])
def test_colours_can_be_told_apart(colours, sight):
    for one, other in combinations(colours, 2):
        distance = np.linalg.norm(lab(one, sight) - lab(other, sight))
        assert distance > LEAST_DISTANCE, (one, other, distance)


def test_the_simulation_confuses_what_colour_blind_people_confuse():
    """Plain red and green of one lightness: far apart for most people, not with deuteranopia."""
    red, green = "#c0392b", "#4f7a28"
    usual, blind = (
        np.linalg.norm(lab(red, sight) - lab(green, sight)) for sight in ("usual", "deuteranopia")
    )
    assert usual > 60.0 and blind < LEAST_DISTANCE


def test_every_joint_has_a_line_of_its_own():
    lines = [palette.joint_line(k) for k in range(14)]
    assert len(set(lines)) == 14
    for a, b in combinations(range(7), 2):  # a dash tells those whose colours are close
        close = min(np.linalg.norm(lab(lines[a][0], s) - lab(lines[b][0], s)) for s in SIGHT)
        assert close > LEAST_DISTANCE or lines[a][1] != lines[b][1], (a, b, close)


def test_texts_can_be_read():
    for background, text in palette.LEVEL_COLOURS.values():
        assert contrast(background, text) > 4.5
    for text in (palette.INK, palette.SOFT, palette.RED, palette.GREEN, palette.AMBER):
        assert contrast(text, palette.PAPER) > 4.5
    for line in LINES:
        if line not in (palette.ORANGE, palette.SKY):  # dashed, or broad, with a word beside it
            assert contrast(line, palette.PAPER) > 3.0


def test_page_and_reports_take_their_colours_from_the_palette():
    """No colour is written as a number elsewhere in the package."""
    written = [
        (str(path), colour)
        for path in source_files()
        if path.parts[0] == "robodyn_ros" and path.suffix == ".py" and path.name != "palette.py"
        for colour in re.findall(
            r"(?<![\w&])#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b", (ROOT / path).read_text()
        )
    ]
    assert not written
