"""Rows 14 to 18 and 42: invalid commands, missing commands, commands of two publishers."""

import numpy as np
from fault_rig import SILENT_AFTER, Case, Rig, cases, command, rig_of
from ros_harness import bench

from builtin_interfaces.msg import Duration  # isort: skip
from rclpy.parameter import Parameter  # isort: skip
from std_msgs.msg import Float64MultiArray  # isort: skip
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # isort: skip

from robodyn_ros.control.arm_controller import Mode  # isort: skip
from robodyn_ros.nodes.controller_node import ControllerNode  # isort: skip
from robodyn_ros.nodes.simulator_node import SimulatorNode  # isort: skip


def plant_is_fine(rig):
    """Expect the applied torque to be finite and within the limits."""
    state = rig.plant_node.plant.state
    assert np.isfinite(state.q).all() and np.isfinite(state.tau).all()
    assert (np.abs(state.tau) <= rig.model.tau_max + 1e-9).all()
    return state


def refused(bad, *says, **parameters):
    """Every command is invalid: all are rejected, the plant brakes, the state is UNKNOWN."""

    def play():
        with rig_of(**parameters) as rig:
            rig.run_normally()
            before = rig.plant_node.tau.copy()
            moving = np.abs(rig.plant_node.plant.state.qd).max()
            rig.commands = lambda message: [bad]
            for _ in range(100):
                rig.step()
                plant_is_fine(rig)
                np.testing.assert_array_equal(rig.plant_node.tau, before)
            assert rig.level == "UNKNOWN"
            assert np.abs(rig.plant_node.plant.state.qd).max() < 0.3 * moving  # braked
            rig.expect_safe_hold_within(SILENT_AFTER)
            rig.expect_warnings("rejected a command", *says)
            rig.expect_recovery()
            rig.expect_no_contact()

    return play


def come_back(commands, lasts, *says, safe=True):
    """Commands do not act for `lasts` [s], then they do: the torque that was not applied is not
    taken for a push. A safe hold, latched until it is cleared.
    """

    def play():
        with rig_of() as rig:
            rig.run_normally()
            rig.reports.clear()
            rig.commands = commands
            rig.run(lasts)
            rig.commands = None
            if safe:
                assert rig.mode is Mode.SAFE_HOLD and rig.level == "UNKNOWN"
            rig.run(0.8)
            if safe:
                rig.expect_safe_hold_within(SILENT_AFTER)
            assert rig.level == "CLEAR"  # it has settled
            rig.expect_warnings(*says)
            rig.expect_recovery()
            rig.run(0.3)
            rig.expect_no_contact()

    return play


def beside(bad, says):
    """Invalid commands of another publisher beside the valid ones change nothing."""

    def logged(stranger):
        with rig_of() as rig:
            if stranger:
                rig.commands = lambda message: [bad, message, bad]
            rig.run(0.5)
            rig.expect_warnings(*([says] if stranger else []))
            return np.array([tau for _, tau in rig.torques])

    def play():
        np.testing.assert_array_equal(logged(False), logged(True))

    return play


def no_limits():
    """Without a limit, an absurd torque makes the plant restart, and nothing else."""
    with rig_of(robot="planar_2r", plant__start=[0.3, 0.4]) as rig:
        rig.run_normally()
        rig.commands = lambda message: [command([1e9, -1e9])]
        rig.run(0.1)
        rig.commands = None
        assert np.isfinite(rig.plant_node.plant.state.q).all()
        rig.expect_warnings("plant restarted")
        rig.expect_recovery(touched=True)  # so it may seem


# row 15


