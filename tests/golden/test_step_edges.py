"""`normlab-trainer step` where the mathematics has an edge, and GPT-2 as others write it."""

import pytest
import torch

import cases
import nanogpt
import trainer
from agreement import FP32, FP64, disagreements
from reference.config import Config
from reference.placements import PLACEMENTS, SPHERES
from reference.step import run_step, sequences
from reference.token_file import write_tokens
from weights import biting_weights, random_tokens


def assert_agrees(config: Config, weights: dict[str, torch.Tensor], folder, step: int = 1):
    tokens = random_tokens(config)
    want = run_step(config, weights, tokens, torch.float64, step)
    got = trainer.step(config, weights, tokens, folder, "--step", str(step))
    assert disagreements(got, want, FP64) == []
    return want


@pytest.mark.parametrize("placement", SPHERES)
@pytest.mark.parametrize("angle_bias", [0.0, 0.2])
def test_branches_of_zero(placement, angle_bias, tmp_path):
    """g = 0 in every row of the first block: nothing moves, and the gradient has its limit."""
    config = cases.small(placement)
    weights = biting_weights(config)
    for part in ("attn.out", "ffn.down"):
        weights[f"blocks.0.{part}.weight"].zero_()
    for name, weight in weights.items():
        if name.endswith("angle_bias"):
            weight.fill_(angle_bias)
    want = assert_agrees(config, weights, tmp_path)
    assert torch.equal(want["hidden.2"], want["hidden.0"])
    moves = placement != "geo-affine" or angle_bias == 0
    assert bool(want["grad.blocks.0.attn.out.weight"].any()) == moves


def test_branches_of_zero_under_the_prenorm_angle(tmp_path):
    config = cases.small("geo", norm__angle="prenorm")
    weights = biting_weights(config)
    weights["blocks.0.ffn.down.weight"].zero_()
    want = assert_agrees(config, weights, tmp_path)
    assert not want["grad.blocks.0.ffn.down.weight"].any()


@pytest.mark.parametrize("placement", [name for name in PLACEMENTS if name != "geo-affine"])
def test_a_token_with_an_embedding_of_zeros(placement, tmp_path):
    config = cases.small(placement, model__positions="rotary", model__bias=True)
    weights = biting_weights(config)
    weights["embed.token"][random_tokens(config)[0]] = 0.0
    assert_agrees(config, weights, tmp_path)


@pytest.mark.parametrize("kind", ["layernorm", "rmsnorm"])
def test_pb_relax_leaves_a_row_of_zeros(kind, tmp_path):
    config = cases.small("sandwich", norm__pb_relax=True, norm__kind=kind, norm__eps=1e-2,
                         model__positions="rotary", model__bias=True)
    weights = biting_weights(config)
    weights["embed.token"][random_tokens(config)[0]] = 0.0
    assert_agrees(config, weights, tmp_path)


@pytest.mark.parametrize("step", [1, 3, 100])
def test_prores_at_a_later_step(step, tmp_path):
    config = cases.small("prores", residual__warmup=10)
    assert_agrees(config, biting_weights(config), tmp_path, step)


@pytest.mark.parametrize("placement", ["post", "pre", "peri", "deep"])
def test_no_residual_step(placement, tmp_path):
    config = cases.small(placement, residual__dt=0.0)
    assert_agrees(config, biting_weights(config), tmp_path)


@pytest.mark.parametrize("bias", [True, False])
def test_gpt2_parity(bias, tmp_path):
    config = cases.small("pre", model__activation="gelu-tanh", model__bias=bias,
                         train__precision="fp32")
    weights = {name: w.float() for name, w in biting_weights(config).items()}
    tokens = random_tokens(config)
    got = trainer.step(config, weights, tokens, tmp_path)["logits"]
    want = nanogpt.build(config, weights)(sequences(config, tokens)[0]).detach()
    assert disagreements({"logits": got}, {"logits": want}, FP32) == []


def test_too_few_tokens_is_bad_data(tmp_path):
    config = cases.small("pre")
    given = trainer.write_config(config, tmp_path)
    trainer.init(config, 1, tmp_path)
    write_tokens(tmp_path / "t.bin", random_tokens(config).tolist()[:-1])
    ended = trainer.call("step", "--config", given, "--weights", tmp_path / "w.safetensors",
                         "--tokens", tmp_path / "t.bin", "--out", tmp_path / "o.safetensors")
    assert ended.exit_code == 10 and "24" in ended.stderr


def test_weights_of_another_model_are_bad_data(tmp_path):
    trainer.init(cases.small("post"), 1, tmp_path)
    config = cases.small("pre")
    write_tokens(tmp_path / "t.bin", random_tokens(config).tolist())
    ended = trainer.call(
        "step", "--config", trainer.write_config(config, tmp_path), "--weights",
        tmp_path / "w.safetensors", "--tokens", tmp_path / "t.bin", "--out",
        tmp_path / "o.safetensors")
    assert ended.exit_code == 10 and "norm" in ended.stderr
