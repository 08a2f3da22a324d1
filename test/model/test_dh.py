"""Denavit-Hartenberg tables, standard and modified."""

import numpy as np
import pytest
from oracle import close, random_body, random_rotation, random_state

import robodyn_ros as rd

PI_2 = np.pi / 2.0


def bodies(seed, count):
    random = np.random.default_rng(seed)
    found = [random_body(random) for _ in range(count)]
    return [{"mass": b.mass, "com": b.com, "inertia": b.inertia} for b in found]


def assert_same(one, other, seed=0):
    q, qd, qdd = random_state(one, seed, 3)
    close(rd.inverse_dynamics(one, q, qd, qdd), rd.inverse_dynamics(other, q, qd, qdd), 1e-12)


def test_both_conventions_describe_the_planar_arm():
    # Standard: frames at the links' ends, so the centres of mass lie behind them.
    l1, l2 = 0.8, 0.5
    inertia = [(0.01, 0.4, 0.4), (0.01, 0.2, 0.2)]
    standard = rd.from_dh(
        [
            {"a": l1, "mass": 10.0, "com": (-l1 / 2, 0.0, 0.0), "inertia": inertia[0]},
            {"a": l2, "mass": 5.0, "com": (-l2 / 2, 0.0, 0.0), "inertia": inertia[1]},
        ],
        gravity=(0.0, -9.81, 0.0),
    )
    modified = rd.from_dh(
        [
            {"mass": 10.0, "com": (l1 / 2, 0.0, 0.0), "inertia": inertia[0]},
            {"a": l1, "mass": 5.0, "com": (l2 / 2, 0.0, 0.0), "inertia": inertia[1]},
        ],
        convention="modified",
        gravity=(0.0, -9.81, 0.0),
    )
    assert_same(standard, modified)
    (q,) = random_state(standard, 1, 1)
    tip = rd.forward_kinematics(standard, q, "dh_2")[:3, 3]
    close(
        tip,
        [l1 * np.cos(q[0]) + l2 * np.cos(q.sum()), l1 * np.sin(q[0]) + l2 * np.sin(q.sum()), 0],
    )


def test_both_conventions_describe_a_spatial_arm_with_a_prismatic_joint():
    """A modified row takes a and alpha from the row before; bodies move with their frames."""
    a, alpha = [0.3, 0.0, 0.2, 0.0], [PI_2, -0.7, 0.4, 0.0]
    d, theta = [0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]
    prismatic = [False, True, False, True]
    inertial = bodies(2, 4)
    standard, modified = [], []
    for i in range(4):
        joint = {"d": d[i], "theta": theta[i], "prismatic": prismatic[i]}
        standard.append({"a": a[i], "alpha": alpha[i], **joint, **inertial[i]})
        # The end of link i seen from its joint's frame: Tx(a) Rx(alpha)
        c, s = np.cos(alpha[i]), np.sin(alpha[i])
        R = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        seen = {
            "mass": inertial[i]["mass"],
            "com": R @ inertial[i]["com"] + [a[i], 0.0, 0.0],
            "inertia": R @ inertial[i]["inertia"] @ R.T,
        }
        before = {"a": a[i - 1], "alpha": alpha[i - 1]} if i else {}
        modified.append({**before, **joint, **seen})
    one = rd.from_dh(standard)
    other = rd.from_dh(modified, convention="modified")
    assert_same(one, other)
    (q,) = random_state(one, 3, 1)
    # The last row's a and alpha are 0: there both frames are one.
    close(rd.forward_kinematics(one, q, "dh_4"), rd.forward_kinematics(other, q, "dh_4"), 1e-13)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_a_prismatic_joint_adds_to_d(convention):
    row = {"a": 0.2, "alpha": 0.3, "d": 0.5, "theta": 0.7, "prismatic": True, "mass": 1.0}
    model = rd.from_dh([row], convention=convention)
    longer = rd.from_dh([{**row, "d": 0.9}], convention=convention)
    here, there = (rd.forward_kinematics(m, [q], "dh_1") for m, q in ((model, 0.4), (longer, 0.0)))
    close(here, there, 1e-14)
    assert not model.continuous[0]


