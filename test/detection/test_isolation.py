"""The touched link from pushes all over the arm's surface."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.isolation import ContactIsolator
from robodyn_ros.detection.isolation_settings import IsolationSettings
from robodyn_ros.model.shapes import Capsule
from robodyn_ros.model.surface import LinkSurfaces, surface_points
from robodyn_ros.resources import share_path

ARM = rd.robots.kuka_lwr4()
LINKS = ARM.link_names
Q = np.array([0.3, 0.7, -0.4, 1.1, 0.2, -0.8, 0.5])
NOISE = np.full(7, 0.02**2)  # [(N m)^2]


@pytest.fixture(scope="module")
def surfaces():
    return surface_points(ARM, str(share_path("urdf", "kuka_lwr4.urdf")))


@pytest.fixture(scope="module")
def isolator(surfaces):
    return ContactIsolator(ARM, surfaces, IsolationSettings(lead=5.0))


def push(link, point, force, q=Q):
    """The residual (n,) of a force in the base's axes."""
    return rd.jacobian(ARM, q, link, point)[:3].T @ np.asarray(force)


def pose(link, q=Q):
    T = rd.forward_kinematics(ARM, q, link)
    return T[:3, :3], T[:3, 3]


def random_pushes(surfaces, count, seed):
    """Pushes within 45 degrees of the normal, of 20 to 60 N, that the link's own joint feels."""
    random = np.random.default_rng(seed)
    while count:
        row = int(random.integers(7))
        k = int(random.integers(surfaces.start[row], surfaces.start[row + 1]))
        R, _ = pose(LINKS[row])
        aside = random.normal(size=3)
        direction = surfaces.normals[k] + np.tanh(np.linalg.norm(aside)) * aside / np.linalg.norm(
            aside
        )
        force = random.uniform(20.0, 60.0) * R @ direction / np.linalg.norm(direction)
        r = push(LINKS[row], surfaces.points[k], force)
        if abs(r[row]) > 0.2:
            count -= 1
            yield row, surfaces.points[k], force, r + random.normal(size=7) * np.sqrt(NOISE)


def test_pushes_on_the_surface_are_found_where_they_act(isolator, surfaces):
    likeliest, named, clear, wrong, off, forces = 0, 0, 0, 0, [], []
    for row, point, force, r in random_pushes(surfaces, 60, 1):
        found = isolator.locate(Q, r, NOISE)
        assert sum(found.posterior.values()) == pytest.approx(1.0)
        likeliest += max(found.posterior, key=found.posterior.get) == LINKS[row]
        named += found.link == LINKS[row]
        clear += found.link is not None and not found.beyond
        wrong += found.link not in (LINKS[row], None) and not found.beyond
        if found.link == LINKS[row] and found.force is not None:
            R, o = pose(LINKS[row])
            off.append(np.linalg.norm(R @ point + o - found.point))
            forces.append(np.linalg.norm(found.force - force) / np.linalg.norm(force))
    assert likeliest >= 50 and named >= 36 and clear >= 20 and wrong == 0
    assert len(forces) >= 10 and np.median(forces) < 0.3 and np.median(off) < 0.1


