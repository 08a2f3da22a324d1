"""Rows 39 and 40: what the effort means; friction and noise without contact."""

import numpy as np
from fault_rig import Case, cases, copied, rig_of

import robodyn_ros as rd

MODEL = rd.robots.lwr_iii()
MEASURED = {"effort.source": "joint_states"}
START = 1000.0  # [s], of the clock of a rig


def behind_the_gears():
    """Return the change of a joint state to what joint torque sensors read: no rotors."""
    last = []

    def change(message):
        message, qd = copied(message), np.array(message.velocity)
        qdd = (qd - last[-1]) * 500.0 if last else 0.0 * qd
        last[:] = [qd]
        message.effort = (np.array(message.effort) - MODEL.rotor_inertia * qdd).tolist()
        return [message]

    return change


def without_gravity():
    """Return the change of a joint state to what a driver reports that takes gravity off."""

    def change(message):
        message = copied(message)
        g = rd.gravity_torque(MODEL, np.array(message.position))
        message.effort = (np.array(message.effort) - g).tolist()
        return [message]

    return change


def driver(change, right, **parameters):
    """With the right setting no contact is reported; with the wrong one it is not CLEAR."""

    def levels_with(settings):
        with rig_of(**MEASURED, **parameters, **settings) as rig:
            rig.states = change()
            rig.run(1.5)
            return {level for t, level, *_ in rig.reports if t > START + 0.3}

    def play():
        assert levels_with(right) == {"CLEAR"}
        assert levels_with({}) - {"CLEAR"}

    return play


def untouched(**parameters):
    """The arm has friction and its sensors noise; the model's friction is taken off: CLEAR."""
    plant = {"plant.friction": True, "plant.noise": True}
    law = {"effort.friction": "model", "arm.friction": True}

    def play():
        with rig_of(**MEASURED, **plant, **law, **parameters) as rig:
            rig.run(3.0)
            settled = [level for t, level, *_ in rig.reports if t > START + 0.3]
            assert set(settled) == {"CLEAR"}

    return play


LINK_SIDE = driver(behind_the_gears, {"effort.side": "link"}, demo_speed=1.0)
NO_GRAVITY = driver(without_gravity, {"effort.gravity": "removed"})
CASES = [
    Case(39, "torque sensors see no rotors", "right", LINK_SIDE),
    Case(39, "the driver removes gravity", "right", NO_GRAVITY),
    Case(40, "friction and noise at rest", "CLEAR", untouched(motion="none")),
    Case(40, "friction and noise in motion", "CLEAR", untouched()),
    Case(40, "friction and noise at full speed", "CLEAR", untouched(demo_speed=1.0)),
]


@cases(*CASES)
def test_effort(case):
    case.play()
