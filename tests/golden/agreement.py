"""Holds one set of tensors against another: docs/science.md, part 2, test (13)."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Tolerance:
    """Largest |Δ| over the largest |reference|, tensor by tensor.

    Some gradients, as those of key biases, are zero in exact arithmetic, and those of a learned
    angle are sums over rows that cancel (2.0 in all rows to 0.046 in one of the cases): `floor`, a
    share of the global gradient norm, is the rounding that is let pass there.
    """

    relative: float
    floor: float


FP64 = Tolerance(1e-10, 1e-12)
FP32 = Tolerance(1e-5, 2**-22)


def gradient_norm(tensors: dict[str, torch.Tensor]) -> float:
    squares = [t.double().square().sum() for name, t in tensors.items() if name.startswith("grad.")]
    return float(torch.stack(squares).sum().sqrt()) if squares else 0.0


def disagreements(
    got: dict[str, torch.Tensor], want: dict[str, torch.Tensor], tolerance: Tolerance
) -> list[str]:
    """One line for each tensor that differs, is missing, or is too many; empty when all agree."""
    lines = [f"{name} is missing" for name in want.keys() - got.keys()]
    lines += [f"{name} is one too many" for name in got.keys() - want.keys()]
    norm = gradient_norm(want)
    for name in sorted(want.keys() & got.keys()):
        a, b = got[name].double(), want[name].double()
        if a.shape != b.shape:
            lines.append(f"{name} has shape {tuple(a.shape)}, not {tuple(b.shape)}")
            continue
        error, size = (a - b).abs().max().item(), b.abs().max().item()
        floor = tolerance.floor * norm if name.startswith("grad.") else 0.0
        if not error <= max(tolerance.relative * size, floor):
            lines.append(f"{name} differs by {error:.3g} where the largest entry is {size:.3g}")
    return lines
