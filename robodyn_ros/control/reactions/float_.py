"""Float: gravity compensation; the name `float` is Python's."""

from ..controller import Controller
from .reaction import Reaction


class Float(Reaction):
    """Gravity compensation with light damping [1/s]: the arm is free and can be guided."""

    holds = False

    def __init__(self, law: Controller, damping: float = 3.0) -> None:
        super().__init__(law, 0.0, damping)
