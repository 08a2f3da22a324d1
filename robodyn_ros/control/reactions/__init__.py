"""Reactions of an arm to contact, after [DeLuca2006], by the law of `laws.momentum_damping`:

    tau = g(q) + K_r r - k M(q) (qd - qd_r)

Stop has a large k, float a small one, reflex adds K_r r. For admittance the push moves qd_r.
`null_space` follows the push as far as the hand stays where it is.
"""

from .admittance import Admittance as Admittance
from .float_ import Float as Float
from .null_space import NullSpace as NullSpace
from .reaction import Reaction as Reaction
from .reflex import Reflex as Reflex
from .stop import Stop as Stop
