"""Weights under which a mistake anywhere shows: no gain is 1, no bias is 0, no branch is faint."""

from __future__ import annotations

import torch

from reference.config import Config
from reference.model import Model

# (end of the parameter's name, mean, deviation); the first that fits counts.
SHAPES = (
    (".attn.scale", 0.6, 0.3),
    (".ffn.scale", 0.6, 0.3),
    (".angle_scale", 1.1, 0.2),
    (".angle_bias", 0.2, 0.1),
    (".gain", 1.0, 0.3),
    (".bias", 0.0, 0.2),
    ("embed.token", 0.0, 0.6),
    ("embed.position", 0.0, 0.4),
)


def biting_weights(config: Config, seed: int = 1) -> dict[str, torch.Tensor]:
    """Every parameter of the model by name, in fp64 but exactly representable in fp32."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, parameter in Model(config).named_parameters():
        shape = tuple(parameter.shape)
        noise = torch.randn(shape, generator=generator, dtype=torch.float64)
        mean, deviation = next(
            ((m, d) for end, m, d in SHAPES if name.endswith(end)), (0.0, shape[-1] ** -0.5)
        )
        weights[name] = (mean + deviation * noise).float().double()
    return weights


def random_tokens(config: Config, seed: int = 2) -> torch.Tensor:
    """As many tokens as one step reads."""
    generator = torch.Generator().manual_seed(seed)
    count = config["train.batch"] * (config["model.seq_len"] + 1)
    return torch.randint(config["model.vocab"], (count,), generator=generator)
