"""Every placement is one row of x' = P(a·x, b·N_out(f(N_in(x)))); see docs/science.md, part 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from reference.config import Config

# b as a function of (config, block l from 1, training step from 1), Δt left out.
BranchFactor = Callable[[Config, int, int], float]


def one(config: Config, block: int, step: int) -> float:
    return 1.0


@dataclass(frozen=True)
class Placement:
    norm_in: bool = False
    norm_out: bool = False
    join: str = "plain"  # P: plain, post or sphere
    skip: Callable[[int], float] = lambda layers: 1.0  # a as a function of L
    branch: BranchFactor = one
    uses_dt: bool = True
    final: bool = False
    divide_in: bool = False  # N_in(x)/√l
    learned_scale: str = ""  # "scalar" or "channel": a factor of b that is trained
    scale_start: float = 0.0
    orthogonal: bool = False  # the branch loses its part along x
    affine_angle: bool = False  # angle_scale and angle_bias are trained


PRE = Placement(norm_in=True, final=True)
POST = Placement(join="post")
PERI = Placement(norm_in=True, norm_out=True, final=True)
SPHERE = Placement(join="sphere", uses_dt=False)


def pre(**changes) -> Placement:
    return Placement(norm_in=True, final=True, **changes)


PLACEMENTS: dict[str, Placement] = {
    "post": POST,
    "pre": PRE,
    "peri": PERI,
    "sandwich": PERI,
    "deep": Placement(join="post", skip=lambda layers: (2 * layers) ** 0.25),
    "geo": SPHERE,
    "lns": pre(divide_in=True),
    "mix": pre(),  # each block is a row of its own: see of_block
    "res-post": Placement(norm_out=True, final=True),
    "scaled": pre(branch=lambda config, block, step: config["residual.scale"]),
    "inv-l": pre(branch=lambda config, block, step: 1 / block),
    "inv-sqrt-l": pre(branch=lambda config, block, step: 1 / math.sqrt(block)),
    "rezero": Placement(learned_scale="scalar", scale_start=0.0),
    "layerscale": pre(learned_scale="channel", scale_start=1e-4),
    "keel": Placement(norm_in=True, join="post", skip=lambda layers: 2.0 * layers),
    "orthogonal": pre(orthogonal=True),
    "sphere": SPHERE,
    "prores": pre(
        branch=lambda config, block, step: min(step / (config["residual.warmup"] * block), 1.0)
    ),
    "geo-affine": Placement(join="sphere", uses_dt=False, affine_angle=True),
}

SPHERES = tuple(name for name, row in PLACEMENTS.items() if row.join == "sphere")


def of_block(config: Config, block: int) -> Placement:
    """The row that block l (from 1) follows: `mix` is post in its first quarter, else pre."""
    name = config["norm.placement"]
    if name == "mix":
        return POST if block <= config.layers // 4 else PRE
    return PLACEMENTS[name]


def has_final_norm(config: Config) -> bool:
    return config.get("norm.final", PLACEMENTS[config["norm.placement"]].final)
