"""Which block of the training file stands in which row of which step; docs/science.md, part 8."""

from __future__ import annotations

import numpy as np
import torch

from reference import counter_rng

ROUNDS = 6


def permute(seed: int, blocks: int, epoch: int, place: int) -> int:
    """The block at a place of an epoch: a Feistel network walked until it lands inside."""
    half = max(1, ((blocks - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    key = counter_rng.key(seed, "data/order", epoch)
    x = place
    while True:
        left, right = x >> half, x & mask
        for r in range(ROUNDS):
            mixed = counter_rng.mix64(key + r * counter_rng.GOLDEN + right & counter_rng.MASK)
            left, right = right, left ^ (mixed & mask)
        x = left << half | right
        if x < blocks:
            return x


def blocks_of_step(seed: int, blocks: int, step: int, batch: int) -> list[int]:
    """Steps count from 1; a batch may reach into the next epoch."""
    first = (step - 1) * batch
    return [permute(seed, blocks, n // blocks, n % blocks) for n in range(first, first + batch)]


def batch_of_step(
    tokens: np.ndarray, length: int, seed: int, step: int, batch: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets (B, T): block i holds tokens iT ... iT + T - 1, its targets one on."""
    blocks = (len(tokens) - 1) // length
    rows = np.stack([
        tokens[i * length : i * length + length + 1].astype(np.int64)
        for i in blocks_of_step(seed, blocks, step, batch)
    ])
    both = torch.from_numpy(rows)
    return both[:, :-1], both[:, 1:]
