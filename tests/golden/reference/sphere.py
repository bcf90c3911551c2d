"""The sphere placements: one geodesic step per token (GeoNorm, section 3, and its options)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

# Below this share of ‖g‖ the tangent part is rounding noise, which has no direction to turn into.
STILL = 1e-6


def decay(name: str, k: int, total: int) -> float:
    """Share of alpha at depth k = 1 ... total."""
    return {
        "harmonic": 1 / k,
        "sqrt": 1 / math.sqrt(k),
        "linear": (total - k + 1) / total,
        "linear-paper": (total - k) / total,
        "none": 1.0,
    }[name]


def retract(name: str, theta: torch.Tensor) -> torch.Tensor:
    """The angle that a retraction turns by where the exponential map turns by theta."""
    if name == "projection":
        return torch.atan(theta)
    if name == "cayley":
        return 2 * torch.atan(theta / 2)
    return theta


@dataclass
class AdaptiveAngle:
    """theta = retraction(limit(alpha·(scale·limit(r) + bias))) with r = ‖v‖/R."""

    alpha: float
    retraction: str = "exp"
    clamp: float = math.inf
    scale: torch.Tensor | float = 1.0
    bias: torch.Tensor | float = 0.0

    @property
    def vanishes_with_v(self) -> bool:
        return bool(self.bias == 0)

    def __call__(self, r: torch.Tensor) -> torch.Tensor:
        r = r.clamp(max=self.clamp)
        theta = ((self.scale * r + self.bias) * self.alpha).clamp(-self.clamp, self.clamp)
        return retract(self.retraction, theta)

    def at_rest(self, x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """The step where v = 0 exactly: its value is x and its slope in v is alpha·scale."""
        return x + self.alpha * self.scale * v


@dataclass
class FixedAngle:
    """theta is given: `angle: prenorm` turns by arctan(1/√k) whatever the branch's size is."""

    theta: float
    vanishes_with_v: bool = False

    def __call__(self, r: torch.Tensor) -> torch.Tensor:
        return torch.full_like(r, self.theta)


def sphere_step(x: torch.Tensor, g: torch.Tensor, angle: AdaptiveAngle | FixedAngle):
    """Turns every row x towards the tangent part of g, keeping ‖x‖. Shapes (..., d).

    A row x = 0 stays, and passes the gradient to x alone. A row whose tangent part vanishes
    stays as well; its slope in g is what the limit says, or zero where there is no limit.
    """
    squared = x.square().sum(-1, keepdim=True)
    centre = squared == 0
    squared = torch.where(centre, 1.0, squared)
    radius = squared.sqrt()

    v = g - ((x * g).sum(-1, keepdim=True) / squared) * x
    v_squared = v.square().sum(-1, keepdim=True)
    if angle.vanishes_with_v:
        still = v_squared == 0
        rest = angle.at_rest(x, v)
    else:
        still = v_squared.sqrt() <= STILL * g.square().sum(-1, keepdim=True).sqrt()
        rest = x
    length = torch.where(still, 1.0, v_squared).sqrt()

    theta = angle(length / radius)
    turned = torch.cos(theta) * x + radius * torch.sin(theta) * (v / length)
    return torch.where(centre, x, torch.where(still, rest, turned))


def onto_sphere(x: torch.Tensor) -> torch.Tensor:
    """Each row at radius √d; a row of zeros stays, and passes its gradient on as it is."""
    squared = x.square().sum(-1, keepdim=True)
    centre = squared == 0
    length = torch.where(centre, 1.0, squared).sqrt()
    return torch.where(centre, x, x * (math.sqrt(x.shape[-1]) / length))
