"""One forward and backward pass: what `normlab-trainer step` writes, computed here."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from reference.config import Config
from reference.model import Model

DTYPES = {"fp32": torch.float32, "fp64": torch.float64}


def build(config: Config, weights: dict[str, torch.Tensor], dtype: torch.dtype) -> Model:
    """The model with these weights; a missing or an unknown name is an error."""
    model = Model(config).to(dtype)
    model.load_state_dict({name: tensor.to(dtype) for name, tensor in weights.items()})
    return model


def sequences(config: Config, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets, both (B, T): the first B runs of T + 1 tokens, end to end."""
    batch, length = config["train.batch"], config["model.seq_len"]
    rows = tokens[: batch * (length + 1)].long().view(batch, length + 1)
    return rows[:, :-1], rows[:, 1:]


def run_step(
    config: Config,
    weights: dict[str, torch.Tensor],
    tokens: torch.Tensor,
    dtype: torch.dtype | None = None,
    step: int = 1,
) -> dict[str, torch.Tensor]:
    """loss [], logits [B, T, V], hidden.{s} [B, T, d] and grad.{parameter}, detached."""
    model = build(config, weights, dtype or DTYPES[config["train.precision"]])
    inputs, targets = sequences(config, tokens)
    hidden = model.stream(inputs, step)
    logits = model.read_out(hidden[-1])
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    out = {"loss": loss, "logits": logits}
    out.update({f"hidden.{s}": x for s, x in enumerate(hidden)})
    for name, parameter in model.named_parameters():
        grad = parameter.grad
        out[f"grad.{name}"] = torch.zeros_like(parameter) if grad is None else grad
    return {name: tensor.detach() for name, tensor in out.items()}
