"""The Staubli RX-90 of [Khalil2019], appendix: the printed program against the regressor.

The program is that of SYMORO+ for symmetric links and base parameters. Misprints that are
corrected here: OP2 for QP2, MY2 for MYR2, ZZ1R for ZZR1, the asterisk of PIS22, missing spaces.
"""

import ast
import re

import numpy as np
import pytest
from oracle import close, random_state

import robodyn_ros as rd

LISTING = """
No31=QDP1*ZZR1; WI12=QP1*S2; WI22=C2*QP1; WP12=QDP1*S2+QP2*WI22; WP22=C2*QDP1-QP2*WI12
DV222=-WI22**2; DV332=-QP2**2; DV122=WI12*WI22; DV132=QP2*WI12; DV232=QP2*WI22
U112=DV222+DV332; U212=DV122+QDP2; U312=DV132-WP22; VP12=-G3*S2; VP22=-C2*G3
*PIS22=XXR2-ZZR2
No12=WP12*XXR2+DV232*ZZR2; No22=DV132*PIS22; No32=-DV122*XXR2+QDP2*ZZR2
WI13=C3*WI12+S3*WI22; WI23=-S3*WI12+C3*WI22; W33=QP2+QP3
WP13=QP3*WI23+C3*WP12+S3*WP22; WP23=-QP3*WI13-S3*WP12+C3*WP22; WP33=QDP2+QDP3
DV113=-WI13**2; DV333=-W33**2; DV123=WI13*WI23; DV133=W33*WI13; DV233=W33*WI23
U123=DV123-WP33; U223=DV113+DV333; U323=DV233+WP13
VSP13=d3*U112+VP12; VSP23=d3*U212+VP22; VSP33=d3*U312
VP13=C3*VSP13+S3*VSP23; VP23=-S3*VSP13+C3*VSP23
F13=MYR3*U123; F23=MYR3*U223; F33=MYR3*U323
*PIS23=XXR3-ZZR3
No13=WP13*XXR3+DV233*ZZR3; No23=DV133*PIS23; No33=-DV123*XXR3+WP33*ZZR3
WI14=-S4*W33+C4*WI13; WI24=-C4*W33-S4*WI13; W34=QP4+WI23
WP14=QP4*WI24+C4*WP13-S4*WP33; WP24=-QP4*WI14-S4*WP13-C4*WP33; WP34=QDP4+WP23
DV124=WI14*WI24; DV134=W34*WI14; DV234=W34*WI24
VSP14=RL4*U123+VP13; VSP24=RL4*U223+VP23; VSP34=RL4*U323+VSP33
VP14=C4*VSP14-S4*VSP34; VP24=-S4*VSP14-C4*VSP34
*PIS24=XXR4-ZZR4
No14=WP14*XXR4+DV234*ZZR4; No24=DV134*PIS24; No34=-DV124*XXR4+WP34*ZZR4
WI15=S5*W34+C5*WI14; WI25=C5*W34-S5*WI14; W35=QP5-WI24
WP15=QP5*WI25+C5*WP14+S5*WP34; WP25=-QP5*WI15-S5*WP14+C5*WP34; WP35=QDP5-WP24
DV115=-WI15**2; DV335=-W35**2; DV125=WI15*WI25; DV135=W35*WI15; DV235=W35*WI25
U125=DV125-WP35; U225=DV115+DV335; U325=DV235+WP15; VP15=C5*VP14+S5*VSP24
F15=MYR5*U125; F25=MYR5*U225; F35=MYR5*U325
*PIS25=XXR5-ZZR5
No15=WP15*XXR5+DV235*ZZR5; No25=DV135*PIS25; No35=-DV125*XXR5+WP35*ZZR5
WI16=-S6*W35+C6*WI15; WI26=-C6*W35-S6*WI15; W36=QP6+WI25
WP16=QP6*WI26+C6*WP15-S6*WP35; WP36=QDP6+WP25
DV126=WI16*WI26; DV136=W36*WI16; DV236=W36*WI26
*PIS26=XXR6-ZZ6
No16=WP16*XXR6+DV236*ZZ6; No26=DV136*PIS26; No36=-DV126*XXR6+WP36*ZZ6
N16=CX6+No16; N26=CY6+No26; N36=CZ6+No36; FDI16=C6*FX6-FY6*S6; FDI36=-C6*FY6-FX6*S6
E15=F15+FDI16; E25=F25+FZ6; E35=F35+FDI36
N15=C6*N16+No15-N26*S6-MYR5*VP24; N25=N36+No25; N35=-(C6*N26)+No35-N16*S6-MYR5*VP15
FDI15=C5*E15-E25*S5; FDI35=C5*E25+E15*S5
N14=C5*N15+No14-N25*S5; N24=-N35+No24; N34=C5*N25+No34+N15*S5
FDI14=C4*FDI15+E35*S4; FDI34=C4*E35-FDI15*S4
E13=F13+FDI14; E23=F23+FDI35; E33=F33+FDI34
N13=C4*N14+No13+FDI34*RL4-N24*S4+MYR3*VSP33; N23=N34+No23
N33=-(C4*N24)+No33-FDI14*RL4-N14*S4-MYR3*VP13
FDI23=C3*E23+E13*S3
N12=C3*N13+No12-N23*S3; N22=-(d3*E33)+C3*N23+No22+N13*S3
N32=d3*FDI23+N33+No32-MYR2*VP12+MXR2*VP22
N31=C2*N22+No31+N12*S2
GAM1=N31; GAM2=N32; GAM3=N33+IA3*QDP3; GAM4=N34+IA4*QDP4; GAM5=N35+IA5*QDP5; GAM6=N36+IA6*QDP6
"""
PROGRAM = [line.strip() for line in re.split(r"[;\n]", LISTING) if line.strip()]
# Where the standard parameters of a body stand, as in `regressor`
PLACES = {"MXR": 1, "MYR": 2, "XXR": 4, "ZZR": 9}
PARAMETERS = (
    "ZZR1", "XXR2", "ZZR2", "MXR2", "MYR2", "XXR3", "ZZR3", "MYR3", "XXR4", "ZZR4", "XXR5", "ZZR5",
    "MYR5", "XXR6", "ZZ6",
)  # fmt: skip
MODEL = rd.robots.rx90()


