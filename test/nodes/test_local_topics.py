"""Topics within one process: plain calls from every local publisher, and from other processes."""

import pytest
from ros_harness import bench

from rclpy.node import Node  # isort: skip
from std_msgs.msg import Float64  # isort: skip

from robodyn_ros.nodes.local_topics import (  # isort: skip
    LocalPublisher,
    LocalQueue,
    LocalSubscription,
)


@pytest.fixture
def there():
    with bench(lambda: Node("here")) as there:
        yield there


def test_all_local_publishers_of_a_topic_reach_a_subscription_once(there):
    (node,), received, queue = there.nodes, [], LocalQueue()
    subscription = LocalSubscription(node, Float64, "value", received.append, 10)
    publishers = [LocalPublisher(node, Float64, "value", 10) for _ in range(2)]
    other = LocalPublisher(node, Float64, "other", 10)
    for _ in range(2):  # as when a node that waited for its robot is connected later
        for publisher in (*publishers, other):
            subscription.connect(publisher, queue)
    for k, publisher in enumerate((*publishers, other)):
        publisher.publish(Float64(data=float(k)))
    assert [message.data for message in received] == [0.0, 1.0]
    subscription.set_open(False)
    publishers[0].publish(Float64(data=3.0))
    assert len(received) == 3  # by a plain call, which costs little


@pytest.mark.parametrize("keep_remote", [False, True])
def test_a_connected_subscription_hears_other_processes_if_it_should(there, keep_remote):
    (node,), received = there.nodes, []
    subscription = LocalSubscription(
        node, Float64, "value", received.append, 10, keep_remote=keep_remote
    )
    publisher = LocalPublisher(node, Float64, "value", 10)
    subscription.connect(publisher, LocalQueue())
    there.collect(Float64, "value")
    outside = there.node.create_publisher(Float64, "value", 10)
    there.until(lambda: outside.get_subscription_count() == 1 + keep_remote)
    publisher.count_subscribers()
    publisher.publish(Float64(data=1.0))  # to the process, and to all others, too
    there.run(0.2)
    outside.publish(Float64(data=2.0))
    there.run(0.2)
    assert [message.data for message in received] == ([1.0, 2.0] if keep_remote else [1.0])


def test_beside_the_demo_a_controller_takes_the_trajectories_of_other_processes():
    from trajectory_msgs.msg import JointTrajectory

    from robodyn_ros.nodes.composed import connect
    from robodyn_ros.nodes.controller_node import ControllerNode
    from robodyn_ros.nodes.demo_node import DemoNode

    with bench(ControllerNode, DemoNode, args=["-p", "robot.name:=lwr_iii"]) as there:
        connect(there.nodes)
        topic = "controller_node/joint_trajectory"
        outside = there.node.create_publisher(JointTrajectory, topic, 10)
        there.until(lambda: outside.get_subscription_count() == 1)
        outside.publish(JointTrajectory(joint_names=["none"]))
        there.until(lambda: "rejected a trajectory" in there.nodes[0].last_warning)
