"""Parameters of the nodes: a key that none of them knows is told, with the one that is near."""

from itertools import permutations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")

import rclpy  # noqa: E402
from rcl_interfaces.srv import SetParameters, SetParametersAtomically  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402
from ros_harness import bench  # noqa: E402
from source_tree import ROOT, own_domain  # noqa: E402

from robodyn_ros.nodes.controller_node import ControllerNode  # noqa: E402
from robodyn_ros.nodes.demo_node import DemoNode  # noqa: E402
from robodyn_ros.nodes.dynamics_node import DynamicsNode  # noqa: E402
from robodyn_ros.nodes.runtime import run  # noqa: E402
from robodyn_ros.nodes.simulator_node import SimulatorNode  # noqa: E402

CONTACT, COLLISION, GAIN = "monitor.contact.base", "monitor.collision.base", "monitor.gain"
NODES = {
    "simulator_node": SimulatorNode,
    "controller_node": ControllerNode,
    "dynamics_node": DynamicsNode,
    "demo_node": DemoNode,
}


def start(name, path, capfd):
    """What a node that is given this parameter file warns of."""
    rclpy.init(
        args=["--ros-args", "--log-level", "warn", "--params-file", str(path)]
        + ["-p", "robot.name:=lwr_iii"],
        domain_id=own_domain(),
        signal_handler_options=SignalHandlerOptions.NO,
    )
    try:
        NODES[name]().destroy_node()
    finally:
        rclpy.try_shutdown()
    return [line for line in capfd.readouterr().err.splitlines() if "[WARN]" in line]


@pytest.mark.parametrize(
    "name, key, near",
    [
        ("dynamics_node", "monitor.gian", "monitor.gain"),
        ("controller_node", "arm.frequncy", "arm.frequency"),
        ("simulator_node", "plant.strat", "plant.start"),
        ("simulator_node", "obstacles.nams", "obstacles.names"),
        ("simulator_node", "pushes.nams", "pushes.names"),
    ],
)
def test_a_misspelt_key_is_told(tmp_path, capfd, name, key, near):
    path = tmp_path / "parameters.yaml"
    path.write_text(f"{name}:\n  ros__parameters:\n    {key}: 1.0\n")
    (told,) = start(name, path, capfd)
    assert f"parameter {key} is not known" in told and f"is {near} meant?" in told


def test_rows_of_a_table_that_are_not_listed_are_told_together(tmp_path, capfd):
    path = tmp_path / "parameters.yaml"
    path.write_text(
        """simulator_node:
  ros__parameters:
    pushes:
      names: [elbow]
      elbow: {at: 1.0, link: link_4, froce: [0.0, 9.0, 0.0]}
      wrist: {at: 3.0, link: link_7}
      base: {at: 5.0, link: link_2}
"""
    )
    unlisted, misspelt = start("simulator_node", path, capfd)
    assert unlisted.endswith("not in pushes.names, so left out: base, wrist")
    assert "parameter pushes.elbow.froce is not known" in misspelt
    assert misspelt.endswith("is pushes.elbow.force meant?")


@pytest.mark.parametrize("name", NODES)
def test_what_another_node_or_ros_knows_is_no_mistake(tmp_path, capfd, name):
    path = tmp_path / "parameters.yaml"
    path.write_text(
        """/**:
  ros__parameters:
    use_sim_time: false
    start_type_description_service: false
    qos_overrides./parameter_events.publisher.depth: 10
    monitor.gain: [40.0]
    arm.braking: 20.0
    push_duration: 0.1
"""
    )
    assert start(name, path, capfd) == []


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("robot", ["lwr_iii", "kuka_lwr4"])
def test_the_files_that_come_with_it_have_no_such_key(capfd, name, robot):
    assert start(name, ROOT / "config" / robot / f"{name}.yaml", capfd) == []


def test_integers_of_a_file_become_doubles(tmp_path):
    path = tmp_path / "parameters.yaml"
    given = "gain: [50, 60, 50, 50, 50, 50, 50]\n      debounce: 0\n      noise: {enabled: true}"
    path.write_text(f"/**/dynamics_node:\n  ros__parameters:\n    monitor:\n      {given}\n")
    args = ["--params-file", str(path), "-p", "robot.name:=lwr_iii", "-p", "rate:=100"]
    with bench(DynamicsNode, args=args) as there:
        node = there.nodes[0]
        found = {name: node.get_parameter(name).type_.name for name in (GAIN, "monitor.debounce")}
        assert found == {GAIN: "DOUBLE_ARRAY", "monitor.debounce": "DOUBLE"}
        assert node.get_parameter("rate").type_ is Parameter.Type.DOUBLE  # fixed
        assert node.settings.monitor.gain[:2] == (50.0, 60.0) and node.settings.rate == 100.0


def test_a_mixed_list_of_a_file_is_refused_with_the_remedy(tmp_path, capsys):
    path = tmp_path / "parameters.yaml"
    path.write_text("/**/demo_node:\n  ros__parameters: {x: [1, 2.5]}\n")
    assert run(args=["--ros-args", "--params-file", str(path)]) == 1
    assert "e.g. [1.0, 2.5]" in capsys.readouterr().err


# What `ros2 param load` sends: all parameters in one request of set_parameters
RAISED = {CONTACT: [20.0], COLLISION: [40.0], GAIN: [60.0]}
LOWERED = {CONTACT: [0.2], COLLISION: [0.4], GAIN: [40.0]}
# One joint raised, another one lowered: neither of the two can be set alone
TWISTED = {CONTACT: [9.0] + 6 * [0.1], COLLISION: [12.0] + 6 * [0.2], GAIN: [60.0]}
START = {CONTACT: [2.0], COLLISION: [4.0], GAIN: [50.0]}


