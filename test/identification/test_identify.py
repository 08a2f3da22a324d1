"""Identification: exact without noise, honest about noise, always physically consistent."""

import base64
import json
import re
import warnings
from html.parser import HTMLParser
from xml.sax.saxutils import quoteattr

import mujoco
import numpy as np
import pytest
from identification_cases import ARM, WIDTH, log_of, motion_of

import robodyn_ros as rd
from robodyn_ros.dynamics.friction import friction_torque
from robodyn_ros.errors import ArgumentError
from robodyn_ros.identification.identify import identify
from robodyn_ros.identification.payload import find_gains, identify_payload
from robodyn_ros.model.rigid_body import pseudo_inertia
from robodyn_ros.sensing.log import Log
from robodyn_ros.simulation.disturbances import perturbed

pytest.importorskip("cvxpy")

LOSSES = ("viscous", "coulomb", "offset")
OFF = {"mass": 0.2, "com": 0.02, "inertia": 0.3, "friction": 0.4}


def base_of(found, model):
    """Return the base parameters of a model, with its rotor inertias."""
    return found.base.combine(np.concatenate([model.inertial_parameters(), model.rotor_inertia]))


@pytest.fixture(scope="module")
def lwr():
    nominal = rd.robots.kuka_lwr4()
    real = perturbed(nominal, 1, **OFF)
    real = real.replace(rotor_inertia=1.2 * real.rotor_inertia)
    used, unseen = (
        log_of(real, motion_of(nominal, seed), name=f"motion {seed}") for seed in (1, 2)
    )
    shares = []
    found = identify(
        nominal,
        [used],
        held_out=[unseen],
        friction=LOSSES,
        progress=lambda share, what: shares.append(share),
    )
    return nominal, real, found, used, unseen, shares


def test_without_noise_base_parameters_and_friction_are_found(lwr):
    nominal, real, found, *_ = lwr
    truth, start = base_of(found, real), base_of(found, nominal)
    rank = found.base.rank
    by_squares = found.least_squares.x[found.least_squares.columns[:rank]]
    # The remaining error is the filter's: friction at reversals, and the ends.
    assert np.abs(by_squares - truth).max() < 0.03 * np.abs(start - truth).max()
    assert np.abs(base_of(found, found.model) - truth).max() < 0.03 * np.abs(start - truth).max()
    np.testing.assert_allclose(found.model.viscous, real.viscous, rtol=0.02)
    np.testing.assert_allclose(found.model.coulomb, real.coulomb, rtol=0.02)
    np.testing.assert_allclose(found.friction.shape.width, WIDTH)
    np.testing.assert_allclose(found.friction.offset, 0.0, atol=0.1)


def test_unseen_motion_is_predicted(lwr):
    *_, found, _, _, shares = lwr
    used, unseen = found.fits
    assert (used.held_out, unseen.held_out) == (False, True)
    assert (unseen.relative < 0.01).all()
    assert shares == sorted(shares) and shares[-1] == 1.0
    np.testing.assert_array_equal(found.errors["motion 2"], unseen.relative)


def test_the_model_predicts_what_the_fit_predicts(lwr):
    """The found model's inverse dynamics and friction are the predicted torque."""
    _, _, found, _, unseen, _ = lwr
    fit = found.fits[1]
    motion = motion_of(found.nominal, 2).at(fit.t)
    tau = rd.inverse_dynamics(found.model, motion.q, motion.qd, motion.qdd)
    tau = tau + friction_torque(found.model, motion.qd)
    fast = ~fit.reversing()
    np.testing.assert_allclose((tau - fit.predicted)[fast], 0.0, atol=0.3)
    losses = found.friction_torque(unseen.t, unseen.q, unseen.qd)
    expected = friction_torque(found.model, unseen.qd)
    np.testing.assert_allclose(losses, expected, atol=1e-9)


def test_the_errors_of_a_fit(lwr):
    fit = lwr[2].fits[1]
    e = fit.measured - fit.predicted
    rms = [np.sqrt(sum(x * x for x in column) / len(column)) for column in e.T]
    np.testing.assert_allclose(fit.rms, rms)
    np.testing.assert_allclose(fit.relative, rms / np.sqrt((fit.measured**2).mean(axis=0)))
    np.testing.assert_allclose(fit.largest, np.abs(e).max(axis=0))
    crossing = np.flatnonzero(np.diff(np.sign(fit.qd[:, 0])))[1]
    near = fit.reversing()[:, 0]
    assert near[crossing] and not near.all()
    assert np.abs(fit.qd[near, 0]).max() < 0.1 * 8.0 + 0.1  # within 0.1 s at 8 rad/s^2


