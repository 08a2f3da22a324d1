"""RobotModel is immutable, and `replace` returns a changed copy."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from oracle import close, random_body, random_rotation, random_state, random_tree

import robodyn_ros as rd
from robodyn_ros.model.rigid_body import RigidBody


@pytest.fixture
def arm():
    return rd.robots.kuka_lwr4()


def torque(model, seed=0):
    return rd.inverse_dynamics(model, *random_state(model, seed, 3))


def arrays(model):
    for item in dataclasses.fields(model):
        value = getattr(model, item.name)
        if isinstance(value, np.ndarray):
            yield item.name, value


COPIES = {
    "itself": lambda model: model,
    "replaced": lambda model: model.replace(gravity=(0.0, 0.0, -1.6)),
    "pickled": lambda model: pickle.loads(pickle.dumps(model)),
    "deep copy": copy.deepcopy,
    "shallow copy": copy.copy,
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_nothing_can_be_changed(arm, copied):
    model = copied(arm)
    for name, array in arrays(model):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(model, name, array)


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_the_base_body_cannot_be_changed(arm, copied):
    body = copied(arm).base_body
    for array in (body.com, body.inertia):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_computing_leaves_the_packed_parameters_as_they_were():
    model = random_tree(2, 6)
    before = model.packed.copy()
    torque(model)
    rd.regressor(model, *random_state(model, 1, 3))
    rd.jacobian(model, *random_state(model, 2, 1), "l2")
    np.testing.assert_array_equal(model.packed, before)


def test_frames_cannot_be_changed():
    model = random_tree(2, 3)  # not one of the arms, which all tests share
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.frames["l2"].body = 1
    with pytest.raises(ValueError, match="read-only"):
        model.frames["l2"].place[0] = 1.0
    with pytest.raises(TypeError):
        model.frames["hand"] = model.frames["l2"]


def test_a_model_keeps_its_own_copy_of_what_it_was_made_of(arm):
    mass = arm.mass.copy()
    model = arm.replace(mass=mass)
    before = torque(model)
    mass[:] = 99.0
    np.testing.assert_array_equal(torque(model), before)


@pytest.mark.parametrize("copied", [v for k, v in COPIES.items() if k != "replaced"])
@pytest.mark.parametrize("used", [False, True])
def test_copies_compute_the_same_and_outlive_the_original(copied, used):
    model = random_tree(3, 6, mimic=0.4)
    expected = torque(random_tree(3, 6, mimic=0.4))
    if used:  # with kernels already bound to it
        torque(model)
    other = copied(model)
    del model
    np.testing.assert_array_equal(torque(other), expected)


def test_a_change_leaves_the_original_alone(arm):
    before = torque(arm)
    moon = arm.replace(gravity=(0.0, 0.0, -1.62))
    assert np.abs(torque(moon) - before).max() > 1.0
    np.testing.assert_array_equal(torque(arm), before)
    assert arm.gravity.tolist() == [0.0, 0.0, -9.81]


def test_payload_is_the_sum_of_two_bodies(arm):
    random = np.random.default_rng(1)
    held = random_body(random)
    turn, place = random_rotation(random), random.normal(scale=0.1, size=3)
    hand = rd.Frame(6, turn, place)
    model = arm.replace(frames={**arm.frames, "hand": hand})
    loaded = model.replace(payload=rd.Payload("hand", held.mass, held.com, held.inertia))

    # By its own weight and motion: a robot that is the payload alone on a massless arm.
    q, qd, qdd = random_state(arm, 1, 3)
    J = rd.jacobian(model, q, "hand", held.com)
    R = rd.forward_kinematics(model, q, "hand")[:3, :3]
    a = J @ qdd + rd.jacobian_rate_product(model, q, qd, "hand", held.com)
    w, inertia = J[3:] @ qd, R @ held.inertia @ R.T
    force = held.mass * (a[:3] - model.gravity)
    moment = inertia @ a[3:] + np.cross(w, inertia @ w)
    added = J.T @ np.concatenate([force, moment])
    close(torque(loaded, 1) - torque(model, 1), added, 1e-11)

    whole = model.body(6) + held.seen_from(turn, place)
    assert loaded.mass[6] == pytest.approx(whole.mass)
    close(loaded.com[6], whole.com, 1e-14)
    close(loaded.inertia[6], whole.inertia, 1e-14)
    assert loaded.mass[:6].tolist() == arm.mass[:6].tolist()


def test_a_payload_packs_like_a_robot_that_has_it_from_the_start(arm):
    """Only its body is packed anew; the kernels must not see a difference."""
    held = rd.Payload("link_4", 2.0, (0.0, 0.1, 0.2), 0.01)
    loaded = arm.replace(payload=held)
    built = dataclasses.replace(arm, mass=loaded.mass, com=loaded.com, inertia=loaded.inertia)
    np.testing.assert_array_equal(loaded.packed, built.packed)
    assert (loaded.packed != arm.packed).any() and not loaded.packed.flags.writeable
    assert loaded.bound is not arm.bound
    both = arm.replace(payload=held, gravity=0.0)
    np.testing.assert_array_equal(both.packed, loaded.replace(gravity=0.0).packed)


def test_a_payload_that_no_body_can_have_is_told(arm):
    with pytest.warns(rd.ModelWarning, match="link_7.*no distribution"):
        arm.replace(payload=rd.Payload("link_7", 0.1, inertia=(5.0, 0.1, 0.1)))


def test_a_payload_without_inertia_is_a_point(arm):
    one = arm.replace(payload=rd.Payload("link_7", 2.0, (0.0, 0.1, 0.2)))
    other = arm.replace(payload=rd.Payload("link_7", 2.0, (0.0, 0.1, 0.2), np.zeros((3, 3))))
    np.testing.assert_array_equal(torque(one), torque(other))
    assert np.abs(torque(one) - torque(arm)).max() > 1.0


def test_payloads_add_up(arm):
    half = rd.Payload("link_7", 1.0, (0.0, 0.0, 0.1))
    twice = arm.replace(payload=half).replace(payload=half)
    close(torque(twice), torque(arm.replace(payload=rd.Payload("link_7", 2.0, half.com))), 1e-12)


def test_hanging_from_the_ceiling_turns_the_gravity_torque_round(arm):
    (q,) = random_state(arm, 2, 1)
    up = arm.replace(gravity=(0.0, 0.0, 9.81))
    close(rd.gravity_torque(up, q), -rd.gravity_torque(arm, q), 1e-14)


def test_a_tilted_base_is_the_sum_of_two_fields(arm):
    (q,) = random_state(arm, 3, 1)
    s, c = np.sin(0.3), np.cos(0.3)
    fields = [(-9.81 * s, 0.0, -9.81 * c), (-9.81 * s, 0.0, 0.0), (0.0, 0.0, -9.81 * c)]
    tilted, level, upright = (rd.gravity_torque(arm.replace(gravity=g), q) for g in fields)
    close(tilted, level + upright, 1e-13)


def test_rotors_and_friction_are_one_number_for_all_or_one_each(arm):
    each = np.arange(1.0, 8.0)
    assert arm.replace(rotor_inertia=0.5).rotor_inertia.tolist() == [0.5] * 7
    assert arm.replace(rotor_inertia=each).rotor_inertia.tolist() == each.tolist()
    q, qd, qdd = random_state(arm, 4, 3)
    bare, with_rotors = (arm.replace(rotor_inertia=r) for r in (0.0, each))
    more = rd.inverse_dynamics(with_rotors, q, qd, qdd) - rd.inverse_dynamics(bare, q, qd, qdd)
    close(more, each * qdd, 1e-12)
    smooth = arm.replace(viscous=each, coulomb=0.0, stiction=0.0)
    close(rd.friction_torque(smooth, qd), each * qd, 1e-15)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weight": 3.0}, "weight"),
        ({"n": 3}, "'n'"),
        ({"rotor_inertia": [1.0, 2.0]}, r"rotor_inertia.*\(7,\)"),
        ({"gravity": [1.0, 2.0]}, r"gravity.*\(3,\)"),
        ({"mass": "heavy"}, "mass"),
        ({"gravity": None}, "gravity"),
        ({"gravity": np.nan}, "gravity"),
        ({"mass": -1.0}, "link_1.*mass"),
        ({"rotor_inertia": -1.0}, "joint_1.*rotor_inertia"),
        ({"coulomb": np.inf}, "joint_1.*coulomb"),
        ({"q_min": 1.0, "q_max": -1.0}, "joint_1.*limit"),
        ({"tau_max": 0.0}, "joint_1.*tau_max"),
        ({"parent": [0, 1, 2, 3, 4, 5, 6]}, "parent"),
        ({"parent": [-1, 0, 1, 2, 3, 4, 99]}, "parent"),
        ({"parent": [-1, 0, 1, 2, 3, 4, -3]}, "parent"),
        ({"coordinate": [0, 1, 2, 3, 4, 5, 7]}, "coordinate"),
        ({"joint_names": ("a", "b")}, "joint_names"),
        ({"axis": 0.0}, "axis"),
        ({"rotation": 2.0 * np.eye(3)}, "rotation"),
        ({"place": np.nan}, "finite"),
        ({"payload": rd.Payload("hand", 1.0)}, "no link 'hand'"),
        ({"payload": rd.Payload("base_link", 1.0)}, "base_link.*not move"),
        ({"payload": rd.Payload("link_7", -0.1)}, "payload|link_7"),
        ({"payload": rd.Payload("link_7", np.nan)}, "payload|link_7"),
        ({"payload": rd.Payload("link_7", 1.0, (0.0, 1.0))}, "payload.*com|com.*payload"),
        (
            {"payload": rd.Payload("link_7", 1.0, inertia=(1.0, 2.0))},
            "payload.*inertia|inertia.*payload",
        ),
        (
            {"payload": rd.Payload("link_7", 0.1, inertia=-1e-6 * np.eye(3))},
            "payload.*inertia|inertia.*payload",
        ),
    ],
)
def test_a_bad_change_is_refused(arm, changes, words):
    with pytest.raises(rd.RobodynError, match=words):
        arm.replace(**changes)


def test_an_impossible_inertia_is_warned_about(arm):
    inertia = arm.inertia.copy()
    inertia[6] = np.diag([1.0, 1.0, 3.0])
    with pytest.warns(rd.ModelWarning, match="link_7"):
        odd = arm.replace(inertia=inertia)
    odd.replace(gravity=(0.0, 0.0, -1.6))  # said before: another warning would be an error here
    odd.replace(payload=rd.Payload("link_7", 2.0, (0.0, 0.1, 0.2)))
    inertia[6] = np.diag([1.0, 1.0, 3.1])
    with pytest.warns(rd.ModelWarning, match=r"link_7.* 3\.1 kg"):
        odd.replace(inertia=inertia)
    inertia[5] = inertia[6]
    with pytest.warns(rd.ModelWarning) as caught:
        arm.replace(inertia=inertia).replace(mass=arm.mass)
    assert len(caught) == 2


def test_inertial_parameters_are_what_they_are_defined_as():
    model = random_tree(5, 7)
    found = model.inertial_parameters().reshape(7, 10)
    for i, row in enumerate(found):
        m, c = model.mass[i], model.com[i]
        about_origin = model.inertia[i] + m * (c @ c * np.eye(3) - np.outer(c, c))
        xx, xy, xz, yy, yz, zz = row[4:]
        close([m, *(m * c)], row[:4], 1e-14)
        close([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], about_origin, 1e-13)


def test_bodies_joined_and_moved_keep_their_mass_and_moments():
    random = np.random.default_rng(6)
    one, other = random_body(random), random_body(random)
    turn, place = random_rotation(random), random.normal(size=3)
    close(
        (one + other).seen_from(turn, place).inertia_about_origin(),
        one.seen_from(turn, place).inertia_about_origin()
        + other.seen_from(turn, place).inertia_about_origin(),
        1e-12,
    )
    nothing = RigidBody()
    assert (nothing + nothing).mass == 0.0
    close((one + nothing).inertia, one.inertia, 1e-14)


def test_it_prints_as_a_table_of_its_joints(arm):
    lines = str(arm).splitlines()
    assert lines[0].startswith("kuka_lwr4: 7 joints, 14.000 kg")
    for i in range(7):
        (line,) = [line for line in lines if line.startswith(f"joint_{i + 1} ")]
        assert f"link_{i + 1}" in line
        assert f"{arm.mass[i]:.3f}" in line
    assert repr(arm) == "<RobotModel 'kuka_lwr4': 7 joints, 14 kg moving>"
    tree = random_tree(3, 6, mimic=0.4)
    assert tree.coupled
    assert str(tree).count("mimic") == len(tree.link_names) - tree.n
    assert "prismatic" in str(tree)


def test_a_link_that_is_not_there_is_named(arm):
    with pytest.raises(rd.ArgumentError, match="no link 'hand'.*link_7"):
        arm.frame("hand")
