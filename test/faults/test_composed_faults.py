"""Rows 29, 33 and 34 with all nodes in one real process."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
from fault_processes import DEMO_NODES, arm_in_motion, blind_steps, ends_by, no_torque
from fault_rig import Case, cases

from robodyn_ros.control.arm_settings import ArmSettings
from robodyn_ros.control.supervisor import Supervisor
from robodyn_ros.model.robots import lwr_iii
from robodyn_ros.sensing.sample import Sample, Status, missing
from robodyn_ros.sensing.settings import SensingSettings

BUSY = "while True: pass"
FAST = 2000.0  # [Hz], more than there is time for
LATE = re.compile("periods missed|too slow")


def simulator_reset(log):
    """Free-running: a reset of the arm also resets the time."""
    simulated = {"use_sim_time": True}
    changes = {"simulator_node": {"free_running": True}}
    changes |= {"controller_node": simulated, "dynamics_node": simulated}
    with arm_in_motion(log, composed=True, **changes) as look:
        look.until(lambda: bool(look.stamps))
        before = look.stamps[-1]
        assert look.call("simulator_node/reset").success
        look.until(lambda: look.stamps[-1] < before)
        look.until(lambda: look.level == "CLEAR" and "UNKNOWN" in look.levels)
        assert look.levels == {"UNKNOWN", "CLEAR"}
        look.moves()


def both_cores_busy(log):
    """More work than cores: overruns are counted and reported, and no contact is."""
    changes = {node: {"rate": FAST} for node in DEMO_NODES}
    changes["simulator_node"] |= {"command_timeout": 1.0}
    # Low gains: late commands must not shake the arm into its joint stops, which is contact
    changes["controller_node"] |= {"arm.frequency": [6.0], "arm.braking": 6.0}
    changes["demo_node"] |= {"speed": 0.1}
    with arm_in_motion(log, composed=True, **changes) as look:
        cores = os.sched_getaffinity(0)
        burners = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(4)]
        try:
            for process in (*burners, *look.processes):
                move(process, {min(cores)})
            look.until(lambda: any(LATE.search(text) for text in look.messages.values()))
            look.references.clear()
            look.until(lambda: len(look.references) > 300)
            true_dt(look.references)
        finally:
            for burner in burners:
                burner.kill()
                burner.wait()
        assert look.levels <= {"UNKNOWN", "CLEAR"}
        move(look.processes[0], cores)
        look.moves()


def true_dt(references):
    """Expect the reference to advance by the samples' stamps, however late they arrive."""
    t, _, q, qd = (np.array(x) for x in zip(*references, strict=True))
    dt, way = np.diff(t), np.diff(q, axis=0)
    moving = (dt < 0.04) & (np.abs(qd[1:]).max(axis=1) > 0.01)
    assert moving.sum() > 100, dt
    expected = 0.5 * (qd[1:] + qd[:-1]) * dt[:, None]
    wrong = np.abs(way - expected)[moving].max(axis=1) / np.abs(expected)[moving].max(axis=1)
    assert np.median(wrong) < 0.01 and wrong.max() < 0.2, (np.median(wrong), wrong.max())


def move(process, cores):
    """Let all threads of a process run on these cores."""
    for thread in Path(f"/proc/{process.pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)


def ends(number):
    def play(log):
        with arm_in_motion(log, composed=True) as look:
            ends_by(look, number, 0)
            no_torque(look)

    return play


CASES = [
    Case(29, "reset, and /clock back", "Z", simulator_reset),
    Case(33, "both cores busy", "reported", both_cores_busy),
    Case(34, "SIGTERM, composed", "ramp", ends(signal.SIGTERM)),
    Case(34, "SIGINT, composed", "ramp", ends(signal.SIGINT)),
]


@cases(*CASES)
def test_composed(case, tmp_path):
    case.play(tmp_path / "nodes.log")


def test_the_measure_of_a_torque_step_is_exact():
    """A stall of 0.1 s, after which the watchdog runs before the plant, which catches up: between
    two stamps 2 ms apart the torque changes for two mean periods, and not for longer.
    """
    arm = Supervisor(lwr_iii(), ArmSettings(timeout=1.0), SensingSettings())
    q, rest = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5]), np.zeros(7)
    t, tau = [1000.0], [arm.update(Sample(1000.0, 0.0, q, rest, rest, Status.RESTART))]

    def sample(dt):
        t.append(t[-1] + dt)
        tau.append(arm.update(Sample(t[-1], dt, q, rest, rest, Status.OK)))

    for dt in [*100 * [0.002], 0.0022]:
        sample(dt)
    arm.ramp_down()
    sample(0.002)
    arm.update(missing(t[-1] + 0.1, 0.1, 7, Status.SILENT, "stalled"))
    sample(0.002)
    step, allowed = np.abs(tau[-1] - tau[-2]).max(), 1000.0 * blind_steps(np.array(t))[-1]
    assert 1000.0 * 0.004 < step <= allowed + 1e-6
    np.testing.assert_allclose(step, allowed, rtol=1e-3)