@pytest.mark.parametrize("seed", range(3))
def test_deviations_are_those_of_the_errors(seed):
    """Errors over standard deviations are about 1, [Gautier1997]."""
    model = rd.robots.planar_2r()
    scores = []
    for k in range(6):
        motion = motion_of(model, 10 * seed + k)
        log = log_of(model, motion, noise=0.05, seed=100 * seed + k)
        found = identify(model, [log], friction=("viscous",))
        rank, squares = found.base.rank, found.least_squares
        error = squares.x[squares.columns[:rank]] - base_of(found, model)
        scores.append(error / squares.deviation[:rank])
    assert 0.5 < np.sqrt(np.mean(np.square(scores))) < 2.0


@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_the_result_is_consistent_whatever_the_noise(noise):
    nominal = rd.robots.rx90()
    real = perturbed(nominal, 5, **OFF)
    log = log_of(real, motion_of(nominal, 5, qd_max=1.0), noise=noise, rate=100.0)
    found = identify(nominal, [log], presliding=False)
    text = found.to_urdf()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = rd.load_urdf(text, strict=True)
    assert mujoco.MjModel.from_xml_string(text).nv == nominal.n
    np.testing.assert_allclose(again.inertial_parameters(), found.model.inertial_parameters())
    np.testing.assert_allclose(again.rotor_inertia, found.model.rotor_inertia)
    for name in ("viscous", "coulomb", "stiction", "rotor_inertia"):
        assert (getattr(found.model, name) >= 0.0).all(), name
    for ten in found.consistent.x[: found.design.inertial].reshape(-1, 10):
        assert np.linalg.eigvalsh(pseudo_inertia(ten))[0] > 0.0


def test_a_massless_link_stays_nearly_massless():
    """MuJoCo rejects the nominal robot, and accepts the identified one."""
    text = re.sub(r"<inertial>.*?</inertial>", "", ARM, count=1, flags=re.DOTALL)
    nominal = rd.load_urdf(text)
    with pytest.raises(ValueError, match="mjMINVAL"):
        mujoco.MjModel.from_xml_string(rd.to_urdf(nominal))
    real = nominal.replace(mass=[0.0, 3.3, 0.1], viscous=0.0, coulomb=0.0)
    found = identify(nominal, [log_of(real, motion_of(nominal))], friction=())
    assert (found.fits[0].relative < 1e-3).all()
    assert found.model.mass[0] < 1e-5
    rd.load_urdf(found.to_urdf(), strict=True)
    assert mujoco.MjModel.from_xml_string(found.to_urdf()).nbody > 1


def test_least_squares_alone_gives_inconsistent_robots():
    """The semidefinite program is needed: least squares may find a negative inertia."""
    nominal = rd.robots.planar_2r()
    motion = motion_of(nominal, 3, qd_max=0.1)
    rotors = []
    for seed in range(5):
        log = log_of(nominal, motion, noise=2.0, rate=100.0, seed=seed)
        found = identify(nominal, [log], friction=())
        rotors.append({line.split()[0]: value for line, value, _ in found.base_table}["Ia2"])
        assert (found.consistent.x[found.design.inertial :] > -1e-6).all()
    assert min(rotors) < 0.0


def test_unexcited_parameters_stay_nominal():
    """The last joint stands still: its rotor inertia and friction are not excited."""
    nominal = rd.robots.kuka_lwr4()
    motion = motion_of(nominal, 2)
    motion.a[6], motion.b[6] = 0.0, 0.0
    found = identify(nominal, [log_of(perturbed(nominal, 2, **OFF), motion)], friction=LOSSES)
    parameters = {p.name: p for p in found.parameters}
    joint, link = nominal.joint_names, nominal.link_names
    for name in (f"rotor of {joint[6]}", f"viscous of {joint[6]}", f"m of {link[0]}"):
        p = parameters[name]
        assert p.value == pytest.approx(p.nominal, rel=1e-3), name
        assert p.from_data == p.told < 1e-3, name
    for name in (f"rotor of {joint[1]}", f"viscous of {joint[1]}", f"mx of {link[2]}"):
        assert parameters[name].from_data > 0.5, name
    base, never, moved = (
        next(line for line in found.unexcited.splitlines() if words in line)
        for words in ("base parameters no better", "No motion excites", "hardly moved")
    )
    assert "Ia7" in base and "Ia2" not in base
    assert f"m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz of {link[0]}" in never
    assert joint[6] in moved and joint[5] not in moved
    last = next(deviation for line, _, deviation in found.base_table if "Ia7" in line)
    assert last == np.inf


