"""Visuals of an untrusted URDF: shown where possible; no other file is opened."""

import struct
from pathlib import Path

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.dashboard.shapes import foot, ground, link_shapes
from robodyn_ros.dashboard.visuals import read_visuals
from robodyn_ros.model.robots import BUILT_IN
from robodyn_ros.model.urdf_geometry import find_mesh

pytest.importorskip("trimesh", reason="comes with viser: pip install '.[dashboard]'")

ARM = """<robot name="arm"><material name="blue"><color rgba="0 0 1 1"/></material>
<link name="base"/>
<link name="upper"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{visual}</link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="9" velocity="1"/></joint></robot>"""


def visual(shape, origin="", material=""):
    return f"<visual>{origin}<geometry>{shape}</geometry>{material}</visual>"


def seen(text):
    return read_visuals(text, rd.load_urdf(ARM.format(visual="")))


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ('<box size="0.2 0.4 0.6"/>', (0.2, 0.4, 0.6)),
        ('<sphere radius="0.1"/>', (0.2, 0.2, 0.2)),
        ('<cylinder radius="0.1" length="0.5"/>', (0.2, 0.2, 0.5)),
    ],
)
def test_plain_shapes_have_their_size_and_place(shape, size):
    origin = '<origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/>'
    text = ARM.format(visual=visual(shape, origin, '<material name="blue"/>'))
    (found,) = seen(text).shown
    vertices = found.mesh.vertices
    turned = (size[1], size[0], size[2])
    assert np.ptp(vertices, axis=0) == pytest.approx(turned, rel=0.02)
    assert (vertices.max(axis=0) + vertices.min(axis=0)) / 2 == pytest.approx([1, 0, 0], abs=1e-3)
    assert (found.body, found.colour) == (0, (0, 0, 255))
    assert outward(found.mesh)


def outward(mesh):
    """Return whether the faces point outward: the enclosed volume is positive."""
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    return np.einsum("ij,ij->i", a, np.cross(b, c)).sum() > 0.0


def stl(path):
    """A tetrahedron."""
    p = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    data = b"\0" * 80 + struct.pack("<I", 4)
    for face in ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)):
        data += struct.pack("<12fH", 0, 0, 0, *p[list(face)].ravel(), 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_a_mesh_beside_the_urdf_is_shown(tmp_path):
    stl(tmp_path / "pkg" / "meshes" / "a.stl")
    urdf = tmp_path / "pkg" / "urdf" / "arm.urdf"
    urdf.parent.mkdir()
    names = ("package://pkg/meshes/a.stl", "a.stl")
    stl(urdf.parent / "a.stl")
    shapes = [visual(f'<mesh filename="{name}" scale="2 2 2"/>') for name in names]
    urdf.write_text(ARM.format(visual="".join(shapes)))
    found = seen(str(urdf))
    assert len(found.shown) == 2 and not found.missing
    assert np.ptp(found.shown[0].mesh.vertices, axis=0) == pytest.approx([2, 2, 2])


@pytest.mark.parametrize(
    "name",
    [
        "../secret.stl",
        "sub/../../secret.stl",
        "{folder}/secret.stl",
        "file://{folder}/secret.stl",
        "package://../secret.stl",
        "package://urdf/../secret.stl",
        "http://example.org/a.stl",
        "https://example.org/a.stl",
        "link.stl",  # a link to what lies outside
        "no_such.stl",
        "folder.stl",
        "",
    ],
)
def test_a_path_outside_the_folder_is_not_opened(name, tmp_path, monkeypatch):
    stl(tmp_path / "secret.stl")
    urdf = tmp_path / "urdf" / "arm.urdf"
    (urdf.parent / "folder.stl").mkdir(parents=True)
    (urdf.parent / "link.stl").symlink_to(tmp_path / "secret.stl")
    name = name.format(folder=tmp_path)
    urdf.write_text(ARM.format(visual=visual(f'<mesh filename="{name}"/>')))
    opened = []
    real = Path.open
    monkeypatch.setattr(Path, "open", lambda p, *a, **k: opened.append(p) or real(p, *a, **k))
    found = seen(str(urdf))
    assert found.shown == [] and len(found.missing) == 1
    assert opened == [urdf]
    with pytest.raises(ValueError):
        find_mesh(name, urdf)


@pytest.mark.parametrize(
    "broken",
    [
        '<box size="1 1"/>',
        '<sphere radius="nan"/>',
        '<cylinder radius="1"/>',
        '<mesh filename="bad.stl"/>',
        '<mesh filename="bad.exe"/>',
        "",
    ],
)
def test_a_broken_visual_is_left_out_and_reported(broken, tmp_path):
    (tmp_path / "bad.stl").write_bytes(b"solid nothing")
    (tmp_path / "bad.exe").write_bytes(b"MZ")
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(ARM.format(visual=visual(broken)))
    found = seen(str(urdf))
    assert found.shown == [] and "upper" in found.missing[0]


@pytest.mark.parametrize(
    "text", ["<robot", "<!DOCTYPE r [<!ENTITY a 'b'>]><robot>&a;</robot>", "no_such_file.urdf"]
)
def test_a_urdf_that_cannot_be_read_shows_nothing(text):
    found = seen(text)
    assert found.shown == [] and "cannot be read" in found.missing[0]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_arm_has_a_shape(name):
    model = getattr(rd.robots, name)()
    shapes = link_shapes(model)
    assert len(shapes) == len(model.link_names)
    for shape in shapes:
        for mesh in (shape.shell, shape.trim):
            assert np.isfinite(mesh.vertices).all() and mesh.faces.max() < len(mesh.vertices)
            assert outward(mesh)
    assert foot(model).shell.vertices[:, 2].min() == pytest.approx(ground(model), abs=1e-6)
