"""The deviation that every parameter starts with; docs/science.md, part 5."""

from __future__ import annotations

import math

import numpy as np
import torch

from reference import counter_rng, placements
from reference.config import Config
from reference.model import Model

OUTPUTS = ("attn.out.weight", "ffn.down.weight")
# Fan-out and fan-in of one matrix, in widths d and FFN sizes f.
FANS = {"attn.qkv": "dd", "attn.out": "dd", "ffn.up": "fd", "ffn.down": "df"}
LIKE_POST = ("post", "rezero", "keel")


def rule_of_block(config: Config, block: int) -> str:
    """plain, scaled, deep, sphere or xavier."""
    scheme = config["init.scheme"]
    if scheme != "placement":
        return {"gpt2": "scaled", "small-wang": "sphere", "xavier": "xavier"}[scheme]
    name = config["norm.placement"]
    if name == "deep":
        return "deep"
    if name in placements.SPHERES:
        return "sphere"
    if name == "mix":
        return "plain" if block <= config.layers // 4 else "scaled"
    return "plain" if name == "lns" or name in LIKE_POST else "scaled"


def xavier(config: Config, part: str, gain: float) -> float:
    size = {"d": config.width, "f": config["model.ffn"]}
    return gain * math.sqrt(2 / sum(size[letter] for letter in FANS[part]))


def block_deviations(config: Config, name: str) -> list[float]:
    """Deviation of a matrix of a block: one value, or three for q, k and v."""
    _, block, rest = name.split(".", 2)
    part = rest.removesuffix(".weight")
    is_output = rest in OUTPUTS
    thirds = 3 if part == "attn.qkv" else 1
    rule = rule_of_block(config, int(block) + 1)
    if rule in ("plain", "scaled"):
        shrink = math.sqrt(config.sublayers) if rule == "scaled" and is_output else 1.0
        values = [config["init.std"] / shrink] * thirds
    elif rule == "sphere":
        output = 2 / (config.layers * math.sqrt(config.width))
        values = [output if is_output else math.sqrt(2 / (5 * config.width))] * thirds
    else:
        gain = (8 * config.layers) ** -0.25 if rule == "deep" else 1.0
        gains = [1.0, 1.0, gain] if thirds == 3 else [gain]
        values = [xavier(config, part, g) for g in gains]
    if is_output:
        values = [value * output_factor(config, int(block) + 1) for value in values]
    return values


def output_factor(config: Config, block: int) -> float:
    """init.output_scale, and init.residual_scale where no output norm could carry it."""
    factor = config.get("init.output_scale", 1.0)
    has_norm_out = placements.of_block(config, block).norm_out
    return factor if has_norm_out else factor * config["init.residual_scale"]


def deviations(config: Config, name: str) -> list[float]:
    if name.startswith("blocks."):
        return block_deviations(config, name)
    small = rule_of_block(config, config.layers) == "sphere"
    if name == "head.weight" and small:
        return [math.sqrt(2 / (5 * config.width))]
    return [config["init.std"]]


def constant(config: Config, name: str) -> float | None:
    """What a vector starts as; None for the matrices, which are drawn."""
    if name.endswith("norm_out.gain"):
        return config["init.residual_scale"]
    if name.endswith((".gain", ".angle_scale")):
        return 1.0
    if name.endswith((".attn.scale", ".ffn.scale")):
        return placements.PLACEMENTS[config["norm.placement"]].scale_start
    return 0.0 if name.endswith("bias") else None


def initial_weights(config: Config, seed: int) -> dict[str, torch.Tensor]:
    """All parameters as the trainer starts with them, in fp64."""
    weights = {}
    for name, parameter in Model(config).named_parameters():
        shape = tuple(parameter.shape)
        value = constant(config, name)
        if value is not None:
            weights[name] = torch.full(shape, value, dtype=torch.float64)
            continue
        stream_key = counter_rng.key(seed, f"init/{name}")
        noise = counter_rng.normals(stream_key, math.prod(shape)).reshape(shape)
        scale = np.repeat(deviations(config, name), shape[0] // len(deviations(config, name)))
        weights[name] = torch.from_numpy(noise * scale[:, None])
    return weights
