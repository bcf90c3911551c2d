"""Token files as the data folder holds them (llm.c's layout)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

MAGIC, VERSION, HEADER_INTS = 20240520, 1, 256


def write_tokens(path: Path, tokens) -> None:
    """256 little-endian int32 (magic, version, count), then one uint16 per token."""
    header = np.zeros(HEADER_INTS, dtype="<i4")
    header[:3] = MAGIC, VERSION, len(tokens)
    path.write_bytes(header.tobytes() + np.asarray(tokens, dtype="<u2").tobytes())


def read_tokens(path: Path) -> np.ndarray:
    header = np.fromfile(path, dtype="<i4", count=HEADER_INTS)
    if tuple(header[:2]) != (MAGIC, VERSION):
        raise ValueError(f"{path} is no token file")
    return np.fromfile(path, dtype="<u2", offset=4 * HEADER_INTS, count=header[2])
