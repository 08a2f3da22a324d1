"""The tree of a URDF, and the plan of its joints: moving, rigid or cut off."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import UrdfError
from .rigid_body import RigidBody
from .urdf_elements import LARGEST, Elements, Joint
from .urdf_xml import quoted

MOVABLE = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class Coupling:
    """Position of a moving joint: ratio * q[joint] + offset."""

    joint: str
    ratio: float = 1.0
    offset: float = 0.0


class Tree:
    """The links and joints of a URDF, checked to form one tree."""

    def __init__(self, elements: Elements) -> None:
        self.name = elements.name
        self.links: dict[str, RigidBody] = {}
        self.joints: dict[str, Joint] = {}
        self.above: dict[str, Joint] = {}  # link -> the joint that carries it
        self.below: dict[str, list[Joint]] = {}  # link -> the joints on it, in document order
        for name, body in elements.links:
            self._add_link(name, body)
        if not self.links:
            raise UrdfError(f"robot {quoted(self.name)} has no <link>; give a complete URDF")
        for joint in elements.joints:
            self._add_joint(joint)
        self.root = self._only_root()
        self._check_reachable()

    def walk(self, root: str) -> Iterator[Joint]:
        """Yield all joints below a link, depth first, siblings in document order."""
        stack = self.below[root][::-1]
        while stack:
            joint = stack.pop()
            yield joint
            stack.extend(self.below[joint.child][::-1])

    def way(self, root: str, tip: str) -> list[Joint]:
        """Return the joints from a link to one below it."""
        joints: list[Joint] = []
        link = tip
        while link != root:
            if link not in self.above:
                raise UrdfError(
                    f"tip {quoted(tip)} is not below root {quoted(root)}; choose a tip that the "
                    f"root carries, or another root (the URDF's own is {quoted(self.root)})"
                )
            joints.append(self.above[link])
            link = joints[-1].parent
        return joints[::-1]

    def check_link(self, name: Any, argument: str) -> str:
        """Return `name`; raise UrdfError if it is no link."""
        if not isinstance(name, str) or name not in self.links:
            raise UrdfError(
                f"{argument} {quoted(name)} is no link of robot {quoted(self.name)}; choose one "
                f"of {_some(self.links)}"
            )
        return name

    def check_joint(self, name: Any, argument: str) -> Joint:
        """Return the joint called `name`; raise UrdfError if there is none."""
        if not isinstance(name, str) or name not in self.joints:
            raise UrdfError(
                f"{argument} names joint {quoted(name)}, which robot {quoted(self.name)} does not "
                f"have; choose from {_some(self.joints)}"
            )
        return self.joints[name]

    def _add_link(self, name: str, body: RigidBody) -> None:
        if name in self.links:
            raise UrdfError(f"two links are called {quoted(name)}; rename or delete one")
        self.links[name] = body
        self.below[name] = []

    def _add_joint(self, joint: Joint) -> None:
        what = f"joint {quoted(joint.name)}"
        if joint.name in self.joints:
            raise UrdfError(f"two joints are called {quoted(joint.name)}; rename or delete one")
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in self.links:
                raise UrdfError(
                    f"{what} has {role} {quoted(link)}, which is no link of the URDF; add the "
                    f"link or correct <{role}>"
                )
        if joint.child in self.above:
            other = self.above[joint.child].name
            raise UrdfError(
                f"link {quoted(joint.child)} is the child of two joints, {quoted(other)} and "
                f"{quoted(joint.name)}; a URDF is a tree without loops: delete one of them"
            )
        self.joints[joint.name] = joint
        self.above[joint.child] = joint
        self.below[joint.parent].append(joint)

    def _only_root(self) -> str:
        roots = [link for link in self.links if link not in self.above]
        if not roots:
            raise self._loop(next(iter(self.links)))
        carried = [link for link in roots if self.below[link]]
        if len(roots) == 1:
            return roots[0]
        if len(carried) <= 1:
            lone = next(link for link in roots if link not in carried[:1])
            raise UrdfError(
                f"link {quoted(lone)} is an orphan that no joint connects to the rest; connect "
                "it with a joint or delete it"
            )
        raise UrdfError(
            f"the URDF has {len(carried)} roots, {_some(carried)}; connect them with a fixed "
            "joint or keep only one tree"
        )

    def _check_reachable(self) -> None:
        reached = {self.root, *(joint.child for joint in self.walk(self.root))}
        for link in self.links:
            if link not in reached:
                raise self._loop(link)

    def _loop(self, link: str) -> UrdfError:
        seen: set[str] = set()
        while link not in seen:
            seen.add(link)
            link = self.above[link].parent
        joint = self.above[link].name
        return UrdfError(
            f"joint {quoted(joint)} closes a loop through link {quoted(link)}; a URDF is a tree: "
            "delete one joint of the loop"
        )


class Plan:
    """Role of each joint below the root: moving, rigid, or cut off."""

    def __init__(self, tree: Tree, root: str, tip: str | None, lock: Mapping[str, float]) -> None:
        self.tree, self.root, self.lock = tree, root, lock
        below = list(tree.walk(root))
        on_way = below if tip is None else tree.way(root, tip)
        kept = {joint.name for joint in on_way}
        self.moving: dict[str, Coupling] = {}  # in the order of the rows
        self.rigid: dict[str, float] = {}  # joint -> its position
        cut: set[str] = set()  # links that are cut off with their subtrees
        for joint in below:
            if joint.parent in cut:
                cut.add(joint.child)
                continue
            position = self._position(joint, needed=joint.name in kept)
            if position is None:
                cut.add(joint.child)
            elif isinstance(position, Coupling):
                self.moving[joint.name] = position
            else:
                self.rigid[joint.name] = position
        self._check_coordinates()

    @property
    def coordinates(self) -> list[str]:
        """Joints with a coordinate of their own, in the order of the rows."""
        return [name for name, coupling in self.moving.items() if coupling.joint == name]

    def _position(self, joint: Joint, *, needed: bool) -> Coupling | float | None:
        """Return the coupling of a moving joint, the position of a rigid one, or None: cut off."""
        if joint.name in self.lock or joint.kind == "fixed":
            return self.lock.get(joint.name, 0.0)
        if joint.kind not in MOVABLE:
            if needed:
                raise _unsupported(joint)
            return None
        coupling = self._coupling(joint)
        standstill = self._standstill(coupling)
        if standstill is not None:
            return standstill
        return coupling if needed else None

    def _coupling(self, joint: Joint) -> Coupling:
        """Return the coupling to the joint that ends the chain of <mimic>."""
        ratio, offset = 1.0, 0.0
        seen = [joint.name]
        while joint.mimic and joint.name not in self.lock and joint.kind != "fixed":
            name, multiplier, shift = joint.mimic
            if name not in self.tree.joints:
                raise UrdfError(
                    f"joint {quoted(joint.name)} mimics {quoted(name)}, which is no joint of the "
                    "URDF; correct <mimic> or lock the joint"
                )
            if name in seen:
                raise UrdfError(
                    f"joint {quoted(seen[0])} mimics itself by way of {quoted(joint.name)}; "
                    "remove one <mimic> or lock the joint"
                )
            seen.append(name)
            offset += ratio * shift
            ratio *= multiplier
            joint = self.tree.joints[name]
        if max(abs(ratio), abs(offset)) > LARGEST:
            raise UrdfError(
                f"joint {quoted(seen[0])} mimics {quoted(joint.name)} with ratio {ratio:g} and "
                f"offset {offset:g}, which is too large; correct <mimic>"
            )
        return Coupling(joint.name, ratio, offset)

    def _standstill(self, coupling: Coupling) -> float | None:
        """Return the position of a joint whose leader is locked or fixed; None if it moves."""
        leader = self.tree.joints[coupling.joint]
        if leader.name in self.lock or leader.kind == "fixed":
            return coupling.ratio * self.lock.get(leader.name, 0.0) + coupling.offset
        return None

    def _check_coordinates(self) -> None:
        for name, coupling in self.moving.items():
            if coupling.joint not in self.moving:
                leader = quoted(coupling.joint)
                raise UrdfError(
                    f"joint {quoted(name)} mimics {leader}, which root= or tip= cuts off; lock "
                    f"one of them (lock=[{quoted(name)}]), or choose root and tip so that "
                    f"{leader} stays"
                )
        if not self.moving:
            raise UrdfError(
                f"robot {quoted(self.tree.name)} has no movable joint below {quoted(self.root)}; "
                "choose another root or tip, or lock fewer joints"
            )


def _unsupported(joint: Joint) -> UrdfError:
    return UrdfError(
        f"joint {quoted(joint.name)} is of type {quoted(joint.kind)}, which is not supported; "
        f"lock it (lock=[{quoted(joint.name)}]), or choose another root, such as "
        f"root={quoted(joint.child)}"
    )


def locked_positions(tree: Tree, lock: Any) -> dict[str, float]:
    """Return the `lock` argument as a mapping: joint -> position [rad or m]."""
    if lock is None:
        return {}
    if isinstance(lock, str):
        lock = [lock]
    if not isinstance(lock, Iterable):
        raise UrdfError(f"lock is {quoted(lock)}; give joint names, or a mapping name -> position")
    items = lock.items() if isinstance(lock, Mapping) else ((name, 0.0) for name in lock)
    return {name: _locked_position(tree.check_joint(name, "lock"), at) for name, at in items}


def _locked_position(joint: Joint, value: Any) -> float:
    try:
        position = float(value)
    except (TypeError, ValueError, OverflowError):
        position = math.nan
    if not abs(position) <= LARGEST:
        raise UrdfError(
            f"lock holds joint {quoted(joint.name)} at {quoted(value)}; give a finite position"
        )
    if joint.kind not in MOVABLE and position != 0.0:
        raise UrdfError(
            f"lock holds joint {quoted(joint.name)} of type {quoted(joint.kind)} at "
            f"{position:g}; lock it at 0, it has no such position"
        )
    return position


def _some(names: Iterable[str]) -> str:
    """Return the names for a message, at most twelve."""
    every = list(names)
    listed = ", ".join(quoted(name) for name in every[:12])
    return listed + (f" and {len(every) - 12} more" if len(every) > 12 else "")
