"""ElasticSettings: what the elastic law knows of the joints."""

from dataclasses import dataclass
from typing import Any

from ..settings import check, one_or_each, setting

Numbers = tuple[float, ...]
MEASURED = ("torque", "motor")  # what of `ElasticJointController.measured` a joint state can hold


@dataclass(frozen=True)
class ElasticSettings:
    """Elasticity of the joints, one for all or one each."""

    stiffness: Numbers = setting(
        (1e4,),
        "stiffness of the joints; 0: stiffness and damping of the model",
        "N m/rad",
        low=0.0,
    )
    damping: Numbers = setting((10.0,), "damping of the joints", "N m s/rad", low=0.0)
    measured: str = setting(
        "torque",
        "torque: positions of the links, and joint torques as effort; motor: positions of the "
        "motors",
        choices=MEASURED,
    )

    def __post_init__(self) -> None:
        check(self)

    def options(self) -> dict[str, Any]:
        """Return the arguments for `ElasticJointController.with_frequency`."""
        springs: dict[str, Any] = {}
        if any(self.stiffness):
            springs["stiffness"] = one_or_each(self.stiffness)
            springs["damping"] = one_or_each(self.damping)
        return {"measured": self.measured, **springs}
