#!/usr/bin/env python3
"""The peer of bench-trainer: the same model in eager PyTorch, stepped on demand.

The first line of standard input is {"config", "weights", "data", "threads"}; then every line "step"
trains one step and is answered by {"loss"}. The model is tests/golden's reference with what it
spells out for reading (LayerNorm, RMSNorm, attention) replaced by PyTorch's own functions;
optimiser and clipping are PyTorch's, as people call them.
"""

import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden"))

import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from reference import model as reference  # noqa: E402
from reference.config import Config  # noqa: E402
from reference.data_order import batch_of_step  # noqa: E402
from reference.norms import Norm  # noqa: E402
from reference.schedule import learning_rate  # noqa: E402
from reference.token_file import read_tokens  # noqa: E402
from reference.training import make_optimizer  # noqa: E402


class TorchNorm(nn.Module):
    """PyTorch's own norm with the parameters of the spelled-out one."""

    def __init__(self, spelled_out, kind):
        super().__init__()
        self.eps, self.gain, self.bias = spelled_out.eps, spelled_out.gain, spelled_out.bias
        self.kind = kind

    def forward(self, x):
        if self.kind == "rmsnorm":
            return F.rms_norm(x, x.shape[-1:], self.gain, self.eps)
        return F.layer_norm(x, x.shape[-1:], self.gain, self.bias, self.eps)


def fused_attention(self, h):
    batch, length, width = h.shape
    q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
               for part in self.qkv(h).chunk(3, dim=-1))
    if self.rotary:
        q, k = reference.rotate(q), reference.rotate(k)
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


def build(config, weights):
    model = reference.Model(config)
    reference.Attention.branch = fused_attention
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, Norm) and not child.relax:
                setattr(module, name, TorchNorm(child, config["norm.kind"]))
    model.load_state_dict(weights)
    return model


def steps(config, model, tokens):
    """Trains one step each time it is asked, and yields the loss."""
    optimizer = make_optimizer(config, model)
    step = 0
    while True:
        step += 1
        inputs, targets = batch_of_step(
            tokens, config["model.seq_len"], config["seed.data"], step, config["train.batch"])
        optimizer.zero_grad()
        loss = model.loss(inputs, targets, step)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config["train.clip"] or math.inf)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(config, step)
        optimizer.step()
        yield loss.item()


def main():
    request = json.loads(sys.stdin.readline())
    torch.set_num_threads(request["threads"])
    torch.set_flush_denormal(True)
    given = request["config"]
    if given["norm.angle_clamp"] == 0:  # the trainer's number for what people write as "off"
        given["norm.angle_clamp"] = "off"
    config = Config(given)
    model = build(config, load_file(request["weights"]))
    losses = steps(config, model, read_tokens(pathlib.Path(request["data"]) / "train.bin"))
    for line in sys.stdin:
        if line.strip() != "step":
            sys.exit(f"torch_eager: asked for {line!r}")
        print(json.dumps({"loss": next(losses)}), flush=True)


if __name__ == "__main__":
    main()
