"""Small URDFs for the tests."""


def link(name, mass=1.0, *, com="0.1 -0.05 0.2", rpy="0.3 -0.2 0.5", inertia=(0.02, 0.03, 0.04)):
    ixx, iyy, izz = inertia
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}" rpy="{rpy}"/><mass value="{mass}"/>'
        f'<inertia ixx="{ixx}" ixy="0.001" ixz="-0.002" iyy="{iyy}" iyz="0.0015" izz="{izz}"/>'
        "</inertial></link>"
    )


def bare(name):
    return f'<link name="{name}"/>'


def joint(name, parent, child, kind="revolute", *, axis="0 0 1", origin=None, more=""):
    origin = origin or 'xyz="0.3 0.1 -0.2" rpy="0.4 -0.7 1.1"'
    return (
        f'<joint name="{name}" type="{kind}"><origin {origin}/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="{axis}"/>{more}</joint>'
    )


def robot(*parts, head=""):
    return f'<robot name="r"{head}>' + "\n".join(parts) + "</robot>"


def limit(lower=-2.0, upper=2.0, effort=10.0, velocity=3.0):
    return f'<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="{velocity}"/>'


def mimic(leader, multiplier=1.0, offset=0.0):
    return f'<mimic joint="{leader}" multiplier="{multiplier}" offset="{offset}"/>'


PAIR = (bare("base"), link("a"), joint("j1", "base", "a", more=limit()))

# A trunk with two arms: every kind of joint, a fixed one in the middle, frames without mass.
TREE = robot(
    bare("world"),
    link("base"),
    joint("to_base", "world", "base", "fixed"),
    link("trunk", 3.0),
    joint("turn", "base", "trunk", "continuous", axis="0 0 2", more=limit(effort=0, velocity=0)),
    link("mount", 0.7),
    joint("to_mount", "trunk", "mount", "fixed"),
    link("left_1"),
    joint("left_slide", "mount", "left_1", "prismatic", axis="1 1 0", more=limit(-0.5, 0.5)),
    link("left_2", 0.8),
    joint("left_turn", "left_1", "left_2", axis="0.3 -0.5 0.8", more=limit(-2, 2, 7, 4)),
    bare("left_tool"),
    joint("to_tool", "left_2", "left_tool", "fixed"),
    link("right_1", 0.9),
    joint("right_turn", "trunk", "right_1", axis="0 -1 0", more=limit()),
    link("right_2", 0.4),
    joint("right_slide", "right_1", "right_2", "prismatic", axis="0 0 -1", more=limit()),
)
TREE_JOINTS = ["turn", "left_slide", "left_turn", "right_turn", "right_slide"]

# The same with fingers: both follow the slide, one by way of the other and before it.
COUPLED = TREE.replace(
    "</robot>",
    link("finger_1", 0.2)
    + joint(
        "finger_1", "left_2", "finger_1", "prismatic", more=limit() + mimic("finger_2", -0.5, 0.02)
    )
    + link("finger_2", 0.3)
    + joint(
        "finger_2",
        "left_2",
        "finger_2",
        axis="1 0 1",
        more=limit() + mimic("right_slide", 2.0, 0.1),
    )
    + "</robot>",
)
COUPLINGS = {
    "finger_1": ("right_slide", -1.0, 0.02 - 0.05),
    "finger_2": ("right_slide", 2.0, 0.1),
}
