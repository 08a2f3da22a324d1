"""load_urdf against Pinocchio's model of the same text."""

import math
import re

import numpy as np
import pytest
from pinocchio_oracle import Oracle, pin, relative_error
from urdf_texts import (
    COUPLED,
    COUPLINGS,
    PAIR,
    TREE,
    TREE_JOINTS,
    bare,
    joint,
    limit,
    link,
    mimic,
    robot,
)

from robodyn_ros.errors import ArgumentError, ModelWarning, UrdfError
from robodyn_ros.model.checks import mass_matrix_by_jacobians, rotation_about
from robodyn_ros.model.urdf import load_urdf


def assert_same_dynamics(model, oracle, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(5):
        q = random.uniform(-2.0, 2.0, model.n)
        found = mass_matrix_by_jacobians(model, q)
        assert relative_error(found, oracle.mass_matrix(model.joint_names, q)) < 1e-10


def assert_same_as(model, other):
    """The mass matrix of one of Pinocchio's own models, whose joints are only reordered."""
    order = [other.joints[other.getJointId(name)].idx_v for name in model.joint_names]
    assert sorted(order) == list(range(other.nv))
    q = np.random.default_rng(3).uniform(-1.0, 1.0, other.nv)
    M = pin.crba(other, other.createData(), pin.integrate(other, pin.neutral(other), q))
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)]
    assert relative_error(mass_matrix_by_jacobians(model, q[order]), M) < 1e-10


def placements(model, q):
    """Rotation and place of every link in the base frame."""
    R, o = [], []
    for i, p in enumerate(model.parent):
        R_p, o_p = (np.eye(3), np.zeros(3)) if p < 0 else (R[p], o[p])
        x = model.ratio[i] * q[model.coordinate[i]] + model.offset[i]
        slide = model.axis[i] * (x if model.prismatic[i] else 0.0)
        turn = rotation_about(model.axis[i], 0.0 if model.prismatic[i] else x)
        o.append(o_p + R_p @ (model.place[i] + model.rotation[i] @ slide))
        R.append(R_p @ model.rotation[i] @ turn)
    R.append(np.eye(3))  # body -1: the base
    o.append(np.zeros(3))
    return {
        name: (R[f.body] @ f.rotation, o[f.body] + R[f.body] @ f.place)
        for name, f in model.frames.items()
    }


