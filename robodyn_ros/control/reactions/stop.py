"""Stop: brake and hold."""

from ..controller import Controller
from .reaction import Reaction


class Stop(Reaction):
    """Brakes as hard as torque and torque rate allow, and holds where the arm comes to rest.

    braking [1/s]: the rate at which the speed falls in the end.
    """

    def __init__(self, law: Controller, braking: float = 30.0) -> None:
        super().__init__(law, 0.0, braking)