def test_turning_the_base_is_turning_gravity_back():
    R = random_rotation(np.random.default_rng(4))
    rows = [{"a": 0.3, "alpha": 0.5, **body} for body in bodies(4, 3)]
    turned = rd.from_dh(rows, base_rotation=R)
    level = rd.from_dh(rows, gravity=R.T @ [0.0, 0.0, -9.81])
    assert_same(turned, level)
    (q,) = random_state(turned, 5, 1)
    here, there = (rd.forward_kinematics(m, q, "dh_3") for m in (turned, level))
    close(here[:3], R @ there[:3], 1e-13)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_a_tree_is_made_of_its_branches(convention):
    rows = [{"a": 0.3, "alpha": 0.5, "d": 0.1, **body} for body in bodies(6, 4)]
    tree = rd.from_dh(
        [rows[0], rows[1], {**rows[2], "parent": 0}, {**rows[3], "parent": -1}],
        convention=convention,
    )
    assert list(tree.parent) == [-1, 0, 0, -1]
    (q,) = random_state(tree, 7, 1)
    M = rd.mass_matrix(tree, q)
    assert M[3, :3].tolist() == [0.0, 0.0, 0.0]
    assert M[1, 2] == 0.0
    branch = rd.from_dh([rows[0], rows[2]], convention=convention)
    close(
        rd.forward_kinematics(tree, q, "dh_3"),
        rd.forward_kinematics(branch, q[[0, 2]], "dh_2"),
        1e-14,
    )
    lone = rd.from_dh([rows[3]], convention=convention)
    close(M[3:, 3:], rd.mass_matrix(lone, q[3:]), 1e-13)


def test_rows_may_be_dicts_or_objects_and_carry_the_drives():
    drive = {
        "q_min": -1.0, "q_max": 2.0, "qd_max": 3.0, "tau_max": 4.0, "rotor_inertia": 0.5,
        "viscous": 0.6, "coulomb": 0.7,
    }  # fmt: skip
    row = {"mass": 1.0, "com": (0.1, 0.0, 0.0), **drive}
    for model in (rd.from_dh([row]), rd.from_dh([rd.DHRow(**row)])):
        for key, value in drive.items():
            assert getattr(model, key).tolist() == [value]
        assert not model.continuous[0]
        # One body on a wheel: its distance from the axis is what counts
        close(rd.mass_matrix(model, [0.0]), [[0.5 + 0.1**2]], 1e-14)
    assert rd.from_dh([{"mass": 1.0, "com": (0.1, 0.0, 0.0)}]).continuous[0]


def test_right_angles_are_exact():
    model = rd.from_dh([rd.DHRow(alpha=PI_2, mass=1.0, com=(1.0, 0.0, 0.0))] * 2)
    assert set(np.abs(model.rotation).ravel()) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([{"mass": 1.0, "lenght": 2.0}], {}, "row 1 has no lenght"),
        ([{"mass": 1.0}], {"convention": "craig"}, "convention.*craig"),
        ([{"mass": 1.0}, {"mass": 1.0, "parent": 1}], {}, "parent of DH row 2"),
        ([{"mass": 1.0, "parent": -2}], {}, "parent of DH row 1"),
        ([], {}, "no movable joint"),
        ([{"mass": 1.0}], {}, "joint_1.*no inertia"),  # a point on its own axis
        ([{"mass": -1.0, "com": (1.0, 0.0, 0.0)}], {}, "link_1.*mass"),
        ([{"mass": np.nan, "com": (1.0, 0.0, 0.0)}], {}, "link_1.*mass"),
        ([{"mass": 1.0, "com": (1.0, 0.0)}], {}, "com.*row 1|row 1.*com"),
        ([{"mass": 1.0, "inertia": (1.0, 2.0)}], {}, "inertia.*row 1|row 1.*inertia"),
        ([{"mass": 1.0, "inertia": np.triu(np.ones((3, 3)))}], {}, "inertia"),  # not symmetric
        ([{"mass": 1.0, "com": (1.0, 0.0, 0.0), "d": np.nan}], {}, "row 1|link_1"),
        ([{"mass": 1.0, "com": (1.0, 0.0, 0.0)}], {"gravity": (0.0, 1.0)}, "gravity"),
        ([{"mass": 1.0, "com": (1.0, 0.0, 0.0)}], {"base_rotation": 2 * np.eye(3)}, "rotation"),
    ],
)
def test_a_bad_table_is_refused(rows, options, words):
    with pytest.raises(rd.RobodynError, match=words):
        rd.from_dh(rows, **options)
