"""One update of the residual stream, for every placement alike."""

from __future__ import annotations

import math

import torch
from torch import nn

from reference import placements, sphere
from reference.config import Config
from reference.norms import Norm


class Sublayer(nn.Module):
    """x' = P(a·x, b·N_out(f(N_in(x)))) on (B, T, d); attention and FFN supply f as `branch`."""

    def __init__(self, config: Config, block: int, first_of_block: bool):
        super().__init__()
        self.config = config
        self.block = block  # l, from 1
        self.index = 2 * block - 1 if first_of_block else 2 * block  # s, from 1
        self.row = row = placements.of_block(config, block)
        on_sphere = row.join == "sphere"
        has_norm_in = row.norm_in or (on_sphere and config["norm.inner"])
        self.norm_in = Norm(config) if has_norm_in else None
        self.norm_out = Norm(config) if row.norm_out else None
        self.norm_post = Norm(config) if row.join == "post" else None
        if row.learned_scale:
            size = 1 if row.learned_scale == "scalar" else config.width
            self.scale = nn.Parameter(torch.full((size,), row.scale_start))
        if row.affine_angle:
            self.angle_scale = nn.Parameter(torch.ones(1))
            self.angle_bias = nn.Parameter(torch.zeros(1))

    def forward(self, x: torch.Tensor, step: int) -> torch.Tensor:
        g = self.normed_branch(x)
        if self.row.join == "sphere":
            return sphere.sphere_step(x, g, self.angle())
        total = self.row.skip(self.config.layers) * x + self.branch_factor(step) * g
        return self.norm_post(total) if self.norm_post is not None else total

    def raw_branch(self, x: torch.Tensor) -> torch.Tensor:
        """f(N_in(x))."""
        h = x if self.norm_in is None else self.norm_in(x)
        return self.branch(h / math.sqrt(self.block) if self.row.divide_in else h)

    def normed_branch(self, x: torch.Tensor) -> torch.Tensor:
        """N_out(f(N_in(x))), without its part along x where the placement says so."""
        g = self.raw_branch(x)
        if self.row.orthogonal:
            squared = x.square().sum(-1, keepdim=True)
            along = (x * g).sum(-1, keepdim=True) / torch.where(squared == 0, 1.0, squared)
            g = g - along * x
        return g if self.norm_out is None else self.norm_out(g)

    def branch_factor(self, step: int) -> torch.Tensor | float:
        """b: Δt, times what the placement multiplies its branches with."""
        b = self.config["residual.dt"] * self.row.branch(self.config, self.block, step)
        return b * self.scale if self.row.learned_scale else b

    def angle(self) -> sphere.AdaptiveAngle | sphere.FixedAngle:
        config = self.config
        name = config["norm.placement"]
        if name == "geo" and config["norm.angle"] == "prenorm":
            return sphere.FixedAngle(math.atan(1 / math.sqrt(self.index)))
        by_block = config["norm.decay_unit"] == "block"
        k, total = (self.block, config.layers) if by_block else (self.index, config.sublayers)
        schedule = "none" if name == "sphere" else config["norm.decay"]
        limit = config["norm.angle_clamp"]
        affine = self.row.affine_angle
        return sphere.AdaptiveAngle(
            alpha=config["norm.alpha"] * sphere.decay(schedule, k, total),
            retraction=config["norm.retraction"],
            clamp=math.inf if limit == "off" else limit,
            scale=self.angle_scale if affine else 1.0,
            bias=self.angle_bias if affine else 0.0,
        )
