"""The benchmark's fast loop is the plant's own step, and a corrected model is nearly the arm."""

import detection_runs as runs
import numpy as np
import pytest
from detection_runs import Arm, Run


@pytest.mark.parametrize("friction", [False, True])
def test_the_compiled_loop_gives_what_the_plant_gives_step_by_step(friction):
    model = runs.nominal("kuka_lwr4")
    motion = runs.random_motion(model, np.random.default_rng(1), 0.3)
    law = runs.controller(model, motion, friction=friction)
    fast, slow = (
        runs.simulate(
            law, runs.make_plant("rigid", model, motion, friction=friction), motion, touch
        )
        for touch in (None, lambda plant, k: None)
    )
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-12)
    assert np.abs(fast.tau).max() > 1.0


def test_what_is_left_of_the_residual_is_noise():
    """Means over 40 ms: the nominal model is off by tenths of N m, the corrected one is not."""
    arm = Arm("lwr_iii", 3)
    nominal, corrected = (
        runs.free_motion(Run(arm, "rigid", 5, 5.0, known))[1]
        for known in (runs.links_only("lwr_iii"), runs.known_model(arm))
    )
    assert np.all(corrected < nominal)
    assert corrected[1] < 0.5 * nominal[1]