def assert_same_frames(model, oracle, seed=0):
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, model.n)
    for name, (rotation, place) in placements(model, q).items():
        R, p = oracle.placement(model.joint_names, q, name)
        np.testing.assert_allclose(rotation, R, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(place, p, atol=1e-12, err_msg=name)


# --- trees


def test_tree_of_every_joint_type():
    model = load_urdf(TREE)
    assert list(model.joint_names) == TREE_JOINTS
    assert model.link_names == ("trunk", "left_1", "left_2", "right_1", "right_2")
    assert model.parent.tolist() == [-1, 0, 1, 0, 3]
    assert model.prismatic.tolist() == [False, True, False, False, True]
    assert_same_dynamics(model, Oracle(TREE))


def test_every_link_has_its_frame():
    model = load_urdf(TREE)
    assert set(model.frames) == set(re.findall('<link name="(.*?)"', TREE))
    assert model.frames["world"].body == -1
    assert model.frames["base"].body == -1
    assert model.frames["mount"].body == 0
    assert_same_frames(model, Oracle(TREE))


def test_gravity_potential_is_pinocchios():
    """Mass and centre of mass of the moving bodies, which the mass matrix alone does not fix."""
    model = load_urdf(TREE, gravity=(1.0, 2.0, -9.0))
    oracle = Oracle(TREE)
    oracle.model.gravity.linear = np.array([1.0, 2.0, -9.0])
    energy = []
    for seed in range(2):
        q = np.random.default_rng(seed).uniform(-2.0, 2.0, model.n)
        full = oracle.configuration(model.joint_names, q)
        where = placements(model, q)
        ours = -sum(
            model.mass[i] * model.gravity @ (where[name][1] + where[name][0] @ model.com[i])
            for i, name in enumerate(model.link_names)
        )
        energy.append((ours, pin.computePotentialEnergy(oracle.model, oracle.data, full)))
    (a, A), (b, B) = energy
    assert a - b == pytest.approx(A - B, rel=1e-12)


def test_rows_come_depth_first_in_document_order():
    text = robot(
        *(link(name) for name in "abcde"),
        joint("to_e", "d", "e"),
        joint("to_c", "a", "c"),
        joint("to_b", "a", "b"),
        joint("to_d", "b", "d"),
    )
    assert load_urdf(text).joint_names == ("to_c", "to_b", "to_d", "to_e")


def test_axis_is_normalized_whatever_its_length():
    for length in ("0 0 1e-200", "0 0 1e8", "0 0 5"):
        text = robot(*PAIR).replace('axis xyz="0 0 1"', f'axis xyz="{length}"')
        assert load_urdf(text).axis.tolist() == [[0.0, 0.0, 1.0]]


def test_axis_defaults_to_x():
    text = robot(*PAIR).replace('<axis xyz="0 0 1"/>', "")
    assert load_urdf(text).axis.tolist() == [[1.0, 0.0, 0.0]]
    assert_same_dynamics(load_urdf(text), Oracle(text))


def test_axis_of_a_fixed_joint_means_nothing():
    fixed = joint("f", "a", "tool", "fixed", axis="0 0 0", more=limit(0, 0, 0, 0))
    assert load_urdf(robot(*PAIR, bare("tool"), fixed)).n == 1


def test_inertia_without_mass_counts():
    wheel = link("wheel", 0.0, inertia=(1.0, 1.0, 1.0))
    text = robot(*PAIR, wheel, joint("j2", "a", "wheel", "fixed"))
    alone = load_urdf(robot(*PAIR))
    assert load_urdf(text).mass.tolist() == alone.mass.tolist()
    assert load_urdf(text).com.tolist() == alone.com.tolist()
    # Pinocchio drops such a link, so the oracle is the trace, which no rotation changes.
    assert np.trace(load_urdf(text).inertia[0] - alone.inertia[0]) == pytest.approx(3.0)


def test_massless_frames_on_fixed_joints_are_normal(recwarn):
    text = robot(*PAIR, bare("tool"), joint("f", "a", "tool", "fixed"), bare("tcp"),
                 joint("g", "tool", "tcp", "fixed"))  # fmt: skip
    assert load_urdf(text, strict=True).mass.tolist() == [1.0]
    assert not recwarn.list


def test_inertia_is_judged_after_lumping():
    heavy = link("a", inertia=(5.0, 5.0, 5.0))
    flat = link("flat", 0.1, inertia=(0.1, 0.1, 1.0))  # 0.1 + 0.1 < 1: no such body
    parts = (bare("base"), heavy, joint("j1", "base", "a"), flat)
    load_urdf(robot(*parts, joint("j2", "a", "flat", "fixed")), strict=True)
    with pytest.warns(ModelWarning, match="'flat'") as caught:
        load_urdf(robot(*parts, joint("j2", "a", "flat")))
    assert caught[0].filename == __file__


# --- limits, friction, rotors


def test_limits():
    model = load_urdf(TREE)
    assert model.q_min.tolist() == [-math.inf, -0.5, -2.0, -2.0, -2.0]
    assert model.q_max.tolist() == [math.inf, 0.5, 2.0, 2.0, 2.0]
    assert model.tau_max.tolist() == [math.inf, 10.0, 7.0, 10.0, 10.0]
    assert model.qd_max.tolist() == [math.inf, 3.0, 4.0, 3.0, 3.0]
    assert model.continuous.tolist() == [True, False, False, False, False]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("", (-math.inf, math.inf, math.inf, math.inf)),
        ('<limit effort="2" velocity="3"/>', (-math.inf, math.inf, 3.0, 2.0)),
        ('<limit lower="-1" upper="1"/>', (-1.0, 1.0, math.inf, math.inf)),
        ('<limit upper="1" effort="0" velocity="0"/>', (0.0, 1.0, math.inf, math.inf)),
        ('<limit lower="-inf" upper="inf" effort="inf"/>', (-math.inf,) + 3 * (math.inf,)),
    ],
)
def test_missing_limits_do_not_limit(written, expected):
    model = load_urdf(robot(bare("base"), link("a"), joint("j1", "base", "a", more=written)))
    assert (model.q_min[0], model.q_max[0], model.qd_max[0], model.tau_max[0]) == expected


