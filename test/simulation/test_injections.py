"""Scheduled faults and payloads, on every plant: they begin, act and end when they should."""

import math

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.simulation.disturbances import KINDS, Fault, make_fault
from robodyn_ros.simulation.elastic import ElasticJointPlant
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.rigid import RigidPlant

MODEL = rd.robots.lwr_iii()
BENT = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5])
SPEED = np.array([0.1, -0.2, 0.1, 0.3, 0.1, 0.1, 0.1])
DT = 0.002
BEGIN, END = 0.02, 0.06  # [s]
JOINT, K = "joint_4", 3
PLANTS = {"rigid": RigidPlant, "elastic": ElasticJointPlant, "mujoco": MujocoPlant}
HELD = rd.Payload("link_7", 2.0, (0.0, 0.0, 0.1), 0.01)
MOVES = (  # faults that change the motion, not only the readings
    "free_swinging",
    "effectiveness",
    "bias",
    "locked",
    "friction",
)


def moving(kind):
    make = PLANTS[kind]
    options = {"damping": 200.0} if make is ElasticJointPlant else {}
    return make(MODEL, BENT, SPEED, **options)


def run(plant, until):
    """Return states and measurements until the time [s], with the weight carried."""
    found = []
    while plant.state.t < until - 1e-9:
        plant.step(rd.gravity_torque(MODEL, plant.state.q), DT)
        found.append((plant.state, plant.measurement))
    return found


@pytest.fixture(scope="module")
def healthy():
    return {kind: run(moving(kind), 0.1) for kind in PLANTS}


@pytest.mark.parametrize("plant_kind", PLANTS)
@pytest.mark.parametrize("kind", MOVES)
def test_a_fault_of_a_drive_begins_and_ends_on_time(plant_kind, kind, healthy):
    plant = moving(plant_kind)
    plant.schedule(make_fault(JOINT, kind), BEGIN, END - BEGIN)
    found, before = run(plant, 0.1), healthy[plant_kind]
    off = [abs(a.qd[K] - b.qd[K]) for (a, _), (b, _) in zip(found, before, strict=True)]
    first, last = round(BEGIN / DT), round(END / DT)
    assert max(off[:first]) == 0.0
    assert off[last - 1] > 1e-3
    assert not plant.faults and not plant.injections
    assert plant.motor_gain[K] == 1.0 and plant.motor_bias[K] == 0.0


@pytest.mark.parametrize("plant_kind", PLANTS)
@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(MOVES)))
def test_a_fault_of_a_reading_changes_nothing_else(plant_kind, kind, healthy):
    plant = moving(plant_kind)
    plant.schedule(make_fault(JOINT, kind), BEGIN, END - BEGIN)
    found = run(plant, 0.1)
    at = round(BEGIN / DT) - 1  # the last right reading, which a stuck one keeps
    kept = found[at][1]
    for k, ((state, seen), (true, right)) in enumerate(
        zip(found, healthy[plant_kind], strict=True)
    ):
        assert np.array_equal(state.q, true.q)
        expected = [right.q[K], right.qd[K], right.tau[K]]
        if at < k < round(END / DT):
            if kind in ("sensor_freeze", "encoder_freeze", "position_freeze"):
                expected[0] = kept.q[K]
            if kind in ("sensor_freeze", "velocity_freeze"):
                expected[1] = kept.qd[K]
            if kind == "encoder_freeze":
                expected[1] = 0.0
            expected[2] *= {"effort_scale": 0.1, "effort_sign": -1.0}.get(kind, 1.0)
        assert [seen.q[K], seen.qd[K], seen.tau[K]] == expected


@pytest.mark.parametrize("plant_kind", PLANTS)
def test_a_payload_is_gripped_and_released(plant_kind):
    plant = moving(plant_kind)
    plant.schedule(HELD, BEGIN, END - BEGIN)
    plant.schedule(rd.Payload("link_6", 0.5), BEGIN, 0.2)
    run(plant, BEGIN + DT)
    assert [held.mass for held in plant.payloads] == [2.0, 0.5]
    q = plant.state.q
    expected = MODEL.replace(payload=HELD).replace(payload=rd.Payload("link_6", 0.5))
    np.testing.assert_allclose(
        rd.gravity_torque(plant.model, q), rd.gravity_torque(expected, q), atol=1e-9
    )
    run(plant, END + DT)
    assert [held.mass for held in plant.acting] == [0.5]  # only the one that is over is released
    plant.reset()
    assert not plant.acting and not plant.injections and plant.model is plant.bare


def test_the_effort_of_all_joints_is_scaled_at_once(healthy):
    for kind, value in (("effort_scale", 1000.0), ("effort_sign", -0.5)):
        plant = moving("rigid")
        plant.schedule(Fault("", kind, value))
        seen = run(plant, 0.1)[-1][1]
        np.testing.assert_array_equal(seen.tau, value * healthy["rigid"][-1][1].tau)


def test_a_scheduled_fault_is_cancelled_whether_it_acts_or_not():
    plant = moving("rigid")
    waiting = plant.schedule(make_fault("joint_2", "bias"), 1.0)
    acting = plant.schedule(make_fault(JOINT, "bias"))
    run(plant, DT)
    assert plant.motor_bias[K] == 5.0
    plant.cancel(acting)
    plant.cancel(waiting)
    assert not plant.faults and not plant.injections and not plant.motor_bias.any()


def test_a_later_fault_of_the_same_joint_stands_after_the_end_of_the_first():
    plant = moving("rigid")
    plant.schedule(make_fault(JOINT, "bias", 3.0), 0.0, BEGIN)
    run(plant, DT)
    plant.fail(JOINT, "effectiveness", 0.3)
    run(plant, END)
    assert plant.faults[JOINT].kind == "effectiveness"
    assert plant.motor_gain[K] == 0.3


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda plant: plant.schedule(make_fault("joint_9", "bias")), "joint_9"),
        (lambda plant: plant.schedule(make_fault("", "bias")), "one joint"),
        (lambda plant: plant.schedule(make_fault("", "effort_sign", 2.0)), "negative"),
        (lambda plant: plant.schedule(rd.Payload("hand", 1.0)), "hand"),
        (lambda plant: plant.schedule(rd.Payload("link_7", -1.0)), "negative"),
        (lambda plant: plant.schedule(make_fault(JOINT, "bias"), 0.0, 0.0), "duration"),
        (lambda plant: plant.schedule(make_fault(JOINT, "bias", math.nan)), "finite"),
    ],
)
def test_a_wrong_injection_is_rejected_and_named(make, named):
    plant = moving("rigid")
    with pytest.raises(rd.ArgumentError, match=named):
        make(plant)
    assert not plant.injections
