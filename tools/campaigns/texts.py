"""Texts of good files, which a campaign damages."""

MJCF = """<mujoco model="grip"><compiler angle="degree"/><option gravity="0 0.1 -9"/>
<default><joint damping="0.1" armature="0.01"/><default class="a"><geom rgba="1 0 0 1"/></default>
</default>
<asset><mesh name="tip" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/></asset>
<worldbody><geom type="plane" size="1 1 1"/>
<body name="base" pos="0 0 1" euler="10 20 30"><freejoint name="free"/>
<inertial pos="0 0 0.1" mass="2" diaginertia="0.1 0.2 0.15"/>
<geom class="a" type="box" size="0.1 0.2 0.05"/><site name="eye" pos="0 0 1"/>
<body name="arm" pos="0.1 0 0"><joint name="yaw" axis="0 0 1" range="-90 90" ref="10"/>
<joint name="lift" type="slide" axis="0 1 1" pos="0 0 0.1" range="-0.1 0.2" frictionloss="0.3"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" mass="1"/>
<body name="left" pos="0.3 0.05 0"><joint name="l" type="slide" range="0 0.05"/>
<geom type="ellipsoid" size="0.05 0.02 0.02"/></body>
<body name="right" pos="0.3 -0.05 0"><joint name="r" type="slide" range="0 0.05"/>
<geom type="mesh" mesh="tip"/></body>
<body name="tail" pos="0 0 0.2"><joint name="ball" type="ball"/>
<geom type="cylinder" size="0.05 0.1"/></body></body></body></worldbody>
<equality><joint joint1="r" joint2="l" polycoef="0 1 0 0 0"/></equality>
<actuator><position joint="yaw" kp="20" kv="2" forcerange="-5 5"/>
<motor joint="lift" gear="3" ctrlrange="-2 2"/><velocity joint="l" kv="1"/></actuator>
<keyframe><key qpos="0 0 1 1 0 0 0 0.1 0.1 0.01 0.01 1 0 0 0"/></keyframe></mujoco>
"""
MESH_ROBOT = """<robot name="ball"><link name="ball"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<collision><geometry><mesh filename="{}"/></geometry></collision></link></robot>
"""
# What stands still, what mocap moves, tendons, thrusters, and controls that are followed.
SCENE = """<mujoco model="scene"><compiler angle="radian"/><asset>
<hfield name="hills" nrow="3" ncol="4" size="0.5 0.4 0.2 0.1" elevation="4 3 3 4 3 1 0 3 4 3 2 4"/>
</asset><worldbody><geom name="floor" type="plane" size="3 3 .1" friction="0.6"/>
<geom name="hills" type="hfield" hfield="hills" pos="-1 0 0"/>
<geom name="belt" type="box" size=".3 .2 .02" pos="1 0 .1" surfacevel=".5 0 0 0 0 .1"/>
<body name="hand" mocap="true" pos="-.3 0 .5"><geom type="box" size=".1 .1 .1"/></body>
<body name="drone" pos="0 1 1" euler=".1 .2 .3"><freejoint/><geom type="box" size=".2 .1 .05"/>
<site name="rotor" pos=".2 .1 .1" euler=".1 0 0"/></body>
<body name="arm" pos="0 -1 .5"><joint name="lift" axis="0 1 0" stiffness="2" springref=".1"/>
<geom type="capsule" size=".03" fromto="0 0 0 .4 0 0" contype="2" conaffinity="1"/>
<body pos=".4 0 0"><joint name="bend" axis="0 1 0" ref=".2" armature=".01"/>
<geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/><site name="tip" pos=".3 0 0"/></body></body>
<body name="rod" pos="0 -1 .9"><joint name="swing" axis="0 1 0"/>
<geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/><site name="end" pos=".3 0 0"/></body>
</worldbody><contact><exclude body1="arm" body2="rod"/></contact>
<tendon><fixed name="both" limited="true" range="-1 1" stiffness="4" damping=".2" frictionloss=".1">
<joint joint="lift" coef=".5"/><joint joint="bend" coef="-2"/></fixed></tendon>
<equality><connect body1="rod" body2="arm" anchor="0 0 0" active="false"/>
<joint joint1="swing" joint2="lift" polycoef="0 1 .1 0 0"/></equality>
<actuator><motor name="up" site="rotor" gear="0 0 1 0 0 .2" ctrlrange="0 9"/>
<position name="pull" tendon="both" kp="30" kv="2" forcerange="-1.5 1.5"/>
<position name="servo" joint="lift" kp="40" kv="3" forcerange="-6 6" ctrlrange="-1 1"/>
<general name="slow" joint="bend" dyntype="integrator" gainprm="3" actlimited="true"
actrange="0 .2"/><general name="late" joint="swing" dyntype="filter" dynprm=".1" gainprm="2"
biastype="affine" biasprm=".1 -2 -.1"/></actuator>
<keyframe><key name="up" qpos="0 1 2 1 0 0 0 .1 .3 .1" mpos="0 0 1" mquat="1 0 0 1" act=".1 .3"/>
</keyframe></mujoco>
"""
SCENARIO = """duration = 0.05
[robot]
urdf = "scene.xml"
scene = true
keyframe = "up"
[controller]
kind = "actuators"
controls = { up = 3.0, servo = 0.2, slow = 0.5 }
[motions.hand]
times = [0.0, 0.5, 1.0]
positions = [[-0.3, 0.0, 0.5], [0.0, 0.0, 0.5], [0.2, 0.0, 0.5]]
rpy = [[0.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 1.0, 0.0]]
loop = [0.0, 1.0]
[[objects]]
name = "cup"
kind = "cylinder"
radius = 0.03
length = 0.04
density = 500.0
position = [1.0, 0.0, 0.3]
[[attachments]]
first = "cup"
second = "drone"
start = 0.0
duration = 1.6
[[disturbances]]
frame = "drone"
force = [0.0, 2.0, 0.0]
start = 0.0
duration = 0.5
[terrain]
[contact]
model = "friction-cone"
stiffness = 1e7
power = 2
[integrator]
dt = 0.01
control = { kind = "error", rtol = 0.1 }
"""
