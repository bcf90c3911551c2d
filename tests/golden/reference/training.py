"""Training by PyTorch's own AdamW and clipping: what the trainer's optimiser must reproduce."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from reference.config import Config
from reference.data_order import batch_of_step
from reference.model import Model
from reference.schedule import learning_rate


@dataclass(frozen=True)
class Measured:
    """One step: loss and gradient norm before the update, the norm before clipping."""

    step: int
    loss: float
    grad_norm: float
    lr: float


def make_optimizer(config: Config, model: Model) -> torch.optim.AdamW:
    """Weight decay acts on tensors of two and more dimensions only."""
    parameters = list(model.parameters())
    decay = config["train.weight_decay"]
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    betas = (config["train.beta1"], config["train.beta2"])
    return torch.optim.AdamW(
        groups, lr=config["train.lr"], betas=betas, eps=config["train.adam_eps"])


def train(
    config: Config, model: Model, optimizer: torch.optim.AdamW, tokens: np.ndarray, seed: int
) -> Iterator[Measured]:
    """Trains for train.steps steps on whole batches; yields after every step."""
    for step in range(1, config["train.steps"] + 1):
        inputs, targets = batch_of_step(
            tokens, config["model.seq_len"], seed, step, config["train.batch"])
        optimizer.zero_grad()
        loss = model.loss(inputs, targets, step)
        loss.backward()
        limit = config["train.clip"] or math.inf
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        lr = learning_rate(config, step)
        for group in optimizer.param_groups:
            group["lr"] = lr
        optimizer.step()
        yield Measured(step, loss.item(), norm.item(), lr)
