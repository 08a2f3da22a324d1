"""A real UR10e, recorded: quiet on free motion, and every push found."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.detector import CollisionDetector, Level
from robodyn_ros.detection.observer import residual
from robodyn_ros.detection.thresholds import calibrate

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "ur10e"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no recordings in {DATA}")

GAINS = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])  # [N m/A]
FREE = ["ur-20_01_31-unload", "ur-20_02_05-20sec_8harm", "ur-20_02_06-20sec_5harm"]
PUSHES = [(2.1, 3.1), (4.8, 6.0), (8.6, 9.7), (12.0, 13.1)]  # [s], as the recording's notes say
OBSERVER_GAIN, SETTLING = 20.0, 0.5


@pytest.fixture(scope="module")
def logs():
    """Time, velocity and residual of each recording, with the vendor's nominal model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.ModelWarning)
        model = rd.load_urdf(DATA / "ur10e.urdf")
    found = {}
    for name in [*FREE, "ur-20_01_22-push_pose_1"]:
        table = np.loadtxt(DATA / f"{name}.csv", delimiter=",")
        table = table[np.diff(table[:, 0], prepend=-np.inf) > 0.0]
        t, q, qd, current = (
            table[:, 0] - table[0, 0],
            table[:, 1:7],
            table[:, 7:13],
            table[:, 13:19],
        )
        r = residual(model, t, q, qd, current * GAINS, OBSERVER_GAIN)
        found[name] = (t, qd, r)
    return model, found


def watch(model, thresholds, log):
    """Times at which the detector speaks of contact."""
    t, qd, r = log
    detector = CollisionDetector(
        thresholds, thresholds.scaled(1.5), model, debounce=0.025, settling=SETTLING
    )
    levels = [detector.update(r[k], t[k] - t[k - 1], qd[k]).level for k in range(1, len(t))]
    return t[1:][np.array(levels) >= Level.CONTACT]


@pytest.mark.parametrize("held_out", FREE)
def test_quiet_on_the_third_motion_and_all_four_pushes_found(logs, held_out):
    model, found = logs
    used = [found[name] for name in FREE if name != held_out]
    settled = [(t > SETTLING) for t, _, _ in used]
    thresholds = calibrate(
        [r[s] for (_, _, r), s in zip(used, settled, strict=True)],
        [qd[s] for (_, qd, _), s in zip(used, settled, strict=True)],
    )
    assert watch(model, thresholds, found[held_out]).size == 0
    alarms = watch(model, thresholds, found["ur-20_01_22-push_pose_1"])
    for start, end in PUSHES:
        assert ((alarms >= start) & (alarms <= end)).any(), (start, end)


def test_fixed_thresholds_would_miss_pushes(logs):
    """Why they follow the motion: what is quiet in motion is deaf at rest."""
    _, found = logs
    fixed = np.max([np.abs(found[name][2]).max(axis=0) for name in FREE], axis=0)
    t, _, r = found["ur-20_01_22-push_pose_1"]
    alarms = t[(np.abs(r) > fixed).any(axis=1)]
    heard = [((alarms >= a) & (alarms <= b)).any() for a, b in PUSHES]
    assert not all(heard)