def over_the_limit(joint, lasts):
    """Clipped commands: the observer uses the applied torque and reports no contact."""

    def play():
        with rig_of() as rig:
            rig.run_normally()

            def commands(message):
                message.data[joint] = 1e6
                return [message]

            rig.commands = lambda message: commands(command(message.data))
            for _ in range(round(lasts / rig.dt)):
                rig.step()
                state = plant_is_fine(rig)
                assert np.abs(rig.residuals[-1][1]).max() < 0.2
            assert state.tau[joint] == rig.model.tau_max[joint]
            taken = rig.detector.commands.tau  # as what acts from now on
            rig.step()
            np.testing.assert_array_equal(taken, rig.plant_node.plant.state.tau)
            rig.commands = None
            rig.run(0.3)  # joint 1 was thrown, and may be braked
            rig.expect_recovery()
            rig.expect_no_contact()

    return play


# row 16


def commands_stop():
    """The plant brakes after 20 ms without commands; its torque has no step."""
    with rig_of() as rig:
        rig.run_normally()
        moving = np.abs(rig.plant_node.plant.state.qd).max()
        rig.commands = lambda message: []
        taus = [rig.plant_node.plant.state.tau]
        for _ in range(150):
            rig.step()
            taus.append(plant_is_fine(rig).tau)
            if rig.now - rig.begun_at > 0.02 + 2 * rig.dt:
                assert rig.level == "UNKNOWN" and rig.plant_node.braked
        rig.expect_safe_hold_within(SILENT_AFTER)
        assert np.abs(rig.plant_node.plant.state.qd).max() < 0.3 * moving
        rig.expect_warnings("no command for", "no commands: holding")
        rig.commands = None
        for _ in range(100):
            rig.step()
            taus.append(plant_is_fine(rig).tau)
        assert np.abs(np.diff(taus, axis=0)).max() <= 1000.0 * rig.dt * (1.0 + 1e-9)
        rig.expect_recovery()


def states_stop(duration, safe, after=0.0):
    """after: [s] by which the fault begins later, relative to the watchdogs."""

    def play():
        with rig_of() as rig:
            rig.run(after)
            rig.run_normally()
            rig.lose_states = True
            rig.run(duration)
            rig.lose_states = False
            rig.run(0.1)
            if safe:
                rig.expect_safe_hold_within(SILENT_AFTER)
                rig.expect_warnings("nothing received on")
            else:
                assert rig.mode is Mode.TRACKING
            rig.expect_recovery()

    return play


# row 17


def two_publishers(talks):
    """Over the middleware: another node on the command topic."""
    with bench(
        SimulatorNode,
        ControllerNode,
        args=["-p", "robot.name:=lwr_iii", "-p", "arm.timeout:=0.5", "--log-level", "fatal"],
    ) as there:
        arm = there.nodes[1].arm
        said = there.nodes[1].get_logger = Logger()
        there.until(lambda: arm.tau.any())
        rival = there.node.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
        if not talks:
            there.until(lambda: said.heard("talker"))
            there.run(0.3)
            assert arm.mode is Mode.HOLDING  # one that is silent does no harm, or has just died
            return

        def speak():
            rival.publish(command(7 * [0.0]))
            return arm.mode is Mode.SAFE_HOLD

        there.until(speak)
        assert "other nodes command the arm: talker" in arm.reason
        assert said.heard("other nodes")
        there.node.destroy_publisher(rival)
        there.run(0.5)
        arm.clear()
        there.until(lambda: arm.mode is Mode.HOLDING)
        there.run(0.3)
        assert arm.mode is Mode.HOLDING


class Logger:
    """A logger that records warnings."""

    def __init__(self):
        self.texts = []

    def __call__(self):
        return self

    def warning(self, text):
        self.texts.append(text)

    info = error = warning

    def heard(self, text):
        return any(text in one for one in self.texts)


# row 18


