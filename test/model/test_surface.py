"""Points on the links of an arm, from its collision geometry or without any."""

import struct
from pathlib import Path

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.model.robots import BUILT_IN
from robodyn_ros.model.shapes import Box, Capsule, Cylinder, Mesh, Placed, read_stl
from robodyn_ros.model.surface import LinkSurfaces, surface_points
from robodyn_ros.nodes.node_settings import RobotSettings
from robodyn_ros.resources import share_path, urdf_names

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><mass value="1"/><origin xyz="0 0 0.1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{shapes}</link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="9" velocity="1"/></joint></robot>"""
TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)[
    [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
]


def collision(shape, origin=""):
    return f"<collision>{origin}<geometry>{shape}</geometry></collision>"


def surface(shapes, where=None, **options):
    text = ARM.format(shapes=shapes)
    if where is not None:
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text)
    return surface_points(
        rd.load_urdf(ARM.format(shapes="")), str(where) if where else text, **options
    )


def binary_stl(triangles):
    data = b"\0" * 80 + struct.pack("<I", len(triangles))
    return data + b"".join(struct.pack("<12fH", 0, 0, 0, *t.ravel(), 0) for t in triangles)


def text_stl(triangles):
    corner = "vertex {:g} {:g} {:g}\n"
    faces = (
        "facet normal 0 0 0\nouter loop\n"
        + "".join(corner.format(*p) for p in t)
        + "endloop\nendfacet\n"
        for t in triangles
    )
    return ("solid x\n" + "".join(faces) + "endsolid x\n").encode()


@pytest.mark.parametrize(
    "shape",
    [
        Capsule(0.1, 0.3),
        Capsule(0.2, 0.0),
        Cylinder(0.1, 0.4),
        Cylinder(0.3, 0.05),
        Box(np.array([0.1, 0.2, 0.4])),
        Mesh(0.2 * TETRAHEDRON),
        Mesh(0.2 * TETRAHEDRON[:, ::-1]),  # triangles the wrong way round
    ],
)
def test_a_shape_is_covered_evenly_and_its_normals_point_inward(shape):
    points, normals = shape.sample(4000)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0)
    # Gauss: the outward normals of a closed surface add up to 0, those times x to its volume
    out = -normals * shape.area / len(points)
    assert np.abs(out.sum(axis=0)).max() < 0.01 * shape.area
    volume = {
        Capsule: lambda s: np.pi * s.radius**2 * (s.length + 4.0 / 3.0 * s.radius),
        Cylinder: lambda s: np.pi * s.radius**2 * s.length,
        Box: lambda s: np.prod(s.size),
        Mesh: lambda s: 0.2**3 / 6.0,
    }[type(shape)](shape)
    assert np.einsum("ij,ij->", points, out) / 3.0 == pytest.approx(volume, rel=0.01)
    if not isinstance(shape, Mesh):
        assert shape.contains(points + 1e-3 * normals).all()
        assert not shape.contains(points - 1e-3 * normals).any()


def test_a_round_housing_has_normals_that_meet_its_axis():
    for shape in (Capsule(0.1, 0.3), Cylinder(0.1, 0.3)):
        points, normals = shape.sample(500)
        about_axis = points[:, 0] * normals[:, 1] - points[:, 1] * normals[:, 0]
        assert np.abs(about_axis).max() < 1e-12


def test_a_placed_shape_is_turned_and_moved():
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    placed = Placed(Box(np.array([0.2, 0.4, 0.6])), R, np.array([1.0, 2.0, 3.0]))
    points, normals = placed.sample(2000)
    assert np.ptp(points, axis=0) == pytest.approx([0.4, 0.2, 0.6])
    assert points.mean(axis=0) == pytest.approx([1.0, 2.0, 3.0], abs=0.01)
    assert placed.contains(points + 1e-3 * normals).all()


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_arm_has_points_on_all_links_with_and_without_its_urdf(name):
    model = getattr(rd.robots, name)()
    own = [str(share_path("urdf", f"{name}.urdf"))] if name in urdf_names() else []
    for urdf in (None, *own):
        found = surface_points(model, urdf, per_link=100)
        counts = np.diff(found.start)
        assert len(counts) == len(model.link_names) and not found.missing
        assert counts.min() >= 80 and counts.max() <= 120
    with pytest.raises(ValueError, match="read-only"):
        found.points[0, 0] = 1.0


