"""`robodyn demo`, `view`, `topics`, `echo`, `param`: running nodes."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ArgumentError
from . import common
from .common import app, console
from .options import App, Argument, Option

RobotOption = Annotated[str, Option(help="A built-in arm.")]
UrdfOption = Annotated[str, Option(help="The URDF file of your own arm instead.")]
NodeArgument = Annotated[str, Argument(help="Name of the node, e.g. dynamics_node.")]


@app.command()
def demo(
    robot: RobotOption = "",
    urdf: UrdfOption = "",
    plant: Annotated[str, Option(help="rigid, elastic or mujoco.")] = "",
    push: Annotated[
        list[str] | None,
        Option(help="LINK:NEWTON or LINK:FX,FY,FZ instead of the scripted pushes."),
    ] = None,
    params: Annotated[Path | None, Option(help="Parameter YAML of all nodes.")] = None,
    seed: Annotated[
        int | None, Option(help="Random seed of model error and sensor noise.", min=0)
    ] = None,
    ideal: Annotated[
        bool, Option("--ideal", help="No model error, friction or sensor noise.")
    ] = False,
    scenario: Annotated[
        str, Option(help="collisions, payload, faults or all: what happens to the arm.")
    ] = "collisions",
    duration: Annotated[
        float, Option(help=r"Duration \[s]; the demo ends once the arm is back.")
    ] = 30.0,
    composed: Annotated[bool, Option(help="All nodes in one process.")] = False,
    headless: Annotated[bool, Option(help="No table and no page, for scripts.")] = False,
    page: Annotated[bool, Option(help="Show the live page, too.")] = True,
    picture: Annotated[Path, Option(help="File of the plot.")] = Path("demo.png"),
) -> None:
    """Run the collision demo: an arm moves, is pushed, detects it, yields and resumes.

    The plant differs from the model (masses by 3 %, centres of mass by 3 mm) and its sensors are
    noisy. Other scenarios: a payload is gripped, carried and released; one fault follows the
    other. Exit code 0 only if every push was found with its link and every fault named rightly,
    without a false alarm, and the arm resumed.
    """
    with common.imports():
        from ..nodes.discovery import only_demo
        from ..nodes.page_address import announce_page
    with only_demo():
        port = announce_page(console) if page and not headless else None
        with common.imports():
            from ..nodes.demo import PlantOptions, run_demo
        plant_of = PlantOptions(plant, push or [], seed, ideal, scenario)
        ok = run_demo(
            robot, urdf, plant_of, params, duration, composed, headless, port, picture, console
        )
    raise typer.Exit(0 if ok else 1)


@app.command()
def view(
    namespace: common.NamespaceOption = "",
    robot: Annotated[
        str, Option(help="A built-in arm; by default the one of dynamics_node.")
    ] = "",
    urdf: UrdfOption = "",
    port: Annotated[int, Option(help="The first free port from here on.", min=1)] = 8080,
    read_only: Annotated[bool, Option("--read-only", help="Without controls.")] = False,
    wait: Annotated[float, Option(help=r"Timeout for dynamics_node \[s].")] = 60.0,
) -> None:
    """Serve the live page of a running arm to browsers on this machine."""
    with common.imports():
        from ..nodes.dashboard_bridge import open_bridge
    with common.imports(common.NO_VISER):
        from ..dashboard.page import FRAME_RATE, open_page
    with common.imports():
        from ..nodes.page_address import free_port, page_notes
    with contextlib.suppress(KeyboardInterrupt), open_bridge(namespace, read_only) as arm:
        model, description = arm.find_robot(robot, urdf, wait)
        free = free_port(port)
        with open_page(model, description, None if read_only else arm, free) as page:
            for line in (f"live page: {page.url}", *page_notes(port, free)):
                print(line, flush=True)
            arm.run(page.feed, page.draw, FRAME_RATE)


@app.command()
def topics(as_json: common.JsonOption = False) -> None:
    """List the topics of running nodes."""
    with common.imports():
        from ..nodes import terminal
    found = list(terminal.topics())
    if as_json:
        keys = ("name", "type", "publishers")
        common.print_json([dict(zip(keys, topic)) for topic in found])
        return
    for name, kind, publishers in found:
        print(f"{name}  {kind}  publishers: {publishers}")


@app.command()
def echo(
    topic: Annotated[str, Argument(help="A topic, or the end of its name: residual.")],
    count: Annotated[int, Option(help="Number of messages to print; 0: no limit.")] = 0,
) -> None:
    """Print the messages of a topic."""
    with common.imports():
        from ..nodes import terminal
    for text in terminal.echo(topic, count):
        print(text, "---", sep="\n", flush=True)


param = App(help="Parameters of running nodes.", no_args_is_help=True)
app.add_typer(param, name="param")


@param.command("get")
def param_get(
    node: NodeArgument, name: Annotated[str, Argument(help="A parameter; by default all.")] = ""
) -> None:
    """Print one or all parameters of a node."""
    with common.imports():
        from ..nodes import terminal
    for key, value in terminal.get_parameters(node, [name] if name else None).items():
        print(f"{key}: {value if isinstance(value, (str, bool, int, float)) else list(value)}")


@param.command("set")
def param_set(
    node: NodeArgument,
    name: Annotated[str, Argument(help="A parameter, e.g. monitor.gain.")],
    value: Annotated[str, Argument(help="As in YAML: 0.5, true, text, [1.0, 2.0].")],
) -> None:
    """Set a parameter of a node while it runs."""
    with common.imports():
        from ..nodes import terminal
    done, reason = terminal.set_parameter(node, name, parse_value(value))
    if not done:
        raise ArgumentError(f"{node} rejected {name} = {value}: {reason}")
    print(f"{node}: {name} = {value}")


@param.command("load")
def param_load(
    node: NodeArgument,
    file: Annotated[Path, Argument(help="Parameter YAML, such as arm.yaml of `configure`.")],
) -> None:
    """Set parameters of a running node from a file. They may depend on each other.

    Exit code 1 if one is refused; the others are set.
    """
    with common.imports():
        from ..nodes import terminal
    changed, refused = terminal.load_parameters(node, file)
    print(f"{node}: {len(changed)} changed{': ' if changed else ''}{', '.join(changed)}")
    for name, reason in refused.items():
        common.print_error(f"{node} rejected {name}: {reason}")
    if refused:
        raise typer.Exit(1)


def parse_value(text: str) -> Any:
    """Return a number, a boolean or a list of them; else the text itself."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, list) and any(isinstance(x, float) for x in value):
        value = [float(x) for x in value]
    return value
