"""The internet sockets of processes, as /proc lists them."""

import ipaddress
import os
import sys
from contextlib import suppress
from pathlib import Path

# Environment by which `robodyn demo` keeps ROS on this machine, unless it is set
ROS_SETTINGS = (
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
    "FASTRTPS_DEFAULT_PROFILES_FILE",
    "FASTDDS_DEFAULT_PROFILES_FILE",
)


def sockets(pid):
    """Yield (protocol, address, port) of the internet sockets of a process."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed in the meantime
            target = os.readlink(descriptor)
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    for protocol in ("tcp", "udp", "tcp6", "udp6"):
        table = Path(f"/proc/{pid}/net/{protocol}")
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            fields = line.split()
            if fields[9] in inodes:
                yield protocol, *address(fields[1])


def sockets_of_session(session):
    """Yield (program, protocol, address, port) of all processes of a session."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # ended in the meantime
            if os.getsid(int(folder.name)) == session:
                words = (folder / "cmdline").read_text().split("\0")
                what = " ".join(words[2:4]).removesuffix(" --ros-args")  # after `python -m`
                yield from ((what, *socket) for socket in sockets(folder.name))


def address(text):
    """Return address and port from /proc's hexadecimal words in native byte order."""
    digits, _, port = text.partition(":")
    raw = bytes.fromhex(digits)
    words = [raw[k : k + 4] for k in range(0, len(raw), 4)]
    if sys.byteorder == "little":
        words = [word[::-1] for word in words]
    return ipaddress.ip_address(b"".join(words)), int(port, 16)


def beyond_loopback(found):
    """Return the sockets that other machines could reach."""
    return [socket for socket in found if not socket[2].is_loopback]
