"""The maker's external torque beside the residual: sign, delay, noise, offset, events."""

import csv
import json

import numpy as np
import pytest
from arm_recordings import path_of
from recording_cases import MODEL, motion, robodyn, write_states

import robodyn_ros as rd
from robodyn_ros.recording.bags import BagWriter
from robodyn_ros.recording.command import AnalysisOptions, analysed, save_report, summary
from robodyn_ros.recording.run import Sources

pytest.importorskip("rosbags")
RATE, GAIN, LATE = 500.0, 50.0, 0.03  # [Hz], [1/s], [s]
OFFSET = 0.4  # [N m]
TOUCHES = ((2.0, 2.4, 2), (4.0, 4.4, 3), (6.0, 6.4, 4))
TOPIC = "/robot/external_joint_torques"


def maker(sign=-1.0, missed=(), extra=(), noise=0.1):
    """What a maker would report: filtered, late, with an offset, and sometimes wrong."""
    t, q, qd, tau, outside = motion(touches=TOUCHES, noise=0.05)
    for k in missed:
        begin, end, joint = TOUCHES[k]
        outside[(t > begin) & (t <= end), joint] = 0.0
    for begin, end, joint in extra:
        outside[(t > begin) & (t <= end), joint] = 12.0
    filtered = np.zeros_like(outside)
    for k in range(1, t.size):
        filtered[k] = filtered[k - 1] + GAIN / RATE * (outside[k] - filtered[k - 1])
    shifted = np.roll(filtered, round(LATE * RATE), axis=0)
    noisy = shifted + noise * np.random.default_rng(1).normal(size=shifted.shape)
    return t, q, qd, tau, sign * noisy + OFFSET


def bag_of(path, **how):
    t, q, qd, tau, external = maker(**how)
    with BagWriter(path) as out:
        write_states(out, "/joint_states", t, q, qd, tau)
        write_states(out, TOPIC, t[::2], None, None, external[::2])  # at half the rate
    return path


def options(path, **how):
    return AnalysisOptions(path, robot="lwr_iii", sources=Sources(external=TOPIC), **how)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_sign_delay_noise_and_offset_are_found(sign, tmp_path):
    with analysed(options(bag_of(tmp_path / "bag", sign=sign))) as analysis:
        found = analysis.external
    assert found.sign == sign and found.correlation * sign > 0.8
    assert found.delay == pytest.approx(LATE, abs=0.006)
    np.testing.assert_allclose(found.noise[1], 0.1, rtol=0.3)
    np.testing.assert_allclose(found.offset[1], sign * OFFSET, atol=0.05)
    np.testing.assert_allclose(found.offset[0], 0.0, atol=0.1)
    assert (found.both, found.only_residual, found.only_maker) == (3, (), ())
    wanted = "that of the residual" if sign > 0 else "minus that of the residual"
    assert wanted in found.sentences()[0]


def test_events_of_one_and_not_of_the_other(tmp_path):
    path = bag_of(tmp_path / "bag", missed=(1,), extra=((7.0, 7.3, 2),))
    with analysed(options(path)) as analysis:
        found = analysis.external
        facts = summary(analysis)["external"]
    assert found.both == 2
    ((begin, _),) = found.only_residual
    assert begin == pytest.approx(TOUCHES[1][0], abs=0.05)
    ((begin, _),) = found.only_maker
    assert begin == pytest.approx(7.0 + LATE, abs=0.05)
    assert facts["sign"] == -1 and len(facts["events_only_by_maker"]) == 1
    json.dumps(facts)


def test_a_torque_that_has_nothing_to_do_with_it_has_no_sign(tmp_path):
    with analysed(options(bag_of(tmp_path / "bag", sign=0.0))) as analysis:
        found = analysis.external
        facts = summary(analysis)["external"]
    assert not found.known and np.isnan(found.delay)
    assert facts["sign"] is None and facts["delay"] is None
    assert "not known" in found.sentences()[0]


def test_the_commands_print_both_and_draw_both(tmp_path, monkeypatch, capsys):
    pytest.importorskip("plotly")
    path = bag_of(tmp_path / "bag")
    report = tmp_path / "report.html"
    words = (path, "--robot", "lwr_iii", "--external", "external_joint_torques")
    code, text, _ = robodyn(monkeypatch, capsys, "report", *words, "--out", report)
    assert code == 0 and "minus that of the residual" in text and "maker's noise" in text
    page = report.read_text()
    assert "maker&#x27;s external torque" in page or "maker's external torque" in page
    assert page.count("the maker") >= MODEL.n  # a line in each panel
    table = tmp_path / "out.csv"
    code, text, _ = robodyn(monkeypatch, capsys, "residual", *words, "--out", table)
    assert code == 0 and "events: 3 by both" in text
    with table.open() as file:
        rows = list(csv.DictReader(file))
    t, *_, external = maker()
    k = next(k for k, row in enumerate(rows) if float(row["t"]) >= 2.2)
    wanted = -np.interp(float(rows[k]["t"]), t[::2], external[::2, 2])
    assert float(rows[k][f"external_{MODEL.joint_names[2]}"]) == pytest.approx(wanted, abs=0.5)
    code, _, error = robodyn(monkeypatch, capsys, "report", *words[:4], "no_such_topic")
    assert code == 1 and "no_such_topic" in error


def test_columns_of_a_csv_file(tmp_path):
    t, q, qd, tau, external = maker()
    path = tmp_path / "log.csv"
    np.savetxt(path, np.column_stack([t, q, qd, tau, external]), "%.9g", ",")
    sources = Sources(external="22-28")
    with analysed(AnalysisOptions(path, robot="lwr_iii", sources=sources)) as analysis:
        assert analysis.external.sign == -1
        assert analysis.external.both == 3


def test_the_sign_of_frankas_own_torque_is_found(tmp_path):
    """README of the recordings: its sign is minus the residual's."""
    from robodyn_ros.sensing.effort_settings import EffortSettings

    name = "franka_follower_20260223_162545_final_20260223_162556.npy"
    a = np.load(path_of("fr3", name))
    a[:, 0] = 1e-9 * (a[:, 0] - a[0, 0])
    a = a[np.concatenate([[True], np.diff(a[:, 0]) > 0.0])]
    path, params = tmp_path / "fr3.csv", tmp_path / "fr3.yaml"
    np.savetxt(path, a[:, :29], "%.9g", ",")
    from robodyn_ros.recording import node_yaml

    loose = rd.ThresholdSettings((8.0,))
    settings = rd.MonitorSettings(contact=loose, collision=loose)
    effort = EffortSettings("joint_states", side="link")
    params.write_text(
        node_yaml.text(node_yaml.NodeParameters({}, "joint_states", settings, effort=effort))
    )
    urdf = str(path_of("fr3", "fr3_hand.urdf"))
    chosen = AnalysisOptions(path, robot=urdf, params=params, sources=Sources(external="22-28"))
    with analysed(chosen) as analysis:
        found = analysis.external
        save_report(analysis, tmp_path / "report.html")
    assert found.known and found.sign == -1, found.sentences()
    assert abs(found.delay) < 0.05
