"""Invariance under numbering, place of the base, rotation of the frames, and unit of mass."""

import numpy as np
from dynamics_cases import as_tuple
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import close, random_rotation, random_state, random_tree

import robodyn_ros as rd

seeded = settings(max_examples=30, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)
trees = st.builds(random_tree, seeds, st.integers(1, 12), mimic=st.sampled_from([0.0, 0.3]))

PER_ROW = ("prismatic", "ratio", "offset", "axis", "rotation", "place", "mass", "com", "inertia")


def quantities(model, q, qd, qdd):
    """All quantities per joint, as (n,) and (n, n) arrays."""
    tau, rate = rd.force_rate(model, q, qd, qdd, q)
    return (
        rd.inverse_dynamics(model, q, qd, qdd),
        tau,
        rate,
        *rd.momentum_terms(model, q, qd),
        *rd.equations_of_motion(model, q, qd),
        rd.mass_matrix(model, q),
        rd.forward_dynamics(model, q, qd, tau),
        rd.ne_star(model, q, qd, qdd, qdd),
    )


def assert_same(model, other, seed, order=None, tolerance=1e-9):
    """The same quantities; joint k of the other robot is joint order[k] of the first."""
    order = np.arange(model.n) if order is None else order
    state = random_state(model, seed, 3)
    expected = quantities(model, *state)
    found = quantities(other, *(x[order] for x in state))
    for a, b in zip(as_tuple(found), as_tuple(expected), strict=True):
        close(a, b[order] if b.ndim == 1 else b[np.ix_(order, order)], tolerance)


@seeded
@given(trees, seeds)
def test_renumbering_bodies_and_joints(model, seed):
    random = np.random.default_rng(seed)
    # Any order with parents before children
    ready, rows = [i for i, p in enumerate(model.parent) if p < 0], []
    while ready:
        i = ready.pop(random.integers(len(ready)))
        rows.append(i)
        ready += [j for j, p in enumerate(model.parent) if p == i]
    number = {old: new for new, old in enumerate(rows)}
    order = random.permutation(model.n)  # new joint k was joint order[k]
    changes = {key: getattr(model, key)[rows] for key in PER_ROW}
    changes["parent"] = [number.get(int(model.parent[i]), -1) for i in rows]
    changes["coordinate"] = np.argsort(order)[model.coordinate[rows]]
    changes["link_names"] = tuple(model.link_names[i] for i in rows)
    changes["body_joint_names"] = tuple(model.body_joint_names[i] for i in rows)
    changes["joint_names"] = tuple(model.joint_names[k] for k in order)
    changes["rotor_inertia"] = model.rotor_inertia[order]
    changes["frames"] = {
        link: rd.Frame(number.get(f.body, -1), f.rotation, f.place)
        for link, f in model.frames.items()
    }
    other = model.replace(**changes)
    assert_same(model, other, seed, order)
    (q,) = random_state(model, seed, 1)
    for link in model.link_names:
        close(rd.jacobian(other, q[order], link), rd.jacobian(model, q, link)[:, order])


@seeded
@given(trees, seeds)
def test_turning_and_moving_the_base_with_gravity(model, seed):
    random = np.random.default_rng(seed)
    turn, shift = random_rotation(random), random.normal(scale=2.0, size=3)
    first = model.parent < 0
    rotation, place = model.rotation.copy(), model.place.copy()
    rotation[first] = turn @ rotation[first]
    place[first] = place[first] @ turn.T + shift
    moved = model.replace(rotation=rotation, place=place, gravity=turn @ model.gravity)
    assert_same(model, moved, seed)


@seeded
@given(trees, seeds)
def test_turning_the_frames_of_bodies(model, seed):
    random = np.random.default_rng(seed)
    turns = np.array([random_rotation(random) for _ in model.link_names])
    of_parent = np.array([turns[p] if p >= 0 else np.eye(3) for p in model.parent])

    def turned(vectors, by):
        return np.einsum("nji,nj->ni", by, vectors)

    other = model.replace(
        axis=turned(model.axis, turns),
        rotation=of_parent.transpose(0, 2, 1) @ model.rotation @ turns,
        place=turned(model.place, of_parent),
        com=turned(model.com, turns),
        inertia=turns.transpose(0, 2, 1) @ model.inertia @ turns,
    )
    assert_same(model, other, seed)


@seeded
@given(trees, seeds)
def test_moving_body_frames_along_their_axes(model, seed):
    """The origin of a joint's frame may be anywhere on the joint's axis."""
    random = np.random.default_rng(seed)
    shift = random.normal(size=(len(model.link_names), 1)) * model.axis  # in each body's frame
    place = model.place + np.einsum("nij,nj->ni", model.rotation, shift)
    for i, p in enumerate(model.parent):
        if p >= 0:
            place[i] -= shift[p]
    assert_same(model, model.replace(place=place, com=model.com - shift), seed)


@seeded
@given(trees, seeds, st.floats(1e-3, 1e3))
def test_heavier_robots_need_proportionally_more_torque(model, seed, s):
    heavier = model.replace(
        mass=s * model.mass, inertia=s * model.inertia, rotor_inertia=s * model.rotor_inertia
    )
    q, qd, qdd = random_state(model, seed, 3)
    tau = rd.inverse_dynamics(model, q, qd, qdd)
    close(rd.inverse_dynamics(heavier, q, qd, qdd) / s, tau)
    close(rd.forward_dynamics(heavier, q, qd, s * tau), qdd, 1e-8)
    for a, b in zip(
        rd.momentum_terms(heavier, q, qd), rd.momentum_terms(model, q, qd), strict=True
    ):
        close(a / s, b)


@seeded
@given(trees, seeds, st.floats(0.1, 10.0))
def test_faster_motion_scales_as_hollerbach_says(model, seed, s):
    """A motion s times as fast has s^2 the dynamic torque, s^3 its rate, and the same gravity."""
    q, qd, qdd, qddd = random_state(model, seed, 4)
    tau, rate = rd.force_rate(model, q, qd, qdd, qddd, gravity=False)
    fast = rd.force_rate(model, q, s * qd, s**2 * qdd, s**3 * qddd, gravity=False)
    close(fast[0] / s**2, tau)
    close(fast[1] / s**3, rate)