def test_the_momentum_method_needs_no_acceleration():
    """The filtered regressor, [LuMeng1993] remark 2."""
    nominal = rd.robots.planar_2r()
    real = perturbed(nominal, 1, **OFF)
    logs = [log_of(real, motion_of(nominal, seed), rate=500.0) for seed in (1, 2)]
    found = identify(nominal, logs[:1], held_out=logs[1:], method="momentum", friction=())
    truth, start = base_of(found, real), base_of(found, nominal)
    assert np.abs(base_of(found, found.model) - truth).max() < 1e-2 * np.abs(start - truth).max()
    assert (found.fits[1].relative < 1e-3).all()


def test_known_rotors_are_taken_from_the_model():
    real = perturbed(rd.robots.planar_2r().replace(rotor_inertia=[0.5, 0.3]), 1, **OFF)
    nominal = rd.robots.planar_2r().replace(rotor_inertia=[0.5, 0.3])
    log = log_of(real, motion_of(nominal, 1))
    found = identify(nominal, [log], friction=(), rotors=False)
    np.testing.assert_array_equal(found.model.rotor_inertia, [0.5, 0.3])
    assert (found.fits[0].relative < 1e-3).all()
    assert not any("rotor" in p.name for p in found.parameters)


def test_a_payload_is_found(lwr):
    nominal, real, found, *_ = lwr
    link = nominal.link_names[-1]
    held = rd.Payload(link, 1.5, (0.03, -0.02, 0.1), 0.01)
    log = log_of(real.replace(payload=held), motion_of(nominal, 1), noise=0.01)
    payload, deviation = identify_payload(found, [log], link)
    assert payload.mass == pytest.approx(held.mass, rel=0.02)
    np.testing.assert_allclose(payload.com, held.com, atol=0.01)
    assert 0.0 < deviation < 0.1


def test_drive_gains_are_found_by_a_known_payload():
    nominal = rd.robots.kuka_lwr4()
    real = perturbed(nominal, 4, **OFF)
    gains = np.array([15.0, 13.0, 11.0, 11.0, 9.0, 5.0, 4.0])
    held = rd.Payload(nominal.link_names[-1], 4.0, (0.05, 0.05, 0.1), 0.05)
    motion = motion_of(nominal, 4)
    bare, loaded = (log_of(m, motion) for m in (real, real.replace(payload=held)))
    bare, loaded = (Log(x.t, x.q, x.qd, x.tau / gains) for x in (bare, loaded))
    found = find_gains(nominal, [bare], [loaded], held)
    felt = found.deviation < 0.02 * found.gains  # joints to which the payload makes a difference
    assert felt[:6].all()
    np.testing.assert_allclose(found.gains[felt], gains[felt], rtol=0.03)


def test_yaml(lwr, tmp_path):
    yaml = pytest.importorskip("yaml")
    found = lwr[2]
    found.to_yaml(tmp_path / "nodes.yaml", tmp_path / 'a "robot".urdf')
    read = yaml.safe_load((tmp_path / "nodes.yaml").read_text())
    monitor = read["/**/dynamics_node"]["ros__parameters"]["monitor"]
    assert (np.array(monitor["contact"]["base"]) > found.largest_errors).all()
    assert (np.array(monitor["collision"]["base"]) > monitor["contact"]["base"]).all()
    switches = (("dynamics_node", "effort", "model"), ("controller_node", "arm", True))
    for node, section, value in switches:
        parameters = read[f"/**/{node}"]["ros__parameters"]
        assert parameters["robot"]["urdf"] == str(tmp_path / 'a "robot".urdf')
        assert parameters[section]["friction"] == value


