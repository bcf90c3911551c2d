"""LayerNorm and RMSNorm with the decimal eps inside the root, and PB-relax."""

from __future__ import annotations

import torch
from torch import nn

from reference.config import Config


def layer_norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + eps)


def rms_norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps)


def pb_relax(x: torch.Tensor) -> torch.Tensor:
    """CogView's relaxed input of a norm: the row over an eighth of its largest magnitude.

    The divisor carries no gradient. A row of zeros has nothing to be divided by and stays.
    """
    largest = x.detach().abs().amax(-1, keepdim=True)
    return x / torch.where(largest == 0, torch.ones_like(largest), largest / 8)


class Norm(nn.Module):
    """N: the run's kind of norm, with gain and, for LayerNorm in models with biases, a bias."""

    def __init__(self, config: Config):
        super().__init__()
        self.eps = config["norm.eps"]
        self.normalise = {"layernorm": layer_norm, "rmsnorm": rms_norm}[config["norm.kind"]]
        self.relax = config["norm.placement"] == "sandwich" and config["norm.pb_relax"]
        has_gain = config["norm.gain"]
        has_bias = has_gain and config["model.bias"] and config["norm.kind"] == "layernorm"
        self.gain = nn.Parameter(torch.ones(config.width)) if has_gain else None
        self.bias = nn.Parameter(torch.zeros(config.width)) if has_bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.normalise(pb_relax(x) if self.relax else x, self.eps)
        if self.gain is not None:
            y = y * self.gain
        if self.bias is not None:
            y = y + self.bias
        return y