def test_shapes_lie_where_their_origin_says():
    origin = '<origin xyz="1 0 0" rpy="0 1.5707963267948966 0"/>'
    found = surface(collision('<cylinder radius="0.1" length="0.6"/>', origin))
    assert np.ptp(found.points, axis=0) == pytest.approx([0.6, 0.2, 0.2], rel=0.02)
    assert found.points.mean(axis=0) == pytest.approx([1.0, 0.0, 0.0], abs=0.01)


def test_points_inside_another_shape_of_the_link_are_left_out():
    ball, rod = '<sphere radius="0.1"/>', '<capsule radius="0.05" length="0.5"/>'
    found = surface(collision(ball) + collision(rod), per_link=400)
    off_ball = np.linalg.norm(found.points, axis=1)
    assert off_ball.min() > 0.1 - 1e-5 and off_ball.max() > 0.29
    assert len(found.points) == pytest.approx(400, rel=0.1)


@pytest.mark.parametrize("write", [binary_stl, text_stl])
def test_a_mesh_beside_the_urdf_is_read(write, tmp_path):
    (tmp_path / "a.stl").write_bytes(write(TETRAHEDRON))
    mesh = '<mesh filename="a.stl" scale="0.1 0.1 0.1"/>'
    found = surface(collision(mesh), tmp_path / "arm.urdf")
    assert not found.missing
    assert found.points.min() >= 0.0 and found.points.max() == pytest.approx(0.1, rel=0.1)
    assert found.points.sum(axis=1).max() < 0.1 + 1e-9


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"MZ",
        b"solid nothing",
        b"solid x vertex 1 2 3 vertex 1 2",
        b"solid x vertex a b c vertex a b c vertex a b c",
        binary_stl(TETRAHEDRON)[:-1],
        binary_stl(TETRAHEDRON * np.nan),
        b"\0" * 80 + b"\xff\xff\xff\xff",
    ],
)
def test_a_broken_mesh_is_refused(content):
    with pytest.raises(ValueError):
        read_stl(content)


@pytest.mark.parametrize(
    "shape",
    [
        '<mesh filename="../secret.stl"/>',
        '<mesh filename="http://example.org/a.stl"/>',
        '<mesh filename="package://../secret.stl"/>',
        '<mesh filename="link.stl"/>',
        '<mesh filename="a.dae"/>',
        '<mesh filename="bad.stl"/>',
        '<sphere radius="-1"/>',
        '<box size="1 0 1"/>',
        '<cylinder radius="1"/>',
        "",
    ],
)
def test_geometry_that_cannot_be_read_is_told_and_a_capsule_stands_for_it(
    shape, tmp_path, monkeypatch
):
    folder = tmp_path / "urdf"
    folder.mkdir()
    (tmp_path / "secret.stl").write_bytes(binary_stl(TETRAHEDRON))
    (folder / "link.stl").symlink_to(tmp_path / "secret.stl")
    (folder / "bad.stl").write_bytes(b"solid nothing")
    (folder / "a.dae").write_bytes(b"<COLLADA/>")
    opened = []
    real = Path.open
    monkeypatch.setattr(Path, "open", lambda p, *a, **k: opened.append(p) or real(p, *a, **k))
    found = surface(collision(shape), folder / "arm.urdf", radius=0.04)
    assert len(found.missing) == 1 and "upper" in found.missing[0]
    assert {path.name for path in opened} <= {"arm.urdf", "bad.stl", "package.xml"}
    # From the joint to the centre of mass, 0.1 m above it
    assert np.ptp(found.points, axis=0) == pytest.approx([0.08, 0.08, 0.18], rel=0.02)


def test_a_urdf_that_cannot_be_read_is_told():
    model = rd.load_urdf(ARM.format(shapes=""))
    for text in ("<robot", "<!DOCTYPE r [<!ENTITY a 'b'>]><robot>&a;</robot>", "no_such.urdf"):
        found = surface_points(model, text)
        assert "cannot be read" in found.missing[0] and len(found.points) > 100


