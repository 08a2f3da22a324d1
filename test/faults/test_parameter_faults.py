"""Rows 26 and 27: invalid parameters, and too many changes, while the arm moves."""

import time

import numpy as np
from fault_rig import Case, cases, rig_of

from robodyn_ros.control.arm_controller import Mode


def refused(which, says, **values):
    """Refused with the reason; the old value stays, the motion goes on."""

    def play():
        with rig_of() as rig:
            rig.run(0.2)
            node = {
                "detector": rig.detector,
                "controller": rig.controller,
                "simulator": rig.plant_node,
            }[which]
            names = [name.replace("__", ".") for name in values]
            settings, before = node.settings, [told(node, name) for name in names]
            verdict = rig.set(node, **values)
            assert not verdict.successful
            assert says in verdict.reason, verdict.reason
            assert node.settings == settings
            assert [told(node, name) for name in names] == before
            rig.run(0.2)
            assert rig.normal() and rig.mode is Mode.TRACKING

    return play


def told(node, name):
    """Return a parameter's value, as a client gets it."""
    value = node.get_parameter(name).value
    return value if isinstance(value, str) or not hasattr(value, "__len__") else list(value)


def changes_in_motion():
    """Laws, gains and thresholds: no flag, and no torque step (the rig looks at every one)."""
    with rig_of() as rig:
        rig.run_normally()
        rig.reports.clear()
        for k in range(60):
            law = ("passivity", "computed_torque", "pid", "pd_gravity")[k % 4]
            gain, share = 30.0 + 5.0 * (k % 9), 0.6 + 0.1 * (k % 4)
            changed = rig.set(rig.controller, arm__controller=law, arm__torque_share=share)
            assert changed.successful
            assert rig.set(rig.detector, monitor__gain=[gain], monitor__settling=0.1).successful
            rig.run(0.01)
        assert rig.levels == {"CLEAR"}
        assert rig.mode is Mode.TRACKING


def a_thousand_a_second():
    """Two at each of 500 samples; the loop stays what it was, and the processor has time left."""
    with rig_of() as rig:
        rig.run_normally()
        rig.reports.clear()
        spent = 0.0
        for k in range(500):
            begun = time.process_time()
            frequency = 30.0 + 0.01 * (k % 100)
            assert rig.set(rig.controller, arm__frequency=[frequency]).successful
            assert rig.set(rig.detector, monitor__gain=[50.0 + 0.01 * (k % 100)]).successful
            spent += time.process_time() - begun
            rig.step()
        assert rig.levels == {"CLEAR"} and rig.mode is Mode.TRACKING
        assert np.abs(rig.residuals[-1][1]).max() < 0.1
        assert spent < 2.0  # [s] of the processor's; 0.4 on a quiet machine, 1.3 on a busy one


def while_holding():
    """Two hundred changes a second in a safe hold: it lasts, and can be cleared meanwhile."""
    with rig_of() as rig:
        rig.run_normally()
        rig.controller.arm.safe_hold("told by the test")
        rig.run(0.4)
        rest = rig.plant_node.plant.state.q.copy()

        def changed(k):
            assert rig.set(rig.controller, arm__frequency=[30.0 + 0.01 * (k % 100)]).successful
            rig.run(0.005)

        for k in range(60):
            changed(k)
            assert rig.mode is Mode.SAFE_HOLD
        np.testing.assert_allclose(rig.plant_node.plant.state.q, rest, atol=1e-3)
        rig.clear()
        for k in range(20):
            changed(k)
        assert rig.normal()


def atomic():
    """Two at once, one of them bad: neither is taken."""
    with rig_of() as rig:
        rig.run(0.2)
        bad = rig.set(rig.detector, monitor__gain=[80.0], monitor__hysteresis=7.0)
        assert not bad.successful and "hysteresis" in bad.reason
        assert rig.detector.settings.monitor.gain == (50.0,)
        assert rig.detector.monitor.settings.gain == (50.0,)
        both = rig.set(rig.detector, monitor__contact__base=[3.0], monitor__collision__base=[6.0])
        assert both.successful
        assert rig.detector.monitor.settings.contact.base == (3.0,)


NAN = float("nan")
CASES = [
    Case(26, "negative gain", "R", refused("detector", "gain must be", monitor__gain=[-1.0])),
    Case(
        26,
        "negative threshold",
        "R",
        refused("detector", "base must be", monitor__contact__base=[-2.0]),
    ),
    Case(26, "NaN gain", "R", refused("detector", "finite", monitor__gain=[NAN])),
    Case(26, "NaN frequency", "R", refused("controller", "finite", arm__frequency=[NAN])),
    Case(26, "K dt > 1", "R", refused("detector", "must not exceed 1", monitor__gain=[600.0])),
    Case(26, "too stiff for the rate", "R",
         refused("controller", "must not exceed 1", arm__frequency=[600.0])),
    Case(26, "wrong length", "R", refused("detector", "7", monitor__gain=[1.0, 2.0])),
    Case(26, "wrong type", "R", refused("controller", "number", arm__frequency=["fast"])),
    Case(26, "wrong type, scalar", "R", refused("controller", "ramp must be", arm__ramp="soon")),
    Case(26, "unknown joint", "R", refused("detector", "elbow", monitor__masked=["elbow"])),
    Case(26, "unknown link", "R", refused("detector", "hand", monitor__wrench_link="hand")),
    Case(26, "unknown law", "R", refused("controller", "one of", arm__controller="magic")),
    Case(26, "negative rate", "R", refused("controller", "tau_rate", arm__tau_rate_max=[-1.0])),
    Case(26, "fixed one", "R", refused("detector", "read-only", sensing__stamps="receipt")),
    Case(26, "plant: negative timeout", "R",
         refused("simulator", "command_timeout must be", command_timeout=-1.0)),
    Case(26, "plant: NaN", "R", refused("simulator", "push_duration must be", push_duration=NAN)),
    Case(26, "plant: wrong type", "R", refused("simulator", "number", command_timeout="x")),
    Case(26, "plant: fixed one", "R", refused("simulator", "read-only", plant__kind="elastic")),
    Case(27, "changes in motion", "atomic", changes_in_motion),
    Case(27, "1000 a second", "atomic", a_thousand_a_second),
    Case(27, "in a safe hold", "atomic", while_holding),
    Case(27, "all or none", "atomic", atomic),
]  # fmt: skip


@cases(*CASES)
def test_parameters(case):
    case.play()