def test_friction():
    dynamics = '<dynamics damping="0.5" friction="0.25"/>'
    model = load_urdf(robot(bare("base"), link("a"), joint("j1", "base", "a", more=dynamics)))
    assert model.viscous.tolist() == [0.5]
    assert model.coulomb.tolist() == model.stiction.tolist() == [0.25]
    assert model.stribeck.tolist() == [0.0]


def transmission(joint_name, inside):
    return (
        f'<transmission name="t_{joint_name}"><type>SimpleTransmission</type>'
        f'<joint name="{joint_name}"><hardwareInterface>Effort</hardwareInterface></joint>'
        f'<actuator name="m">{inside}</actuator></transmission>'
    )


GEAR = '<drake:gear_ratio value="100"/><drake:rotor_inertia value="2e-4"/>'


@pytest.mark.parametrize("head", ["", ' xmlns:drake="http://drake.mit.edu"'])
@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        (GEAR, 2.0),
        ('<drake:rotor_inertia value="0.5"/>', 0.5),
        ('<drake:gear_ratio value="100"/>', 0.0),
        ("<mechanicalReduction>50</mechanicalReduction>", 0.0),
    ],
)
def test_rotor_inertia_of_a_transmission(head, inside, expected):
    model = load_urdf(robot(*PAIR, transmission("j1", inside), head=head))
    assert model.rotor_inertia[0] == pytest.approx(expected)


def test_rotor_inertia_inside_the_transmissions_joint():
    driven = f'<joint name="j1"><actuator>{GEAR}</actuator></joint>'
    text = robot(*PAIR, f'<transmission name="t">{driven}</transmission>')
    assert load_urdf(text).rotor_inertia[0] == pytest.approx(2.0)


def test_rotor_inertia_given_overrides():
    text = TREE.replace("</robot>", transmission("left_turn", GEAR) + "</robot>")
    assert load_urdf(text).rotor_inertia.tolist() == pytest.approx([0, 0, 2, 0, 0])
    assert load_urdf(text, rotor_inertia=0.1).rotor_inertia.tolist() == 5 * [0.1]
    assert load_urdf(text, rotor_inertia=range(5)).rotor_inertia.tolist() == [0, 1, 2, 3, 4]
    by_name = load_urdf(text, rotor_inertia={"turn": 0.3})
    assert by_name.rotor_inertia.tolist() == pytest.approx([0.3, 0, 2, 0, 0])


# --- mimic


def test_mimic_is_coupled():
    model = load_urdf(COUPLED)
    assert list(model.joint_names) == TREE_JOINTS
    assert len(model.link_names) == 7
    oracle = Oracle(COUPLED, mimic=COUPLINGS)
    assert_same_dynamics(model, oracle)
    assert_same_frames(model, oracle)


def test_mimic_is_pinocchios():
    """As Pinocchio itself couples joints, which it does for a leader that follows no other."""
    if pin.__version__.startswith("2."):
        pytest.skip("Pinocchio is older than 3")
    text = COUPLED.replace(mimic("finger_2", -0.5, 0.02), mimic("right_slide", -1.0, 0.3))
    model = load_urdf(text)
    assert_same_as(model, pin.buildModelFromXML(text, mimic=True))


