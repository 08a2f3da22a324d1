"""Settings of the fault classifier, with units and ranges."""

from dataclasses import dataclass

from ...settings import ParameterSet, setting


@dataclass(frozen=True)
class FaultSettings(ParameterSet):
    """When a contact gets the name of what caused it, and how a payload is followed."""

    enabled: bool = setting(True, "name the cause of every contact: touch, payload or fault")
    first: float = setting(
        0.3, "earliest decision after the alarm; until then it is undecided", "s", 0.3, 10.0
    )
    period: float = setting(0.1, "time between two decisions", "s", low=0.02, high=1.0)
    window: float = setting(3.0, "memory of the evidence, a time constant", "s", 0.5, 30.0)
    lead: float = setting(0.9, "probability from which on a fault is named", "", 0.5, 0.999)
    close: float = setting(
        0.3, "a case of contact is closed after this long CLEAR", "s", 0.0, 10.0
    )
    hold: float = setting(2.0, "the same for a named payload or fault", "s", low=0.0, high=60.0)
    # In a node these three are `payload.*`
    payload_link: str = setting(
        "", "link that may hold a payload; empty: the last one", internal=True
    )
    payload_follow: bool = setting(
        False,
        "take payloads into the model by themselves, at pick-up and at release",
        internal=True,
    )
    payload_max_mass: float = setting(
        5.0, "largest payload that is followed", "kg", 0.0, 1e3, internal=True
    )
    payload_time: float = setting(
        0.7, "a payload is followed this long after its alarm", "s", low=0.3, high=10.0
    )
