"""Numbers that are a function of (seed, purpose, index, position); docs/science.md, part 8."""

from __future__ import annotations

import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix64(z: int) -> int:
    """The finaliser of SplitMix64 on 64 bits."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def fnv1a(text: str) -> int:
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = (state ^ byte) * 0x100000001B3 & MASK
    return state


def key(seed: int, purpose: str, index: int = 0) -> int:
    stream = mix64(mix64(seed + GOLDEN & MASK) ^ fnv1a(purpose))
    return mix64(stream + index & MASK)


def bits(stream_key: int, count: int) -> np.ndarray:
    """The 64 bits at positions 0 ... count - 1."""
    position = np.arange(1, count + 1, dtype=np.uint64)
    z = np.uint64(stream_key) + position * np.uint64(GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def normals(stream_key: int, count: int) -> np.ndarray:
    """Standard normal numbers in fp64, two out of each pair of positions (Box and Muller)."""
    raw = bits(stream_key, count + count % 2) >> np.uint64(11)
    radius = np.sqrt(-2 * np.log((raw[0::2].astype(np.float64) + 1) * 2.0**-53))
    turn = 2 * np.pi * (raw[1::2].astype(np.float64) * 2.0**-53)
    pairs = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    return pairs.reshape(-1)[:count]