def run(values):
    """Return the torques that the printed program computes."""
    known = dict(values)
    for line in PROGRAM:
        exec(line.lstrip("*"), {}, known)
    return np.array([known[f"GAM{j}"] for j in range(1, 7)])


def test_cost_is_what_the_appendix_says():
    """160 multiplications and 113 additions; lines with an asterisk are computed off line."""
    tree = ast.parse("\n".join(line for line in PROGRAM if not line.startswith("*")))
    kinds = [type(node.op) for node in ast.walk(tree) if isinstance(node, ast.BinOp)]
    assert sum(kind in (ast.Mult, ast.Pow) for kind in kinds) == 160
    assert sum(kind in (ast.Add, ast.Sub) for kind in kinds) == 113


@pytest.mark.parametrize("seed", range(3))
def test_the_printed_program_gives_our_torque(seed):
    random = np.random.default_rng(seed)
    q, qd, qdd = random_state(MODEL, seed, 3)
    numbers = {name: random.uniform(0.1, 2.0) for name in PARAMETERS}
    rotors = np.array([0.0, 0.0, *random.uniform(0.1, 2.0, 4)])
    force, torque = random.normal(size=(2, 3))  # of the end effector on its environment, frame 6
    values = numbers | {"G3": -9.81, "d3": 0.45, "RL4": 0.45}
    for j in range(6):
        values |= {f"S{j + 1}": np.sin(q[j]), f"C{j + 1}": np.cos(q[j])}
        values |= {f"QP{j + 1}": qd[j], f"QDP{j + 1}": qdd[j], f"IA{j + 1}": rotors[j]}
    values |= dict(zip(("FX6", "FY6", "FZ6", "CX6", "CY6", "CZ6"), (*force, *torque), strict=True))

    standard = np.zeros((6, 10))
    for name, value in numbers.items():
        standard[int(name[-1]) - 1, PLACES.get(name[:3], 9)] = value
    R = rd.forward_kinematics(MODEL, q, "link_6")[:3, :3]
    wrench = np.concatenate([R @ force, R @ torque])
    expected = rd.regressor(MODEL, q, qd, qdd) @ standard.ravel() + rotors * qdd
    expected += rd.external_torque(MODEL, q, {"link_6": wrench})
    close(run(values), expected)
