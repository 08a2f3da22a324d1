"""Joint states of real arms: the recordings, which are not part of the repository."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import robodyn_ros as rd

FOLDER = Path(os.environ.get("ROBODYN_DATA", Path(__file__).parents[3] / "shared" / "data"))
UR3_JOINTS = ["Base", "Shoulder", "Elbow", "Wrist 1", "Wrist 2", "Wrist 3"]


def path_of(*parts):
    """Return the path of a file, or skip the test."""
    path = FOLDER.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no recordings: {path.name} is not in {path.parent}")
    return path


def fresh_log(t, *fields):
    """Return a Log of the samples whose time advances."""
    kept = np.concatenate([[True], np.diff(t) > 0.0])
    return rd.Log(t[kept] - t[0], *(x[kept] for x in fields))


def of_table(path, n, t_unit=1.0, **options):
    a = np.loadtxt(path, delimiter=",", **options)
    q, qd, tau = (a[:, 1 + k * n : 1 + (k + 1) * n] for k in range(3))
    return fresh_log(t_unit * a[:, 0], q, qd, tau)


def panda():
    path = path_of("panda", "exciting_1khz.csv")
    return rd.load_urdf(path_of("panda", "panda_gaz.urdf")), of_table(path, 7, skiprows=1)


def fr3():
    name = "franka_follower_20260223_162545_final_20260223_162556.npy"
    a = np.load(path_of("fr3", name))
    log = fresh_log(1e-9 * (a[:, 0] - a[0, 0]), a[:, 1:8], a[:, 8:15], a[:, 15:22])
    return rd.load_urdf(path_of("fr3", "fr3_hand.urdf")), log


def med7():
    fields = []
    for name in ("positions", "velocities", "efforts"):
        with gzip.open(path_of("kuka_med7", f"joint_states_{name}.csv.gz"), "rt") as file:
            fields.append(np.loadtxt(file, delimiter=",", skiprows=1))
    order = [4, 1, 2, 3, 5, 6, 7]
    log = fresh_log(fields[0][:, 0], *(x[:, order] for x in fields))
    return rd.load_urdf(path_of("kuka_med7", "med7dock.urdf")), log


def ur10e():
    path = path_of("ur10e", "ur-20_02_06-20sec_5harm.csv")
    return rd.load_urdf(path_of("ur10e", "ur10e.urdf")), of_table(path, 6)


def ur10():
    model = rd.load_urdf(path_of("ur10", "ur10.urdf"))
    return model, rd.read_bag(path_of("ur10", "ur10_exciting_trajectory.db3"), model.joint_names)


def ur3():
    model = rd.load_urdf(path_of("ur3", "ur3.urdf"))
    return model, rd.read_bag(path_of("ur3", "id1.bag"), UR3_JOINTS, topic="/arm")


ARMS = {"panda": panda, "fr3": fr3, "med7": med7, "ur10e": ur10e, "ur10": ur10, "ur3": ur3}
