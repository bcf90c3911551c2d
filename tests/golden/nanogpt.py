"""A GPT-2 as people write it in PyTorch, sharing no line with the reference model.

Pre-norm, learned positions, tied head, tanh GELU, LayerNorm, torch's own attention; the module
names are those of the published checkpoints.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, width: int, heads: int, bias: bool):
        super().__init__()
        self.n_head = heads
        self.c_attn = nn.Linear(width, 3 * width, bias=bias)
        self.c_proj = nn.Linear(width, width, bias=bias)

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = self.c_attn(x).split(c, dim=2)
        q, k, v = (m.view(b, t, self.n_head, c // self.n_head).transpose(1, 2) for m in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))


class MLP(nn.Module):
    def __init__(self, width: int, ffn: int, bias: bool):
        super().__init__()
        self.c_fc = nn.Linear(width, ffn, bias=bias)
        self.gelu = nn.GELU(approximate="tanh")
        self.c_proj = nn.Linear(ffn, width, bias=bias)

    def forward(self, x):
        return self.c_proj(self.gelu(self.c_fc(x)))


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, ffn: int, bias: bool):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, bias=bias)
        self.attn = CausalSelfAttention(width, heads, bias)
        self.ln_2 = nn.LayerNorm(width, bias=bias)
        self.mlp = MLP(width, ffn, bias)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab, block_size, layers, width, heads, ffn, bias):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(block_size, width)
        self.h = nn.ModuleList(Layer(width, heads, ffn, bias) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width, bias=bias)
        self.lm_head = nn.Linear(width, vocab, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for layer in self.h:
            x = layer(x)
        return self.lm_head(self.ln_f(x))


# normlab's name -> ours, inside a block and outside.
BLOCK_NAMES = {
    "attn.norm_in.gain": "ln_1.weight", "attn.norm_in.bias": "ln_1.bias",
    "attn.qkv": "attn.c_attn", "attn.out": "attn.c_proj",
    "ffn.norm_in.gain": "ln_2.weight", "ffn.norm_in.bias": "ln_2.bias",
    "ffn.up": "mlp.c_fc", "ffn.down": "mlp.c_proj",
}
OUTER_NAMES = {
    "embed.token": "wte.weight", "embed.position": "wpe.weight",
    "norm_final.gain": "ln_f.weight", "norm_final.bias": "ln_f.bias",
}


def from_normlab(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A state dict for GPT out of normlab's tensors."""
    state = {}
    for name, tensor in weights.items():
        if name.startswith("blocks."):
            _, i, rest = name.split(".", 2)
            for theirs, ours in BLOCK_NAMES.items():
                rest = rest.replace(theirs, ours)
            state[f"h.{i}.{rest}"] = tensor
        else:
            state[OUTER_NAMES[name]] = tensor
    state["lm_head.weight"] = state["wte.weight"]
    return state


def build(config, weights: dict[str, torch.Tensor]) -> GPT:
    """GPT of the config's sizes with normlab's weights, in their dtype."""
    model = GPT(config["model.vocab"], config["model.seq_len"], config.layers, config.width,
                config["model.heads"], config["model.ffn"], config["model.bias"])
    model.to(weights["embed.token"].dtype).load_state_dict(from_normlab(weights))
    return model