@pytest.fixture(scope="module")
def detector():
    with bench(DynamicsNode, args=["-p", "robot.name:=lwr_iii"]) as there:
        there.node_logs = logged = []
        node = there.nodes[0]
        node.get_logger = lambda: type(
            "Log", (), {"warning": lambda _, text: logged.append(text)}
        )()
        yield there


def load(there, values, kind=SetParameters):
    """Send the parameters in one request; return the answer, and what the node has then."""
    sent = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
    service = "set_parameters" + ("_atomically" if kind is SetParametersAtomically else "")
    answer = there.call(kind, f"dynamics_node/{service}", kind.Request(parameters=sent))
    node = there.nodes[0]
    has = {name: list(node.get_parameter(name).value) for name in START}
    monitor = node.settings.monitor
    assert has == {
        CONTACT: list(monitor.contact.base),
        COLLISION: list(monitor.collision.base),
        GAIN: list(monitor.gain),
    }
    return answer, has


@pytest.mark.parametrize(
    "values", [RAISED, LOWERED, TWISTED], ids=["raised", "lowered", "twisted"]
)
def test_parameters_that_fit_together_are_set_in_any_order(detector, values):
    for order in permutations(values):
        assert load(detector, START)[1] == START
        answer, has = load(detector, {name: values[name] for name in order})
        assert [result.reason for result in answer.results] == 3 * [""]
        assert all(result.successful for result in answer.results) and has == values


@pytest.mark.parametrize(
    "values", [RAISED, LOWERED, TWISTED], ids=["raised", "lowered", "twisted"]
)
@pytest.mark.parametrize(
    "bad, value, reason",
    [
        ("monitor.hysteresis", 7.0, "hysteresis out of range"),
        ("monitor.settling", "soon", "settling must be"),
        ("monitor.gian", 1.0, "there is no monitor.gian; is monitor.gain meant?"),
        ("nonsense", 1.0, "there is no nonsense"),
        ("sensing.stamps", "receipt", "read-only"),
    ],
)
def test_a_bad_one_is_refused_alone_and_logged(detector, values, bad, value, reason):
    for k in range(4):
        load(detector, START)
        detector.node_logs.clear()
        detector.nodes[0]._refusals_left = 1.0
        names = list(values)
        names.insert(k, bad)
        sent = {**values, bad: value}
        answer, has = load(detector, {name: sent[name] for name in names})
        assert [result.successful for result in answer.results] == [name != bad for name in names]
        assert reason in answer.results[k].reason and has == values
        (logged,) = detector.node_logs
        assert bad in logged and reason in logged


def test_integers_become_doubles_where_a_number_may_have_decimals(detector):
    node = detector.nodes[0]
    for values in ([60, 61, 62, 63, 64, 65, 66], [60], 60):
        load(detector, START)
        sent = Parameter(GAIN, value=values).to_parameter_msg()
        request = SetParameters.Request(parameters=[sent])
        answer = detector.call(SetParameters, "dynamics_node/set_parameters", request)
        assert answer.results[0].successful
        assert node.get_parameter(GAIN).type_ in (
            Parameter.Type.DOUBLE_ARRAY,
            Parameter.Type.DOUBLE,
        )
        assert node.get_parameter(GAIN).value == values
    load(detector, START)
    answer, _ = load(detector, {"monitor.debounce": 0})
    assert answer.results[0].successful
    assert node.get_parameter("monitor.debounce").type_ is Parameter.Type.DOUBLE
    load(detector, {"monitor.debounce": 0.002})


def test_a_list_that_arrived_as_text_is_refused_with_the_remedy(detector):
    load(detector, START)
    answer, has = load(detector, {GAIN: "[60, 61.5]"})  # as `ros2 param set` sends it
    assert not answer.results[0].successful and has == START
    assert "monitor.gain must be a list" in answer.results[0].reason
    assert "[1.0, 2.5]" in answer.results[0].reason


def test_two_that_do_not_fit_are_told_apart_from_the_rest(detector):
    load(detector, START)
    answer, has = load(detector, {CONTACT: [50.0], GAIN: [70.0]})
    assert [result.successful for result in answer.results] == [False, True]
    assert "collision" in answer.results[0].reason
    assert has == {**START, GAIN: [70.0]}


def test_all_or_none_stays_all_or_none(detector):
    load(detector, START)
    answer, has = load(detector, {**RAISED, "monitor.hysteresis": 7.0}, SetParametersAtomically)
    assert not answer.result.successful and has == START
    assert load(detector, RAISED, SetParametersAtomically)[1] == RAISED


def test_refusals_a_second_apart_are_each_logged_and_a_flood_is_not(detector):
    node = detector.nodes[0]
    wall = node.wall() + 1000.0
    node.wall = lambda: wall
    node.warn_throttled("joint_states: a stream of warnings")
    detector.node_logs.clear()
    for k in range(20):
        load(detector, {"monitor.hysteresis": 7.0 + k})
        wall += 1.0
        refused = [text for text in detector.node_logs if text.startswith("rejected")]
        assert f"value: {7.0 + k}" in refused[-1] and len(refused) == k + 1
    detector.node_logs.clear()
    for _ in range(1000):  # in one second
        wall += 0.001
        node.warn_refused("rejected parameter x: bad")
    assert 1 <= len(detector.node_logs) <= 7
    wall += 1.0
    node.warn_refused("rejected parameter x: bad")
    assert "more since the last" in detector.node_logs[-1]
