"""Stop: brake and hold."""

from ..controller import Controller
from .reaction import Reaction


class Stop(Reaction):
    """Brakes within the limits, finally at the rate `braking` [1/s], and holds there."""

    def __init__(self, law: Controller, braking: float = 30.0) -> None:
        super().__init__(law, 0.0, braking)
