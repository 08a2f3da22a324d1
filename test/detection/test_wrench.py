"""Force and touched link from the residual alone."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.isolation import isolate
from robodyn_ros.detection.wrench import contact_point, external_wrench, force_doubt

ARM = rd.robots.kuka_lwr4()
Q = np.array([0.3, 0.7, -0.4, 1.1, 0.2, -0.8, 0.5])


@pytest.mark.parametrize("link", ["link_5", "link_7"])
def test_a_force_at_a_known_point_is_found(link):
    force, point = np.array([12.0, -20.0, 8.0]), (0.02, 0.05, 0.1)
    r = rd.jacobian(ARM, Q, link, point)[:3].T @ force
    found = external_wrench(ARM, Q, r, link, point, force_only=True)
    np.testing.assert_allclose(found, [*force, 0.0, 0.0, 0.0], atol=1e-9)


def test_what_no_joint_feels_is_left_out():
    """The first three axes meet in the shoulder: a force through it moves nothing."""
    force, point = np.array([12.0, -20.0, 8.0]), (0.02, 0.05, 0.1)
    J = rd.jacobian(ARM, Q, "link_3", point)[:3]
    found = external_wrench(ARM, Q, J.T @ force, "link_3", point)[:3]
    np.testing.assert_allclose(J.T @ found, J.T @ force, atol=1e-9)
    assert np.linalg.norm(found) < np.linalg.norm(force)


def test_force_and_torque_on_the_last_link():
    W = np.array([5.0, -3.0, 10.0, 0.4, -0.2, 0.1])
    r = rd.jacobian(ARM, Q, "link_7").T @ W
    np.testing.assert_allclose(external_wrench(ARM, Q, r, "link_7"), W, atol=1e-9)


def test_the_line_of_action_passes_through_the_contact():
    force, point = np.array([12.0, -20.0, 8.0]), (0.03, 0.02, 0.05)
    pose = rd.forward_kinematics(ARM, Q, "link_7")
    touched = pose[:3, :3] @ np.array(point) + pose[:3, 3]
    r = rd.jacobian(ARM, Q, "link_7", point)[:3].T @ force
    found = contact_point(ARM, Q, r, "link_7")
    np.testing.assert_allclose(found.force, force, atol=1e-8)
    assert abs(found.twist) < 1e-9
    off = np.cross(touched - found.point, force) / np.linalg.norm(force)
    assert np.linalg.norm(off) < 1e-9


def test_no_point_where_the_residual_cannot_tell():
    assert contact_point(ARM, Q, np.ones(7), "link_4") is None


def test_the_base_feels_nothing():
    with pytest.raises(rd.ArgumentError, match="base_link"):
        external_wrench(ARM, Q, np.ones(7), "base_link")


@pytest.mark.parametrize("number", range(1, 8))
def test_the_outermost_joint_that_feels_it_carries_the_touched_link(number):
    r = np.zeros(7)
    r[:number] = 6.0
    found = isolate(ARM, r, np.ones(7))
    assert found.link == f"link_{number}" and found.confidence > 0.9


def test_says_when_it_cannot_tell():
    assert isolate(ARM, np.full(7, 0.5), np.ones(7)).link is None
    weak = isolate(ARM, [9.0, 9.0, 1.2, 0.0, 0.0, 0.0, 0.0], np.ones(7))
    assert weak.link is None and "joint_3" in weak.reason


@pytest.mark.parametrize("link", ["link_4", "link_5", "link_7"])
def test_doubt_is_the_largest_error_that_noise_makes_of_a_force(link):
    """F = pinv(W J^T) W r: the largest deviation of F over all directions, by hand."""
    noise, point = np.array([1.0, 1.2, 0.6, 0.5, 0.2, 0.1, 0.05]), (0.02, 0.05, 0.1)
    J = rd.jacobian(ARM, Q, link, point)[:3]
    columns = [
        external_wrench(ARM, Q, r, link, point, force_only=True, weights=1.0 / noise)[:3]
        for r in np.diag(noise)
    ]
    covariance = np.array(columns).T @ np.array(columns)
    largest = np.sqrt(np.linalg.eigvalsh(covariance)[-1])
    assert force_doubt(ARM, Q, link, point, noise=noise) == pytest.approx(largest, rel=1e-9)
    moving = [k for k in range(7) if J[:, k].any()]
    by_svd = 1.0 / np.linalg.svd(J[:, moving] / noise[moving], compute_uv=False)[-1]
    assert by_svd == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize("link", ["base_link", "link_1", "link_2", "link_3"])
def test_doubt_has_no_end_where_a_direction_moves_no_joint(link):
    """Two joints or fewer, or three whose axes meet: some force is not felt."""
    assert force_doubt(ARM, Q, link, (0.02, 0.05, 0.1), noise=1.0) == np.inf


def test_doubt_grows_with_noise_and_refuses_none():
    doubt = force_doubt(ARM, Q, "link_6", noise=0.1)
    assert force_doubt(ARM, Q, "link_6", noise=0.3) == pytest.approx(3.0 * doubt)
    with pytest.raises(rd.ArgumentError, match="noise"):
        force_doubt(ARM, Q, "link_6", noise=0.0)


def test_a_likely_force_keeps_noise_from_becoming_a_wild_one():
    """Nearly stretched out, joints hardly feel a pull along the arm: noise must not be one."""
    model = rd.robots.kuka_lwr4()
    q, link = np.array([0.0, 0.5, 0.0, 0.002, 0.0, 0.02, 0.0]), "link_5"
    noise = np.full(7, 0.1)
    r = noise * np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0])
    options = {"weights": 1.0 / noise, "force_only": True}
    wild = np.linalg.norm(rd.external_wrench(model, q, r, link, **options)[:3])
    tame = np.linalg.norm(rd.external_wrench(model, q, r, link, **options, likely=50.0)[:3])
    assert wild > 200.0 and tame < 20.0
    # A push that the joints do feel is told as before
    J = rd.jacobian(model, q, link)[:3]
    felt = np.linalg.svd(J)[0][:, 0]
    told = rd.external_wrench(model, q, J.T @ (30.0 * felt), link, **options, likely=50.0)
    assert told[:3] @ felt == pytest.approx(30.0, rel=1e-3)
    with pytest.raises(rd.ArgumentError, match="likely must be positive"):
        rd.external_wrench(model, q, r, link, likely=0.0)
