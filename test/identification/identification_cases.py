"""A URDF with many kinds of elements; and logs without a simulator, by inverse dynamics."""

from dataclasses import replace

import numpy as np

import robodyn_ros as rd
from robodyn_ros.dynamics.friction import friction_torque
from robodyn_ros.identification.excitation import excitation
from robodyn_ros.sensing.log import Log

WIDTH = 0.01

INERTIA = '<inertia ixx=".1" ixy="0" ixz="0" iyy=".1" iyz="0" izz=".1"/>'
# A revolute and a prismatic joint, a fixed tool, a mimic joint, and tags without dynamics
ARM = f"""<?xml version="1.0" encoding="utf-8"?>
<!-- before the robot -->
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><mass value="3"/>{INERTIA}</inertial>
    <visual><geometry><mesh filename="package://arm/upper.dae"/></geometry></visual>
  </link>
  <link name="slide"> <!-- the maker's drawing is wrong here: é -->
    <inertial><mass value="2"/>{INERTIA}</inertial>
  </link>
  <link name="tool">
    <inertial><mass value="1"/>{INERTIA}</inertial>
  </link>
  <link name="finger">
    <inertial><mass value=".1"/>{INERTIA}</inertial>
  </link>
  <joint name="shoulder" type="continuous">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/><dynamics damping="9"/>
  </joint>
  <joint name="reach" type="prismatic">
    <parent link="upper"/><child link="slide"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="1" effort="9" velocity="1"/>
  </joint>
  <joint name="flange" type="fixed">
    <origin xyz="0 0 .1"/><parent link="slide"/><child link="tool"/>
  </joint>
  <joint name="grip" type="prismatic">
    <parent link="slide"/><child link="finger"/><axis xyz="0 0 1"/>
    <mimic joint="reach" multiplier="0.1"/><dynamics friction="0.5"/>
    <limit lower="0" upper="1" effort="9" velocity="1"/>
  </joint>
  <transmission name="t">
    <type>transmission_interface/SimpleTransmission</type>
    <joint name="shoulder"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
    <actuator name="m">
      <drake:gear_ratio value="100"/><drake:rotor_inertia value="1e-4"/>
    </actuator>
  </transmission>
  <gazebo reference="tool"><material>Gazebo/Red</material></gazebo>
</robot>
"""


def log_of(real, motion, *, rate=200.0, noise=0.0, seed=0, name="log"):
    """Return the log of the real robot on this motion; noise: relative torque noise."""
    random = np.random.default_rng(seed)
    t = np.arange(round(motion.duration * rate)) / rate
    q, qd, qdd, _ = motion.at(t)
    tau = rd.inverse_dynamics(real, q, qd, qdd) + friction_torque(real, qd, width=WIDTH)
    tau = tau + noise * tau.std(axis=0) * random.normal(size=tau.shape)
    return Log(t, q, qd, tau, name)


MOTIONS = {}  # excitations by robot, seed and options: the search takes most of a test's time


def motion_of(model, seed=0, **more):
    """Return a short excitation; a copy, so that a test may change it."""
    more = {"duration": 10.0, "tries": 3, "harmonics": 3, "qd_max": 2.0, "qdd_max": 8.0} | more
    key = (model.name, seed, *sorted(more.items()))
    if key not in MOTIONS:
        MOTIONS[key] = excitation(model, seed=seed, **more)
    found = MOTIONS[key]
    return replace(found, a=found.a.copy(), b=found.b.copy())
