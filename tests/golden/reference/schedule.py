"""The learning rate of step t = 1 ... S; docs/science.md, part 6."""

from __future__ import annotations

import math

from reference.config import Config


def learning_rate(config: Config, step: int) -> float:
    peak, least = config["train.lr"], config["train.min_lr_ratio"]
    warmup, steps = config["train.warmup"], config["train.steps"]
    name = config["train.schedule"]
    if name == "constant":
        return peak
    if step <= warmup:
        return peak * step / warmup
    if name == "wsd":
        falling = max(1, steps // 5)
        left = min(1.0, (steps - step) / falling)
        return peak * (least + (1 - least) * left)
    done = (step - warmup) / (steps - warmup)
    share = 0.5 * (1 + math.cos(math.pi * done)) if name == "cosine" else 1 - done
    return peak * (least + (1 - least) * share)
