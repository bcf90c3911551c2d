#!/usr/bin/env python3
"""Holds a PyTorch model of yours against normlab: same weights, same tokens, same gradients?

    python docs/examples/compare_with_your_model.py build/release/bin/normlab-trainer

The model below is a Pre-LN decoder as one writes it from the papers; put yours in its place. What
matters is in `compare`: five lines get weights and one step from normlab, the rest is yours.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

CONFIG = {
    "model": {"layers": 2, "width": 64, "heads": 4, "seq_len": 32, "vocab": 256},
    "norm": {"placement": "pre"},
    "train": {"batch": 4, "precision": "fp64"},
}


class YourModel(nn.Module):
    """Pre-LN, learned positions, tied head, no biases. `w` holds normlab's tensors by name."""

    def __init__(self, weights: dict[str, torch.Tensor]):
        super().__init__()
        self.w = {name: nn.Parameter(tensor) for name, tensor in weights.items()}

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.w[f"{name}.gain"], eps=1e-5)

    def attention(self, x, block):
        heads = CONFIG["model"]["heads"]
        qkv = F.linear(x, self.w[f"{block}.attn.qkv.weight"]).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in qkv)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.linear(y.transpose(1, 2).flatten(-2), self.w[f"{block}.attn.out.weight"])

    def feed_forward(self, x, block):
        inside = F.gelu(F.linear(x, self.w[f"{block}.ffn.up.weight"]))
        return F.linear(inside, self.w[f"{block}.ffn.down.weight"])

    def forward(self, tokens):
        x = self.w["embed.token"][tokens] + self.w["embed.position"][: tokens.shape[1]]
        for i in range(CONFIG["model"]["layers"]):
            block = f"blocks.{i}"
            x = x + self.attention(self.norm(x, f"{block}.attn.norm_in"), block)
            x = x + self.feed_forward(self.norm(x, f"{block}.ffn.norm_in"), block)
        return F.linear(self.norm(x, "norm_final"), self.w["embed.token"])


def write_tokens(path: Path, tokens: np.ndarray) -> None:
    """llm.c's layout: 256 int32 (magic, version, count), then uint16 tokens."""
    header = np.zeros(256, "<i4")
    header[:3] = 20240520, 1, len(tokens)
    path.write_bytes(header.tobytes() + tokens.astype("<u2").tobytes())


def compare(trainer: str, folder: Path) -> float:
    """The largest relative difference of any gradient."""
    batch, length = CONFIG["train"]["batch"], CONFIG["model"]["seq_len"]
    tokens = np.random.default_rng(1).integers(CONFIG["model"]["vocab"], size=batch * (length + 1))
    config, w, t, o = (folder / name for name in ("run.json", "w.st", "t.bin", "o.st"))
    config.write_text(json.dumps(CONFIG))
    write_tokens(t, tokens)
    subprocess.run([trainer, "init", "--config", config, "--seed", "1", "--out", w], check=True)
    subprocess.run([trainer, "step", "--config", config, "--weights", w, "--tokens", t, "--out", o],
                   check=True)
    theirs = load_file(o)

    yours = YourModel(load_file(w))
    rows = torch.from_numpy(tokens).view(batch, length + 1)
    loss = F.cross_entropy(yours(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
    loss.backward()
    print(f"loss: yours {loss.item():.15g}, normlab's {theirs['loss'].item():.15g}")

    worst = 0.0
    for name, parameter in yours.w.items():
        want = theirs[f"grad.{name}"]
        difference = ((parameter.grad - want).abs().max() / want.abs().max()).item()
        print(f"{name:28s} {difference:.1e}")
        worst = max(worst, difference)
    return worst


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        worst = compare(sys.argv[1], Path(folder))
    print(f"largest relative difference of a gradient: {worst:.1e}")
    return 0 if worst < 1e-10 else 1


if __name__ == "__main__":
    sys.exit(main())
