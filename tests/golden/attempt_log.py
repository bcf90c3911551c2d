"""Reads scalars and profiles out of an attempt log, from its documented layout."""

from __future__ import annotations

import struct
from pathlib import Path

HEADER = struct.Struct("<8sII")
ENTRY = struct.Struct("<IIQ")  # length, checksum, number
SCALARS, PROFILE, EVALUATION = 2, 3, 5


def entries(path: Path):
    """The bytes of each record, in order; their numbers must count from 1."""
    data = path.read_bytes()
    magic, version, _ = HEADER.unpack_from(data)
    if (magic, version) != (b"NLATTLOG", 1):
        raise ValueError(f"{path} is no attempt log")
    at, expected = HEADER.size, 1
    while at < len(data):
        length, _, number = ENTRY.unpack_from(data, at)
        if number != expected:
            raise ValueError(f"record {number} where {expected} was due")
        at += ENTRY.size
        yield data[at : at + length]
        at, expected = at + length, expected + 1


def scalars(path: Path) -> dict[int, dict[str, float]]:
    """Step -> key -> value."""
    steps: dict[int, dict[str, float]] = {}
    for record in entries(path):
        if record[0] != SCALARS:
            continue
        step, count = struct.unpack_from("<qI", record, 1)
        at = 13
        for _ in range(count):
            (size,) = struct.unpack_from("<I", record, at)
            key = record[at + 4 : at + 4 + size].decode()
            (value,) = struct.unpack_from("<d", record, at + 4 + size)
            steps.setdefault(step, {})[key] = value
            at += 4 + size + 8
    return steps


def profiles(path: Path) -> dict[int, dict[str, tuple[int, list[float]]]]:
    """Step -> key -> (depth of the first value, values)."""
    steps: dict[int, dict[str, tuple[int, list[float]]]] = {}
    for record in entries(path):
        if record[0] != PROFILE:
            continue
        step, size = struct.unpack_from("<qI", record, 1)
        key = record[13 : 13 + size].decode()
        first, count = struct.unpack_from("<iI", record, 13 + size)
        values = struct.unpack_from(f"<{count}d", record, 21 + size)
        steps.setdefault(step, {})[key] = (first, list(values))
    return steps


def evaluations(path: Path) -> dict[int, float]:
    """Step -> validation loss."""
    return dict(struct.unpack_from("<qd", record, 1) for record in entries(path)
                if record[0] == EVALUATION)
