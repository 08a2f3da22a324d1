"""The benchmark's fast loop is the plant's own step, and a corrected model is nearly the arm."""

import json
from types import SimpleNamespace

import detection_runs as runs
import numpy as np
import pytest
from checkpoint import Checkpoint
from detection_bench import Bench, Settings
from detection_runs import Arm, Run
from rich.console import Console


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


class EndedError(Exception):
    """A run is ended from outside."""


def ended_after(count):
    """Return a pool that ends after this many results."""

    def results(function, items, chunksize):
        for k, item in enumerate(items):
            if k == count:
                raise EndedError
            yield function(item)

    return SimpleNamespace(map=results)


def test_a_run_that_was_ended_goes_on_with_the_same_results():
    settings = Settings(("lwr_iii",), 1, "rigid", 0.0006, 8, 4, 1, 1, 1, 1, 1, 2.0, 0.6)
    whole = Bench(settings, Console(quiet=True), ended_after(None))
    kept = Checkpoint(None, {})
    for what in ("quiet", "told"):
        parts = [Bench(settings, Console(quiet=True), pool, kept) for pool in POOLS]
        for part in parts:
            part.fleet, part.levels = whole.fleet, whole.levels
        with pytest.raises(EndedError):
            getattr(parts[0], what)
        kept.state = json.loads(json.dumps(kept.state))
        assert repr(getattr(parts[1], what)) == repr(getattr(whole, what))
    assert len(whole.quiet) == 4 and len(whole.told) == 8


POOLS = [ended_after(1), ended_after(None)]