class Page(HTMLParser):
    """External references of a report, and the texts of its headings, tables and buttons."""

    def __init__(self, text):
        super().__init__()
        self.references, self.texts, self.inside = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.inside.append(tag)
        self.references += [value for name, value in attrs if name in ("src", "href", "action")]

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if self.inside:
            self.texts.setdefault(self.inside[-1], []).append(data)


def test_the_report_stands_alone(lwr, tmp_path):
    pytest.importorskip("plotly")
    nominal, _, found, *_ = lwr
    found.report(tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    assert page.references == []
    assert page.texts["button"] == ["motion 1 (used)", "motion 2 (held out)"]
    assert page.texts["h2"] == [
        "Torque error",
        "Measured and predicted torque",
        "Not excited by the motion",
        "Parameters",
        "Base parameters",
    ]
    assert page.texts["h3"] == [*nominal.link_names, *nominal.joint_names]
    for share in 100.0 * found.fits[1].relative:
        assert f"{share:.2f} %" in page.texts["td"]
    for p in found.parameters:
        assert f"± {p.deviation:.2g}" in page.texts["td"]
    assert set(found.unexcited.splitlines()) == set(page.texts["li"])
    plotly, data, drawing = page.texts["script"]
    assert "plotly.js" in plotly and '"showSendToCloud": false' in drawing
    logs = json.loads(data)
    assert [len(log["data"]) for log in logs] == [3 * nominal.n] * 2
    measured = logs[1]["data"][0]["y"]
    values = np.frombuffer(base64.b64decode(measured["bdata"]), np.float32)
    np.testing.assert_allclose(values, found.fits[1].measured[:, 0], atol=1e-4)


def test_harmful_names_are_escaped_in_the_report(tmp_path):
    pytest.importorskip("plotly")
    evil = "</script><script src='http://x'>"
    nominal = rd.load_urdf(ARM.replace('"reach"', quoteattr(evil)))
    assert nominal.joint_names[1] == evil
    found = identify(nominal, [log_of(nominal, motion_of(nominal), name=evil)], friction=())
    found.report(tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    assert page.references == [] and len(page.texts["script"]) == 3


def test_prismatic_joints_have_newtons(tmp_path):
    nominal = rd.load_urdf(ARM)
    log = log_of(nominal, motion_of(nominal, 1))
    found = identify(nominal, [log], friction=("viscous",))
    units = {p.name: p.unit for p in found.parameters}
    assert (units["rotor of shoulder"], units["rotor of reach"]) == ("kg m^2", "kg")
    assert (units["viscous of shoulder"], units["viscous of reach"]) == ("N m s/rad", "N s/m")
    found.report(tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text())
    assert "shoulder [N m]" in page.texts["th"] and "reach [N]" in page.texts["th"]


def test_the_search_starts_from_the_nominal_stiction():
    """The Stribeck term is stiction minus Coulomb friction, not its decay with speed."""
    nominal = rd.robots.planar_2r().replace(coulomb=2.0, stiction=3.0, stribeck=7.0)
    motion = motion_of(nominal, 1)
    motion.a[1], motion.b[1] = 0.0, 0.0
    found = identify(nominal, [log_of(nominal, motion)], friction=("coulomb", "stribeck"))
    rows = {p.name: p for p in found.parameters}
    assert [rows[f"stribeck of joint_{k}"].nominal for k in (1, 2)] == [1.0, 1.0]
    assert rows["stribeck of joint_2"].value == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"method": "magic"}, "one of differences, momentum"),
        ({"cutoff": 99.0}, "below 0.45 of the log's 200 Hz"),
        ({"friction": ("stribeck",)}, "need coulomb"),
        ({"friction": ("sticky",)}, "not 'sticky'"),
        ({"prior": 0.0}, "prior must be positive"),
        ({"logs": []}, "at least one log"),
        ({"model": rd.robots.rx90()}, "has 2 joints"),
    ],
)
def test_wrong_arguments_are_rejected(wanted, message):
    model = rd.robots.planar_2r()
    logs = [log_of(model, motion_of(model, 1))]
    arguments = {"model": model, "logs": logs} | wanted
    with pytest.raises(ArgumentError, match=message):
        identify(arguments.pop("model"), arguments.pop("logs"), **arguments)