def test_a_housing_on_one_axis_belongs_half_to_each_link():
    """Two joints 0.4 m apart on the second one's axis: which link is between them is not told."""
    link = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
    link += 'ixy="0" ixz="0" iyz="0"/></inertial></link>'
    joint = '<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{2}"/>'
    joint += '<origin xyz="{3}"/><axis xyz="{4}"/></joint>'
    parts = [link.format(name) for name in "abc"]
    parts += [joint.format("ab", "a", "b", "0 0 0", "0 1 0")]
    parts += [joint.format("bc", "b", "c", "0 0 0.4", "0 0 1")]
    model = rd.load_urdf(f"<robot name='r'>{''.join(parts)}</robot>")
    found = surface_points(model, radius=0.05)
    inner, outer = np.split(found.points, found.start[1:-1])
    assert inner[:, 2].max() == pytest.approx(0.25, abs=0.002)
    assert outer[:, 2].min() == pytest.approx(-0.25, abs=0.002)


def test_surfaces_of_a_user_are_checked():
    good = {"points": np.zeros((2, 3)), "normals": np.eye(3)[:2], "start": np.array([0, 2])}
    LinkSurfaces(**good)
    for bad in (
        {"points": np.zeros((2, 2))},
        {"normals": np.zeros((2, 3))},
        {"start": np.array([0, 1])},
        {"points": np.full((2, 3), np.nan)},
    ):
        with pytest.raises(rd.ArgumentError):
            LinkSurfaces(**{**good, **bad})
    with pytest.raises(rd.ArgumentError, match="radius"):
        surface_points(rd.robots.planar_2r(), radius=0.0)


def panda_like(links="panda_link"):
    """A chain with the names of a Panda's links, whose meshes are absent."""
    inertial = '<inertial><mass value="1"/><origin xyz="0 0 0.05"/><inertia ixx="0.1" iyy="0.1" '
    inertial += 'izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
    mesh = '<collision><geometry><mesh filename="meshes/a.stl"/></geometry></collision>'
    parts = [f'<link name="{links}{k}">{inertial}{mesh}</link>' for k in range(8)]
    parts += [
        f'<joint name="j{k}" type="revolute"><parent link="{links}{k - 1}"/><child '
        f'link="{links}{k}"/><origin xyz="0 0 0.2"/><axis xyz="0 {k % 2} {1 - k % 2}"/>'
        '<limit lower="-2" upper="2" effort="50" velocity="2"/></joint>'
        for k in range(1, 8)
    ]
    return f"<robot name='arm'>{''.join(parts)}</robot>"


def test_a_model_keeps_its_geometry(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.format(shapes=collision('<sphere radius="0.21"/>')))
    model = rd.load_urdf(path).replace(gravity=(0.0, 0.0, 0.0))
    assert model.geometry == str(path)
    found = surface_points(model)
    assert np.isclose(np.linalg.norm(found.points, axis=1), 0.21).sum() > 500
    assert surface_points(model) is found  # read once
    text = rd.load_urdf(path.read_text())
    np.testing.assert_array_equal(surface_points(text).points, found.points)
    path.unlink()
    gone = surface_points(rd.load_urdf(text.geometry).replace(geometry=str(path)))
    assert "cannot be read" in gone.missing[0] and len(gone.points)


def test_known_shapes_stand_for_meshes_that_are_absent():
    model = rd.load_urdf(panda_like())
    found, plain = surface_points(model), surface_points(model, known=False)
    assert "panda_link3: its shape is that of panda/shapes.urdf" in found.missing
    assert len(found.missing) == 14 and len(plain.missing) == 7
    assert found.points.shape != plain.points.shape or not np.allclose(found.points, plain.points)
    other = rd.load_urdf(panda_like("other_link"))
    np.testing.assert_array_equal(surface_points(other).points, plain.points)


def test_built_in_arms_have_the_shapes_of_their_urdf():
    model = rd.robots.kuka_lwr4()
    own = surface_points(model, str(rd.share_path("urdf", "kuka_lwr4.urdf")))
    assert surface_points(model).missing == ()
    np.testing.assert_array_equal(surface_points(model).points, own.points)


def test_shapes_may_be_given_to_a_node(tmp_path):
    path = tmp_path / "shapes.urdf"
    path.write_text(ARM.format(shapes=collision('<sphere radius="0.3"/>')))
    text = ARM.format(shapes="")
    model = RobotSettings(shapes=str(path)).load(text)
    assert model.geometry == str(path)
    assert np.linalg.norm(surface_points(model).points, axis=1).max() == pytest.approx(0.3)
    with pytest.raises(rd.ArgumentError, match=r"robot\.shapes names no file"):
        RobotSettings(shapes=str(tmp_path / "none.urdf")).load(text)
