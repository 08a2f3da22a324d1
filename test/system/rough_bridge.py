"""A bridge that loses frames and lets others be late: `rough_bridge.py LOSS DELAY JITTER PORT …`.

What `tc netem` does, where the kernel lacks it: every frame that comes in at one port goes out at
all others, DELAY ± JITTER seconds later, or with the probability LOSS never.
"""

import heapq
import itertools
import random
import select
import socket
import sys
import time

EVERY_PROTOCOL = 3
SOL_PACKET, PACKET_VNET_HDR = 263, 15  # with it, checksums that the kernel left for later survive
OUTGOING = 4
LARGEST = 1 << 17


def port(name):
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERY_PROTOCOL))
    opened.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    opened.bind((name, 0))
    opened.setblocking(False)
    return opened


def forward(loss, delay, jitter, names):
    chance, count = random.Random(1), itertools.count()
    ports, waiting = [port(name) for name in names], []
    while True:
        pause = max(waiting[0][0] - time.monotonic(), 0.0) if waiting else None
        for came in select.select(ports, [], [], pause)[0]:
            frame, (_, _, kind, *_) = came.recvfrom(LARGEST)
            if kind == OUTGOING or chance.random() < loss:
                continue
            due = time.monotonic() + chance.uniform(delay - jitter, delay + jitter)
            heapq.heappush(waiting, (due, next(count), came, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, came, frame = heapq.heappop(waiting)
            for other in ports:
                if other is not came:
                    other.send(frame)


if __name__ == "__main__":
    forward(*(float(word) for word in sys.argv[1:4]), sys.argv[4:])
