"""Build of robodyn_ros, for pip and for colcon (ament_python)."""

import re
from pathlib import Path

from setuptools import find_packages, setup

NAME = "robodyn_ros"

# Commands of the shell, and executables for `ros2 run` and launch.
COMMANDS = {
    "robodyn": "robodyn_ros.cli:main",
    "simulator_node": "robodyn_ros.nodes.start:simulator_node",
    "controller_node": "robodyn_ros.nodes.start:controller_node",
    "dynamics_node": "robodyn_ros.nodes.start:dynamics_node",
    "guard_node": "robodyn_ros.nodes.start:guard_node",
    "guarded_detector": "robodyn_ros.nodes.start:guarded_detector",
    "demo_node": "robodyn_ros.nodes.start:demo_node",
    "composed_nodes": "robodyn_ros.nodes.start:composed_nodes",
    "demo_report": "robodyn_ros.nodes.start:demo_report",
}


def shared(*folders):
    """Return the data files of the folders, each bound for the same place in share/robodyn_ros."""
    files = {}
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                files.setdefault(f"share/{NAME}/{path.parent.as_posix()}", []).append(str(path))
    return sorted(files.items())


def readme():
    """Return the README for a package index, without pictures and links of the source tree."""
    text = Path(__file__).resolve().with_name("README.md").read_text(encoding="utf-8")
    text = re.sub(r"^!\[.*\]\((?!http).*\)\n\n", "", text, flags=re.MULTILINE)
    return re.sub(r"(?<!!)\[([^\]]+)\]\((?!http)[^)]+\)", r"\1", text)


MESSAGES = ("diagnostic", "geometry", "rosgraph", "sensor", "std", "trajectory", "visualization")
BENCH = ["casadi", "mujoco>=3.17,<5", "pin"]
BAGS = ["rosbags", "ruamel.yaml", "plotly"]
DASHBOARD = ["viser>=1.1,<2", "pycollada"]  # pycollada: meshes in .dae
DEMO = [*DASHBOARD, "matplotlib", "mujoco>=3.17,<5"]  # page, plot, `--plant mujoco`
IDENTIFICATION = ["cvxpy", "clarabel", *BAGS]


def wheels(distribution, rclpy):
    """Return what the nodes need of a ROS 2 distribution, as wheels."""
    names = [f"rclpy[fastrtps]=={rclpy}", *(f"{kind}-msgs" for kind in MESSAGES), "std-srvs"]
    return [f"ros-{distribution}-{name}" for name in names]


setup(
    name=NAME,
    version="0.1.0",
    description="Robot dynamics by Newton-Euler recursions, and their uses, with a ROS 2 face",
    long_description=readme(),
    long_description_content_type="text/markdown",
    author="robodyn_ros maintainers",
    author_email="maintainers@example.org",
    license="Apache-2.0",
    license_files=["LICENSE"],
    classifiers=[
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
    ],
    keywords="ROS robot dynamics collision-detection momentum-observer control identification",
    packages=find_packages(exclude=["test", "test.*", "benchmark", "benchmark.*"]),
    package_data={"robodyn_ros": ["py.typed", "*.pyi"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"lib/{NAME}", [f"{NAME}/nodes/shims/{command}" for command in COMMANDS]),
        *shared("urdf", "launch", "config", "rviz"),
    ],
    zip_safe=False,  # the kernels are cached beside their files
    python_requires=">=3.10",
    install_requires=[
        "numpy>=1.24",
        "numba>=0.56",
        "scipy>=1.10",
        "urdfdom-py",
        "typer>=0.7",
        "rich>=13",
    ],
    extras_require={
        # Unofficial wheels for machines without ROS 2; leave this out where it is installed.
        "ros": wheels("jazzy", "7.1.6"),
        "ros_kilted": wheels("kilted", "9.1.2"),
        "demo": DEMO,
        "mujoco": ["mujoco>=3.17,<5"],
        "dashboard": DASHBOARD,
        "bags": BAGS,
        "identification": IDENTIFICATION,
        "bench": BENCH,
        "docs": ["mkdocs-material>=9.5,<10", "mkdocstrings[python]>=0.26"],
        "test": [
            *BENCH,
            *DEMO,
            *IDENTIFICATION,
            "bandit",
            "colcon-common-extensions",
            "distributed",  # Dask, for `robodyn detect --dask`
            "example-robot-data",
            "hypothesis",
            "mcap",  # an independent reader of bags
            "mypy",
            "pillow",
            "playwright",  # drives the machine's own chromium
            "pytest",
            "pytest-rerunfailures",
            "pytest-xdist",
            "ros-jazzy-test-msgs",  # actions for the tests of guard_node
            "ruff",
            "setuptools>=64,<80",  # as colcon-core demands
            "wheel",
            "yourdfpy",
        ],
    },
    entry_points={"console_scripts": [f"{name} = {main}" for name, main in COMMANDS.items()]},
)