def step_of_the_target(size, seconds, refused=""):
    """However soon it is wanted, the torque keeps to its rate; the rig looks at every one. The
    reference is slowed down, and the arm arrives.
    """

    def play():
        with rig_of(motion="hold") as rig:
            rig.run(0.3)
            q, goal = rig.plant_node.plant.state.q.copy(), rig.controller.arm.reference.q
            goal[0] += size
            rig.modes.clear()
            _order(rig, goal, seconds)
            for _ in range(1500):
                rig.step()
                plant_is_fine(rig)
                if rig.controller.arm.reason == "arrived":
                    break
            told = rig.warnings(rig.controller)
            assert any("rejected a trajectory" in text for text in told) is bool(refused), told
            if refused:
                assert any(refused in text for text in told), told
                assert {mode for _, mode in rig.modes} == {Mode.HOLDING}
                np.testing.assert_allclose(rig.plant_node.plant.state.q, q, atol=1e-6)
            else:
                assert np.abs(rig.plant_node.plant.state.q - goal).max() < 0.01
            rig.expect_recovery()
            rig.expect_no_contact()

    return play


# row 42


def beyond_the_limits(duration, *says, change=0.5, end=0.0, **settings):
    """A trajectory beyond limits is announced, then followed as fast as they allow."""

    def play():
        with rig_of(motion="hold") as rig:
            rig.run(0.2)
            for name, value in settings.items():
                assert rig.controller.set_parameters_atomically([Parameter(name, value=value)])
            lines, model = [], rig.model
            rig.controller.log_line = lambda line: lines.append(line.text)
            goal = rig.controller.arm.reference.q + change
            _send(rig, goal, duration, end)
            moved = []
            for _ in range(1500):
                rig.step()
                plant_is_fine(rig)
                moved.append(rig.controller.arm.reference)
                if rig.controller.arm.reason == "arrived":
                    break
            told = next(text for text in lines if "exceeds limits" in text)
            assert all(text in told for text in says), told
            assert rig.controller.arm.reason == "arrived"
            np.testing.assert_allclose(rig.plant_node.plant.state.q, goal, atol=5e-3)
            assert (np.abs([m.qd for m in moved]) <= model.qd_max).all()
            if "arm.qdd_max" in settings:
                assert np.abs([m.qdd for m in moved]).max() <= settings["arm.qdd_max"][0]
            rig.expect_recovery()
            rig.expect_no_contact()

    return play


def refused_trajectory(duration, says, stamp=0.0, strict=False):
    """A trajectory that is refused, with joint, limit and time, or for its stamp."""

    def play():
        with rig_of(motion="hold") as rig:
            rig.run(0.2)
            if strict:
                wanted = [Parameter("arm.scaling", value="strict")]
                assert rig.controller.set_parameters_atomically(wanted).successful
            _send(rig, rig.controller.arm.reference.q + 0.5, duration, stamp=stamp)
            rig.run(0.1)
            rig.expect_warnings("rejected a trajectory", says)
            assert rig.mode is Mode.HOLDING
            rig.expect_recovery()

    return play


def _send(rig: Rig, goal, seconds, end=0.0, stamp=0.0):
    n = rig.model.n
    point = JointTrajectoryPoint(
        positions=[float(x) for x in goal], velocities=n * [end], accelerations=n * [0.0]
    )
    point.time_from_start = Duration(sec=int(seconds), nanosec=int(seconds % 1 * 1e9))
    message = JointTrajectory(joint_names=rig.model.joint_names, points=[point])
    if stamp:
        t = rig.controller.arm.time + stamp
        message.header.stamp.sec, message.header.stamp.nanosec = int(t), int(t % 1 * 1e9)
    rig.controller.receive("~/joint_trajectory", message)


def _order(rig: Rig, goal, seconds):
    point = JointTrajectoryPoint(positions=[float(x) for x in goal])
    point.time_from_start = Duration(sec=int(seconds), nanosec=int(seconds % 1 * 1e9))
    message = JointTrajectory(joint_names=rig.model.joint_names, points=[point])
    rig.controller.receive("~/joint_trajectory", message)


def lost(message):
    return []


def bad(message):
    return [command(NAN)]


