"""A rig's messages as a real bag, and whether the bag gives the verdicts that the node gave."""

from contextlib import contextmanager
from pathlib import Path

import fault_rig
import numpy as np
from rclpy.serialization import serialize_message

from robodyn_ros.recording.bags import BagWriter, open_bag
from robodyn_ros.recording.joint_states import TYPE
from robodyn_ros.recording.offline import detect
from robodyn_ros.recording.run import COMMANDS, Sources, read_samples

STATES_TOPIC, COMMANDS_TOPIC = "/joint_states", "/effort_controller/commands"


class RecordedRig(fault_rig.Rig):
    """A rig that keeps what its detector received, and each verdict on a sample."""

    made: list = []

    def __init__(self, **parameters):
        self.received, self.verdicts = [], []
        super().__init__(**parameters)
        self.made.append(self)

    def _listen(self):
        super()._listen()
        monitor = self.detector.monitor
        judge = type(monitor).update

        def update(sample):
            verdict = judge(monitor, sample)
            if sample.status.valid:
                self.verdicts.append((sample.t, verdict))
            return verdict

        monitor.update = update

    def deliver(self, message):
        self._keep(STATES_TOPIC, message)
        super().deliver(message)

    def obey(self, message):
        self._keep(COMMANDS_TOPIC, message)
        super().obey(message)

    def _keep(self, topic, message):
        when = round(self.now * 1e9)
        self.received.append((topic, when, serialize_message(message)))

    def write_bag(self, path):
        """Write what was received; messages of one instant keep their order by nanoseconds."""
        last = 0
        with BagWriter(path) as out:
            out.add(STATES_TOPIC, TYPE)
            out.add(COMMANDS_TOPIC, COMMANDS)
            for topic, when, raw in self.received:
                last = max(when, last + 1) if when >= last - 1000 else when
                out.write(topic, last, raw)

    def check_offline(self, folder: Path):
        """The bag gives the same verdicts, sample by sample."""
        path = folder / f"bag_{self.made.index(self)}"
        self.write_bag(path)
        settings = self.detector.settings
        sources = Sources(effort=settings.effort.source)
        with open_bag(path) as bag:
            samples = read_samples(
                bag, self.model, sources, sensing=settings.sensing, rate=settings.rate
            ).samples
        found = detect(
            self.model,
            samples,
            settings.monitor,
            settings.sensing,
            commanded=settings.effort.source == "command",
            effort=settings.effort,
        )
        rows = np.flatnonzero(samples.valid).tolist()
        ours, theirs = samples.t[rows], np.array([t for t, _ in self.verdicts])
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-8)
        exact = bool((ours == theirs).all())  # times of receipt are rounded to nanoseconds
        for k, (t, live) in zip(rows, self.verdicts, strict=True):
            offline = found.verdict(k)
            names = ("level", "joints", "link", "link_cause", "where", "fault")
            told, again = ([getattr(one, name) for name in names] for one in (live, offline))
            assert told == again, (t, live, offline)
            assert equal(offline.r, live.r, 0.0 if exact else 1e-6), (t, live, offline)
            if exact:
                assert equal(offline.force, live.force), (t, live, offline)
                assert offline.confidence == live.confidence
                assert (offline.ended is None) == (live.ended is None)
        return len(rows)


def equal(a, b, tolerance=0.0):
    """Return whether numbers are equal; unknown ones, NaN, equal each other."""
    return ((np.abs(a - b) <= tolerance) | ((a != a) & (b != b))).all()


@contextmanager
def recorded_rigs():
    """Let all rigs made inside be recorded ones; yields their list."""
    plain, fault_rig.Rig, RecordedRig.made[:] = fault_rig.Rig, RecordedRig, []
    try:
        yield RecordedRig.made
    finally:
        fault_rig.Rig = plain
