"""The decoder: embedding, blocks of attention and feed-forward network, head."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from reference import placements, sphere
from reference.config import Config
from reference.norms import Norm
from reference.sublayer import Sublayer

ROTARY_BASE = 10000.0


def rotary_tables(length: int, head_width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin, (T, h/2), in fp64: the caller rounds them once."""
    channel = torch.arange(head_width // 2, dtype=torch.float64)
    frequency = ROTARY_BASE ** (-2 * channel / head_width)
    turn = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    return turn.cos(), turn.sin()


def rotate(x: torch.Tensor) -> torch.Tensor:
    """Turns the pairs (i, i + h/2) of every head; x is (B, heads, T, h)."""
    cos, sin = (table.to(x.dtype) for table in rotary_tables(x.shape[-2], x.shape[-1]))
    low, high = x.chunk(2, dim=-1)
    return torch.cat([low * cos - high * sin, high * cos + low * sin], dim=-1)


class Attention(Sublayer):
    """Causal self-attention with the three projections stacked as q, k, v."""

    def __init__(self, config: Config, block: int):
        super().__init__(config, block, first_of_block=True)
        width = config.width
        self.heads = config["model.heads"]
        self.rotary = config["model.positions"] == "rotary"
        self.qkv = nn.Linear(width, 3 * width, bias=config["model.bias"])
        self.out = nn.Linear(width, width, bias=config["model.bias"])

    def branch(self, h: torch.Tensor) -> torch.Tensor:
        batch, length, width = h.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(h).chunk(3, dim=-1)
        )
        if self.rotary:
            q, k = rotate(q), rotate(k)
        logits = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = logits.masked_fill(future, -math.inf).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class FeedForward(Sublayer):
    """down(gelu(up(h)))."""

    def __init__(self, config: Config, block: int):
        super().__init__(config, block, first_of_block=False)
        bias = config["model.bias"]
        self.approximate = {"gelu": "none", "gelu-tanh": "tanh"}[config["model.activation"]]
        self.up = nn.Linear(config.width, config["model.ffn"], bias=bias)
        self.down = nn.Linear(config["model.ffn"], config.width, bias=bias)

    def branch(self, h: torch.Tensor) -> torch.Tensor:
        return self.down(F.gelu(self.up(h), approximate=self.approximate))


class Block(nn.Module):
    def __init__(self, config: Config, block: int):
        super().__init__()
        self.attn = Attention(config, block)
        self.ffn = FeedForward(config, block)


class Embedding(nn.Module):
    """The rows that tokens and, where positions are learned, places start from."""

    def __init__(self, config: Config):
        super().__init__()
        self.token = nn.Parameter(torch.empty(config["model.vocab"], config.width))
        learned = config["model.positions"] == "learned"
        rows = torch.empty(config["model.seq_len"], config.width)
        self.position = nn.Parameter(rows) if learned else None

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.token[tokens]
        return x if self.position is None else x + self.position[: tokens.shape[1]]


class Model(nn.Module):
    """Parameters carry the names of the checkpoint files. Build it, then load or draw weights."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.on_sphere = config["norm.placement"] in placements.SPHERES
        self.embed = Embedding(config)
        self.norm_embedding = Norm(config) if config["norm.embedding"] else None
        self.blocks = nn.ModuleList(Block(config, l) for l in range(1, config.layers + 1))
        self.norm_final = Norm(config) if placements.has_final_norm(config) else None
        tied = config["model.tied_head"]
        self.head = None if tied else nn.Linear(config.width, config["model.vocab"], bias=False)

    def enter(self, tokens: torch.Tensor) -> torch.Tensor:
        """What enters the first sublayer, (B, T, d)."""
        x = self.embed(tokens)
        if self.norm_embedding is not None:
            x = self.norm_embedding(x)
        return sphere.onto_sphere(x) if self.on_sphere else x

    def sublayers(self) -> list[Sublayer]:
        return [part for block in self.blocks for part in (block.attn, block.ffn)]

    def stream(self, tokens: torch.Tensor, step: int = 1) -> list[torch.Tensor]:
        """The residual stream after each sublayer: 2L + 1 tensors (B, T, d)."""
        hidden = [self.enter(tokens)]
        for part in self.sublayers():
            hidden.append(part(hidden[-1], step))
        return hidden

    def read_out(self, x: torch.Tensor) -> torch.Tensor:
        """Logits (B, T, V)."""
        if self.norm_final is not None:
            x = self.norm_final(x)
        return F.linear(x, self.embed.token if self.head is None else self.head.weight)

    def loss(self, tokens: torch.Tensor, targets: torch.Tensor, step: int = 1) -> torch.Tensor:
        """Mean cross-entropy in nats over all B·T targets."""
        logits = self.read_out(self.stream(tokens, step)[-1])
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