def test_what_a_mimic_joint_adds_to_its_leader():
    dynamics = '<dynamics damping="0.5" friction="0.25"/>'
    text = robot(
        bare("base"), link("a"), joint("j1", "base", "a", more=limit() + dynamics), link("b"),
        joint("j2", "a", "b", more=limit(-0.1, 0.1, 1, 1) + dynamics + mimic("j1", -3.0)),
        transmission("j1", '<drake:rotor_inertia value="0.1"/>'),
        transmission("j2", '<drake:rotor_inertia value="0.2"/>'),
    )  # fmt: skip
    model = load_urdf(text)
    assert model.rotor_inertia.tolist() == pytest.approx([0.1 + 9 * 0.2])
    assert model.viscous.tolist() == pytest.approx([0.5 + 9 * 0.5])
    assert model.coulomb.tolist() == pytest.approx([0.25 + 3 * 0.25])
    assert (model.q_max[0], model.tau_max[0], model.qd_max[0]) == (2.0, 10.0, 3.0)
    assert load_urdf(text, rotor_inertia={"j2": 1.0}).rotor_inertia[0] == pytest.approx(9.1)


@pytest.mark.parametrize(
    ("kind", "ratio", "expected"),
    [("revolute", 2.0, True), ("revolute", 0.5, False), ("prismatic", 1.0, False)],
)
def test_a_leader_is_continuous_only_if_all_returns_after_a_turn(kind, ratio, expected):
    text = robot(
        bare("base"), link("a"), joint("j1", "base", "a", "continuous"),
        link("b"), joint("j2", "a", "b", kind, more=mimic("j1", ratio)),
    )  # fmt: skip
    assert load_urdf(text).continuous.tolist() == [expected]


# --- lock


def test_lock_at_positions():
    lock = {"left_slide": 0.3, "turn": -1.2}
    model = load_urdf(TREE, lock=lock)
    assert model.joint_names == ("left_turn", "right_turn", "right_slide")
    assert_same_dynamics(model, Oracle(TREE, locked=lock))
    assert_same_frames(model, Oracle(TREE, locked=lock))


def test_lock_is_pinocchios_reduced_model():
    model = load_urdf(TREE, lock=["left_slide", "right_turn"])
    full = pin.buildModelFromXML(TREE)
    locked = [full.getJointId(name) for name in ("left_slide", "right_turn")]
    reduced = pin.buildReducedModel(full, locked, pin.neutral(full))
    assert_same_as(model, reduced)


def test_lock_takes_one_name():
    assert load_urdf(TREE, lock="turn").joint_names == load_urdf(TREE, lock=["turn"]).joint_names


def test_a_locked_leader_locks_its_followers():
    model = load_urdf(COUPLED, lock={"right_slide": 0.4})
    assert list(model.joint_names) == TREE_JOINTS[:-1]
    assert not model.coupled
    derived = {"right_slide": 0.4, "finger_2": 0.9, "finger_1": -0.43}
    assert_same_dynamics(model, Oracle(COUPLED, locked=derived))
    assert_same_frames(model, Oracle(COUPLED, locked=derived))


def test_a_locked_follower_leaves_its_leader_free():
    model = load_urdf(COUPLED, lock={"finger_2": 0.2})
    assert list(model.joint_names) == TREE_JOINTS
    locked = {"finger_2": 0.2, "finger_1": -0.5 * 0.2 + 0.02}
    assert_same_dynamics(model, Oracle(COUPLED, locked=locked))


def test_a_follower_of_a_fixed_joint_stands_at_its_offset():
    text = TREE.replace(limit(-2, 2, 7, 4), limit(-2, 2, 7, 4) + mimic("to_mount", 3.0, 0.25))
    model = load_urdf(text)
    assert "left_turn" not in model.joint_names
    assert_same_dynamics(model, Oracle(TREE, locked={"left_turn": 0.25}))


@pytest.mark.parametrize("kind", ["floating", "planar", "spherical", "unknown"])
def test_other_joints_can_be_locked_or_left_above_the_root(kind):
    text = robot(bare("world"), *PAIR, joint("free", "world", "base", kind))
    locked = load_urdf(text, lock=["free"])
    assert locked.joint_names == ("j1",)
    fixed = robot(bare("world"), *PAIR, joint("free", "world", "base", "fixed"))
    np.testing.assert_array_equal(locked.rotation, load_urdf(fixed).rotation)
    assert load_urdf(text, root="base").joint_names == ("j1",)


