"""What is measured while training, straight from the definitions of docs/science.md, part 7."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch.nn import functional as F

from reference.config import Config
from reference.model import Attention, Model

MATRICES = ("attn.qkv", "attn.out", "ffn.up", "ffn.down")
Profile = list[float]


def floats(tensors) -> Profile:
    return [float(t) for t in tensors]


def magnitude(x: torch.Tensor) -> torch.Tensor:
    """MA by sequence, (B,)."""
    return x.abs().mean(dim=(1, 2))


def of_streams(hidden: list[torch.Tensor]) -> dict[str, Profile]:
    """hidden_*, var_data and log_growth from X_0 … X_2L, (B, T, d) each."""
    by_sequence = [x.flatten(1) for x in hidden]
    blocks = hidden[::2]
    out = {
        "hidden_ma": floats(magnitude(x).mean() for x in hidden),
        "hidden_var": floats(x.var(dim=1).mean() for x in by_sequence),
        "hidden_rms": floats(x.square().mean(1).sqrt().mean() for x in by_sequence),
        "hidden_max": floats(x.abs().max() for x in hidden),
        "var_data": floats(x.flatten(0, 1).var(dim=0).mean() for x in hidden),
    }
    if len(blocks) > 2:
        out["log_growth"] = floats(
            (magnitude(after) / magnitude(before)).log().mean()
            for before, after in zip(blocks[1:], blocks[2:]))
    return out


def of_angles(hidden: list[torch.Tensor]) -> dict[str, Profile]:
    angles = [
        F.cosine_similarity(x, y, dim=-1, eps=0).clamp(-1, 1).acos().flatten()
        for x, y in zip(hidden, hidden[1:])
    ]
    return {
        "angle": floats(a.mean() for a in angles),
        "angle_p95": floats(a.quantile(0.95) for a in angles),
        "angle_max": floats(a.max() for a in angles),
    }


def logits_of(part: Attention, h: torch.Tensor) -> torch.Tensor:
    """⟨q, k⟩/√h without the mask, (B, heads, T, T); no rotary positions."""
    batch, length, width = h.shape
    q, k, _ = (p.view(batch, length, part.heads, -1).transpose(1, 2)
               for p in part.qkv(h).chunk(3, dim=-1))
    return q @ k.transpose(-2, -1) / math.sqrt(width // part.heads)


def of_attention(model: Model, hidden: list[torch.Tensor]) -> dict[str, Profile]:
    largest, entropy, log_z = [], [], []
    for block, x in zip(model.blocks, hidden[::2]):
        part = block.attn
        logits = logits_of(part, x if part.norm_in is None else part.norm_in(x))
        rows = [logits[..., i, : i + 1] for i in range(x.shape[1])]
        largest.append(max(row.max() for row in rows))
        entropy.append(torch.stack([
            torch.distributions.Categorical(logits=row).entropy().mean() for row in rows]).mean())
        log_z.append(torch.stack([row.exp().sum(-1).log().mean() for row in rows]).mean())
    return {"attention_max": floats(largest), "attention_entropy": floats(entropy),
            "attention_log_z": floats(log_z)}


def rms(x: torch.Tensor) -> torch.Tensor:
    return x.square().mean().sqrt()


def of_branches(model: Model, hidden: list[torch.Tensor]) -> dict[str, Profile]:
    parts = list(zip(model.sublayers(), hidden))
    raw = [rms(part.raw_branch(x)) for part, x in parts]
    out = [rms(part.normed_branch(x)) for part, x in parts]
    return {"branch_rms": floats(raw), "branch_rms_out": floats(out),
            "branch_share": floats(of / rms(x) for of, x in zip(out, hidden))}


def of_sphere(model: Model, hidden: list[torch.Tensor]) -> dict[str, Profile]:
    theta, tangential, along = [], [], []
    for part, x in zip(model.sublayers(), hidden):
        g, angle = part.normed_branch(x), part.angle()
        c = (x * g).sum(-1) / x.square().sum(-1)
        v = (g - c[..., None] * x).norm(dim=-1)
        theta.append((angle.alpha * v / x.norm(dim=-1)).flatten())
        tangential.append((v / g.norm(dim=-1)).mean())
        along.append(c.mean())
    return {"theta_raw": floats(t.mean() for t in theta),
            "theta_over_half_pi": floats((t > math.pi / 2).double().mean() for t in theta),
            "theta_over_pi": floats((t > math.pi).double().mean() for t in theta),
            "tangential": floats(tangential), "tangential_c": floats(along)}


def after_step(model: Model, tokens: torch.Tensor, step: int) -> dict[str, Profile]:
    """Profiles of the activations that these sequences leave."""
    with torch.no_grad():
        hidden = model.stream(tokens, step)
        return {**of_streams(hidden), **of_angles(hidden), **of_attention(model, hidden),
                **of_branches(model, hidden),
                **(of_sphere(model, hidden) if model.on_sphere else {})}


@dataclass
class StepProfiles:
    """Profiles of one optimiser step: gradients, then the update that is made of them."""

    config: Config
    model: Model
    optimizer: torch.optim.AdamW
    profiles: dict[str, Profile] = field(default_factory=dict)

    def matrices(self, kind: str) -> list[torch.nn.Parameter]:
        named = dict(self.model.named_parameters())
        return [named[f"blocks.{i}.{kind}.weight"] for i in range(self.config.layers)]

    def backward(self, inputs: torch.Tensor, targets: torch.Tensor, step: int) -> None:
        hidden = self.model.stream(inputs, step)
        for x in hidden:
            x.retain_grad()
        logits = self.model.read_out(hidden[-1])
        F.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
        self.profiles["stream_grad"] = floats(x.grad.norm() for x in hidden[::2])
        for kind in MATRICES:
            self.profiles[f"param_grad_rms.{kind}"] = floats(
                w.grad.square().mean().sqrt() for w in self.matrices(kind))

    def update(self, lr: float) -> None:
        """Takes the optimiser's step and looks at what it changed."""
        kept = 1 - lr * self.config["train.weight_decay"]
        before = {kind: [w.detach() * kept for w in self.matrices(kind)] for kind in MATRICES}
        self.optimizer.step()
        for kind in MATRICES:
            weights = [w.detach() for w in self.matrices(kind)]
            moved = [w - old for w, old in zip(weights, before[kind])]
            self.profiles[f"param_update.{kind}"] = floats(
                u.norm() / w.norm() for u, w in zip(moved, weights))
            self.profiles[f"adam_rms.{kind}"] = floats(
                u.square().mean().sqrt() / lr for u in moved)
            self.profiles[f"adam_below_eps.{kind}"] = floats(
                self.below_eps(w) for w in self.matrices(kind))

    def below_eps(self, weight: torch.nn.Parameter) -> torch.Tensor:
        state = self.optimizer.state[weight]
        corrected = state["exp_avg_sq"] / (1 - self.config["train.beta2"] ** float(state["step"]))
        return (corrected.sqrt() < self.config["train.adam_eps"]).double().mean()