def test_evidence_is_the_mean_likelihood_of_random_pushes():
    """An independent oracle: likelihoods averaged over forces drawn from the prior."""
    random = np.random.default_rng(2)
    settings = IsolationSettings(
        lead=1.0, force=(8.0,), cone=(0.4,), any_direction=0.0, model_error=0.0, cross_talk=0.0
    )
    points, normals = random.normal(size=(7, 3)) * 0.05, random.normal(size=(7, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    isolator = ContactIsolator(ARM, LinkSurfaces(points, normals, np.arange(8)), settings)
    B = random.normal(size=(7, 7))
    S = 0.8**2 * (np.eye(7) + 0.3 * B @ B.T)
    R, _ = pose("link_6")
    y = push("link_6", points[5], 9.0 * R @ normals[5]) + np.linalg.cholesky(S) @ random.normal(
        size=7
    )
    logs = []
    for row, link in enumerate(LINKS):
        R, _ = pose(link)
        n = R @ normals[row]
        f = random.normal(size=(100_000, 3)) * 0.4 * 8.0
        f += ((random.normal(size=len(f)) * 8.0) - f @ n)[:, None] * n
        f = np.where((f @ n < 0.0)[:, None], f - 2.0 * (f @ n)[:, None] * n, f)
        e = y - f @ rd.jacobian(ARM, Q, link, points[row])[:3]
        logs.append(
            np.log(np.mean(np.exp(-0.5 * np.einsum("ij,jk,ik->i", e, np.linalg.inv(S), e))))
        )
    expected = np.exp(logs - np.max(logs))
    expected /= expected.sum()
    found = isolator.locate(Q, y, S)
    told = np.array([found.posterior[link] for link in LINKS])
    assert np.ptp(np.log(expected)) > 5.0
    np.testing.assert_allclose(np.log(told), np.log(expected), atol=0.08)


def test_a_force_is_unknown_from_its_own_deviation_on():
    """An independent oracle: mean and deviation of forces drawn from the prior, by likelihood."""
    random = np.random.default_rng(3)
    point, n = np.array([[0.05, 0.02, 0.1]]), np.array([[0.6, 0.0, 0.8]])
    start = np.array([0, 0, 0, 0, 0, 0, 0, 1])
    R, _ = pose("link_7")
    J = rd.jacobian(ARM, Q, "link_7", point[0])[:3]
    inward, S = R @ n[0], np.diag([1.5, 1.5, 0.9, 0.9, 0.5, 0.5, 0.2]) ** 2
    y = J.T @ (0.5 * inward + 8.0 * R[:, 1])  # nearly along the surface
    f = random.normal(size=(400_000, 3)) * 10.0
    f += (np.abs(f @ inward) - f @ inward)[:, None] * inward
    e = y - f @ J
    weights = np.exp(-0.5 * np.einsum("ij,jk,ik->i", e, np.linalg.inv(S), e))
    weights /= weights.sum()
    mean = weights @ f
    exact = np.sqrt(weights @ np.sum((f - mean) ** 2, axis=1)) / np.linalg.norm(mean)
    for share, told in ((0.97, False), (1.03, True)):
        settings = IsolationSettings(
            force=(10.0,),
            cone=(1.0,),
            any_direction=0.0,
            model_error=0.0,
            cross_talk=0.0,
            force_error=float(share * exact),
        )
        found = ContactIsolator(ARM, LinkSurfaces(point, n, start), settings).locate(Q, y, S)
        assert (found.force is not None) == told
    np.testing.assert_allclose(found.force, mean, atol=0.05)


def test_force_and_point_are_those_of_the_push():
    """One point on link_7, six joints that feel it: force as by least squares."""
    points = np.array([[0.02, 0.05, 0.1]])
    R, o = pose("link_7")
    force = np.array([12.0, -20.0, 8.0])
    inward = R.T @ force / np.linalg.norm(force)
    start = np.array([0, 0, 0, 0, 0, 0, 0, 1])
    surfaces = LinkSurfaces(points, inward[None], start)
    isolator = ContactIsolator(ARM, surfaces, IsolationSettings(model_error=0.0))
    found = isolator.locate(Q, push("link_7", points[0], force), np.full(7, 1e-4))
    assert found.link == "link_7" and found.confidence == 1.0 and not found.beyond
    np.testing.assert_allclose(found.force, force, rtol=0.02)
    np.testing.assert_allclose(found.point, R @ points[0] + o, atol=1e-12)
    # From the other side it would be a pull, which is rarer
    pull = ContactIsolator(
        ARM, LinkSurfaces(points, -inward[None], start), IsolationSettings(any_direction=0.05)
    ).locate(Q, push("link_7", points[0], force), np.full(7, 1e-4))
    np.testing.assert_allclose(pull.force, force, rtol=0.1)


def test_a_force_that_one_joint_does_not_determine_is_unknown():
    """Anywhere about link_1: only its torque about the axis is felt."""
    points, normals = Capsule(0.06, 0.2).sample(200)
    points = points + [0.02, 0.0, 0.0]  # off the axis, which else no push would load
    surfaces = LinkSurfaces(points, normals, np.array([0, *[200] * 7]))
    r = np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    found = ContactIsolator(ARM, surfaces).locate(Q, r, NOISE)
    assert found.link == "link_1" and found.force is None and found.point is not None
    loose = ContactIsolator(ARM, surfaces, IsolationSettings(force_error=10.0))
    assert np.linalg.norm(loose.locate(Q, r, NOISE).force) > 1.0


@pytest.mark.parametrize("row", range(2, 7))
@pytest.mark.parametrize("seed", range(4))
def test_a_push_at_a_links_origin_is_this_link_or_beyond(isolator, row, seed):
    """Its own joint does not feel it, so links before it explain it as well."""
    random = np.random.default_rng(seed)
    q, force = random.uniform(-1.5, 1.5, 7), random.normal(size=3)
    r = push(LINKS[row], (0.0, 0.0, 0.0), 40.0 * force / np.linalg.norm(force), q)
    found = isolator.locate(q, r, NOISE)
    assert found.beyond or found.link == LINKS[row]
    assert LINKS.index(found.innermost) <= row
    if found.beyond:
        assert found.name == f"{found.innermost} or beyond" and found.confidence > 0.8
        assert found.force is None and found.point is None and "explains" in found.reason
        outer = [found.posterior[link] for link in LINKS[LINKS.index(found.innermost) :]]
        assert found.confidence == pytest.approx(sum(outer))


def test_a_push_along_an_axis_is_this_link_or_beyond(isolator):
    """Along the axis of joint 7, on which link_6 and link_7 lie."""
    R, _ = pose("link_7")
    found = isolator.locate(Q, push("link_7", (0.0, 0.0, 0.0), -30.0 * R[:, 2]), NOISE)
    assert found.beyond and found.name.endswith(" or beyond")
    assert found.force is None and found.point is None


def test_the_lead_decides_whether_one_link_is_named(surfaces):
    R, _ = pose("link_7")
    r = push("link_7", (0.0, 0.0, 0.0), -30.0 * R[:, 2])
    always = ContactIsolator(ARM, surfaces, IsolationSettings(lead=1.0)).locate(Q, r, NOISE)
    assert always.link == max(always.posterior, key=always.posterior.get)
    doubt = ContactIsolator(ARM, surfaces, IsolationSettings(lead=1e6)).locate(Q, r, NOISE)
    assert doubt.link is None and doubt.innermost and doubt.beyond
    assert doubt.posterior == pytest.approx(always.posterior)


def test_noise_names_no_link(isolator):
    found = isolator.locate(Q, np.sqrt(NOISE), NOISE)
    assert found.link is None and found.name == "" and found.force is None
    assert "noise" in found.reason


def test_larger_noise_makes_less_certain(isolator, surfaces):
    pushes = list(random_pushes(surfaces, 10, 2))
    sure = [
        np.mean([max(isolator.locate(Q, r, scale * NOISE).posterior.values()) for *_, r in pushes])
        for scale in (1.0, 25.0)
    ]
    assert sure[1] < 0.96 * sure[0]


def test_two_branches_at_once_give_no_link():
    """A tree: the torso carries two arms, both of which feel something."""
    link = '<link name="{}"><inertial><mass value="1"/><origin xyz="0 0 0.2"/><inertia ixx="1" '
    link += 'iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    joint = '<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{2}"/>'
    joint += '<origin xyz="{3} 0 0.3"/><axis xyz="0 1 0"/></joint>'
    parts = [link.format(name) for name in ("base", "left", "right")]
    parts += [joint.format("l", "base", "left", "-0.3"), joint.format("r", "base", "right", "0.3")]
    model = rd.load_urdf(f"<robot name='two'>{''.join(parts)}</robot>")
    isolator = ContactIsolator(model, surface_points(model), IsolationSettings(lead=10.0))
    assert isolator.locate([0.0, 0.0], [2.0, 0.0], [1e-4, 1e-4]).link == "left"
    both = isolator.locate([0.0, 0.0], [2.0, 2.0], [1e-4, 1e-4])
    assert both.link is None and "left or right" in both.reason


def test_the_confidence_of_or_beyond_is_that_of_the_carried_links():
    """A trunk with two branches: the other branch is not beyond the first link of one."""
    parent = {"trunk": "base", "upper": "trunk", "fore": "upper", "other": "trunk"}
    body = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
    body += 'ixz="0" iyz="0"/></inertial></link>'
    joint = '<joint name="j_{0}" type="continuous"><parent link="{1}"/><child link="{0}"/>'
    joint += '<origin xyz="{2}"/><axis xyz="{3}"/></joint>'
    places = ("0 0 0.1", "0 0.2 0.1", "0 0 0.3", "0 -0.2 0.1")
    axes = ("0 0 1", "1 0 0", "0 1 0", "0 1 0")
    parts = [body.format(name) for name in ("base", *parent)]
    parts += [joint.format(*row) for row in zip(parent, parent.values(), places, axes)]
    model = rd.load_urdf(f"<robot name='y'>{''.join(parts)}</robot>")
    assert model.link_names == tuple(parent)
    random = np.random.default_rng(0)
    points = random.normal(size=(200, 3)) * 0.1
    normals = points / np.linalg.norm(points, axis=1)[:, None]
    isolator = ContactIsolator(model, LinkSurfaces(points, normals, np.arange(0, 201, 50)))
    carried = {"trunk": list(parent), "upper": ["upper", "fore"], "fore": ["fore"]}
    carried["other"] = ["other"]
    seen = 0.0
    for _ in range(300):
        q, r = random.uniform(-1.0, 1.0, (2, 4)) * [[1.0], [10.0]]
        found = isolator.locate(q, r, np.full(4, 0.3**2))
        if found.beyond:
            beyond = sum(found.posterior[name] for name in carried[found.innermost])
            assert found.confidence == pytest.approx(beyond)
            if found.innermost == "upper":
                seen = max(seen, found.posterior["other"])
    assert seen > 0.05


def test_work_can_be_spread_link_by_link(isolator):
    r = push("link_6", (0.03, 0.04, 0.0), [15.0, -18.0, 4.0])
    work, pauses = isolator.located_by_link(Q, r, NOISE), 0
    while True:
        try:
            next(work)
            pauses += 1
            isolator.locate(-Q, 2.0 * r, NOISE)  # another decision in between changes nothing
        except StopIteration as done:
            found = done.value
            break
    assert pauses == 6  # between seven links
    assert found.posterior == isolator.locate(Q, r, NOISE).posterior


def test_settings_need_a_size_and_a_cone():
    for wrong in ({"force": ()}, {"cone": ()}, {"force": (1.0,) * 5}):
        with pytest.raises(rd.ArgumentError, match="must be 1 to 4 numbers"):
            IsolationSettings(**wrong)


def test_wrong_arguments_are_named(isolator, surfaces):
    r = np.ones(7)
    for bad in (np.ones(6), np.full(7, np.nan), -np.ones(7), "x"):
        with pytest.raises(rd.ArgumentError, match="covariance"):
            isolator.locate(Q, r, bad)
    with pytest.raises(rd.ArgumentError, match="y"):
        isolator.locate(Q, np.ones(3), NOISE)
    with pytest.raises(rd.ArgumentError, match="links"):
        ContactIsolator(rd.robots.planar_2r(), surfaces)
    with pytest.raises(rd.ArgumentError, match="no points"):
        ContactIsolator(ARM, LinkSurfaces(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(8, int)))
    with pytest.raises(rd.ArgumentError, match="lead"):
        IsolationSettings(lead=0.5)