# --- root and tip


def test_root_is_the_new_base():
    model = load_urdf(TREE, root="trunk")
    assert list(model.joint_names) == TREE_JOINTS[1:]
    assert "base" not in model.frames
    assert model.frames["trunk"].body == -1
    assert_same_dynamics(model, Oracle(TREE))


def test_tip_cuts_off_what_moves_beside_the_way():
    model = load_urdf(TREE, tip="left_tool")
    assert list(model.joint_names) == TREE_JOINTS[:3]
    assert "right_1" not in model.frames
    assert "right_2" not in model.frames
    assert_same_dynamics(model, Oracle(TREE, cut=["right_turn"]))


def test_tip_keeps_what_is_locked_beside_the_way():
    model = load_urdf(TREE, tip="left_tool", lock={"right_turn": 0.8})
    assert list(model.joint_names) == TREE_JOINTS[:3]
    assert "right_1" in model.frames
    assert "right_2" not in model.frames
    assert_same_dynamics(model, Oracle(TREE, locked={"right_turn": 0.8}, cut=["right_slide"]))


def test_tip_keeps_what_follows_a_locked_joint():
    lock = {"right_turn": 0.0, "right_slide": 0.4}
    model = load_urdf(COUPLED, tip="left_tool", lock=lock)
    assert {"finger_1", "finger_2"} <= set(model.frames)
    derived = {**lock, "finger_2": 0.9, "finger_1": -0.43}
    assert_same_dynamics(model, Oracle(COUPLED, locked=derived))


def test_root_and_tip():
    model = load_urdf(TREE, root="mount", tip="left_1")
    assert model.joint_names == ("left_slide",)
    assert set(model.frames) == {"mount", "left_1"}


def test_what_is_cut_away_is_not_judged():
    text = TREE.replace('"right_slide" type="prismatic"', '"right_slide" type="floating"')
    assert load_urdf(text, tip="left_tool").n == 3
    with pytest.raises(UrdfError, match="right_slide"):
        load_urdf(text)


# --- where it comes from


def test_path_text_and_bytes_are_one(tmp_path, monkeypatch):
    path = tmp_path / "robot.urdf"
    path.write_text(TREE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    declared = '<?xml version="1.0" encoding="UTF-16"?>' + TREE
    sources = [path, str(path), "robot.urdf", TREE.encode(), "\ufeff\n  " + TREE,
               b"\xef\xbb\xbf" + TREE.encode(), declared.encode("utf-16"), "\n " + declared,
               b"\n " + ('<?xml version="1.0"?>' + TREE).encode()]  # fmt: skip
    for source in sources:
        assert list(load_urdf(source).joint_names) == TREE_JOINTS


def test_nothing_is_printed_and_the_rest_of_a_urdf_is_passed_over(capfd):
    noise = """<!-- a comment --><material name="m"/><gazebo reference="a"><selfCollide/></gazebo>
        <ros2_control name="c"><joint name="j1"><param name="e"/></joint></ros2_control>
        <link name="b" type="x"><visual><geometry><mesh/><box size="1 x"/></geometry></visual>
        <collision/><collision/></link><unheard_of><link name="b"/></unheard_of>"""
    odd = joint("f", "a", "b", "fixed", more='<safety_controller soft="1"/><calibration/>')
    model = load_urdf(robot(*PAIR, noise, odd, head=' version="1.7" xmlns:xacro="x"'))
    assert set(model.frames) == {"base", "a", "b"}
    assert capfd.readouterr() == ("", "")


def test_gravity():
    assert load_urdf(TREE).gravity.tolist() == [0.0, 0.0, -9.81]
    assert load_urdf(TREE, gravity=(0, 9.81, 0)).gravity.tolist() == [0.0, 9.81, 0.0]
    for wrong in ((0, 0), (0, 0, math.nan), "down", None, 9.81):
        with pytest.raises(ArgumentError, match="gravity"):
            load_urdf(TREE, gravity=wrong)