NAN, INF = [0.0, np.nan, *5 * [0.0]], [np.inf, *6 * [0.0]]
TWO = {"robot": "planar_2r", "plant__start": [0.3, 0.4]}
CASES = [
    Case(14, "too few numbers", "R", refused(command([1.0]), "1 numbers, 7 joints")),
    Case(14, "too many numbers", "R", refused(command(8 * [0.0]), "8 numbers, 7 joints")),
    Case(14, "no numbers", "R", refused(command([]), "0 numbers, 7 joints")),
    Case(14, "NaN", "R", refused(command(NAN), "torque of joint 'joint_2' is nan")),
    Case(14, "Inf", "R", refused(command(INF), "torque of joint 'joint_1' is inf")),
    Case(14, "1e308", "R", refused(command(7 * [1e308]), "joint 'joint_1' is 1e+308")),
    Case(14, "1e30", "R", refused(command(7 * [1e30]), "joint 'joint_1' is 1e+30")),
    Case(14, "NaN beside the good ones", "N", beside(command(NAN), "'joint_2' is nan")),
    Case(14, "wrong count beside the good ones", "N", beside(command([]), "0 numbers")),
    Case(14, "1e9 without limits", "alive", no_limits),
    *(
        Case(14, f"refused for {t} ms, then back", "R S", come_back(bad, t / 1e3, "is nan"))
        for t in (30, 100, 300)
    ),
    Case(15, "over the limit", "clamped", over_the_limit(6, 0.012)),
    Case(15, "over the limit for 30 ms", "clamped", over_the_limit(0, 0.03)),
    Case(16, "commands stop in motion", "S U", commands_stop),
    *(
        Case(
            16, f"none for {t} ms, then back", "S U", come_back(lost, t / 1e3, "not reach the arm")
        )
        for t in (30, 100, 300)
    ),
    Case(16, "none for 10 ms, then back", "none", come_back(lost, 0.01, safe=False)),
    Case(16, "states stop for 40 ms", "S", states_stop(0.04, safe=True)),
    *(
        Case(16, f"the same {t} ms later", "S", states_stop(0.04, safe=True, after=t / 1e3))
        for t in (2, 4, 6, 8)
    ),
    Case(16, "states stop for 10 ms", "none", states_stop(0.01, safe=False)),
    Case(17, "two publishers", "reported, S", lambda: two_publishers(talks=True)),
    Case(17, "a silent second publisher", "reported", lambda: two_publishers(talks=False)),
    Case(18, "1 rad in 1 ms", "scaled", step_of_the_target(1.0, 0.001)),
    Case(18, "1 rad in 0.1 s", "scaled", step_of_the_target(-1.0, 0.1)),
    Case(18, "0.1 rad in 0.3 s", "rate-limited", step_of_the_target(0.1, 0.3)),
    Case(18, "out of the limits", "R", step_of_the_target(100.0, 1.0, "its limits are")),
    Case(18, "NaN", "R", step_of_the_target(np.nan, 1.0, "nan")),
    Case(
        42,
        "speed, torque and its rate",
        "scaled",
        beyond_the_limits(
            0.1, "velocity of joint 'joint_1' at 0.05 s", "torque of joint", "torque rate of joint"
        ),
    ),
    Case(42, "torque rate", "scaled", beyond_the_limits(0.45, "torque rate of joint")),
    Case(
        42,
        "acceleration",
        "scaled",
        beyond_the_limits(1.0, "acceleration of joint", **{"arm.qdd_max": [2.0]}),
    ),
    Case(42, "end with velocity", "scaled", beyond_the_limits(1.0, "torque rate", end=0.3)),
    Case(42, "strict", "R", refused_trajectory(0.1, "torque rate of joint", strict=True)),
    Case(42, "ended in the past", "R", refused_trajectory(1.0, "ended 1 s ago", stamp=-2.0)),
]


@cases(*CASES)
def test_commands(case):
    case.play()
