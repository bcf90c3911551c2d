"""The reference model itself: equations that relate placements, and its plumbing."""

import math
from dataclasses import replace

import pytest
import torch

import cases
import nanogpt
from reference import placements
from reference.config import Config
from reference.model import Model, rotary_tables, rotate
from reference.norms import layer_norm, pb_relax
from reference.step import build, run_step, sequences
from weights import biting_weights, random_tokens


def outputs(config: Config, seed: int = 1) -> dict[str, torch.Tensor]:
    return run_step(config, biting_weights(config, seed), random_tokens(config))


def assert_same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]):
    assert a.keys() == b.keys()
    for name, tensor in a.items():
        assert torch.equal(tensor, b[name]), name


def test_10_deep_with_unit_constants_is_post(monkeypatch):
    deep = cases.small("deep", model__bias=True)
    post = outputs(cases.small("post", model__bias=True))
    assert not torch.equal(outputs(deep)["loss"], post["loss"])
    row = replace(placements.PLACEMENTS["deep"], skip=lambda layers: 1.0)
    monkeypatch.setitem(placements.PLACEMENTS, "deep", row)
    assert_same(outputs(deep), post)


@pytest.mark.parametrize("layers,alpha", [(12, 2.2134), (24, 2.6321), (48, 3.1302)])
def test_deep_multiplies_its_skip_by_deepnorms_alpha(layers, alpha):
    assert round(placements.PLACEMENTS["deep"].skip(layers), 4) == alpha


def test_11_peri_with_no_residual_step_is_the_identity():
    out = outputs(cases.small("peri", residual__dt=0.0, model__bias=True))
    for s in range(1, 7):
        assert torch.equal(out[f"hidden.{s}"], out["hidden.0"])


def test_12_sandwich_is_peri():
    for kind in ("layernorm", "rmsnorm"):
        changes = {"norm__kind": kind, "residual__dt": 0.3}
        assert_same(outputs(cases.small("sandwich", **changes)),
                    outputs(cases.small("peri", **changes)))


def test_12_pb_relax_looks_at_one_row_and_acts_through_eps_alone():
    x = torch.randn(6, 16, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x[2] *= 1e6
    alone = torch.cat([pb_relax(row[None]) for row in x])
    assert torch.equal(pb_relax(x), alone)
    torch.testing.assert_close(layer_norm(pb_relax(x), 0.0), layer_norm(x, 0.0))
    divisor = x.abs().amax(-1, keepdim=True) / 8
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    torch.testing.assert_close(
        layer_norm(pb_relax(x), 0.1), centred / (variance + 0.1 * divisor**2).sqrt())
    assert not torch.allclose(layer_norm(pb_relax(x), 0.1), layer_norm(x, 0.1))


def test_pb_relax_leaves_a_row_of_zeros():
    assert not pb_relax(torch.zeros(1, 4)).any()


@pytest.mark.parametrize("placement", placements.PLACEMENTS)
def test_no_token_sees_a_later_one(placement):
    config = cases.small(placement, model__positions="rotary")
    model = build(config, biting_weights(config), torch.float64)
    tokens, _ = sequences(config, random_tokens(config))
    changed = tokens.clone()
    changed[:, 4:] = (changed[:, 4:] + 1) % config["model.vocab"]
    before, after = (model.stream(t)[-1] for t in (tokens, changed))
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


@pytest.mark.parametrize("placement", placements.SPHERES)
def test_sphere_placements_stay_on_radius_sqrt_d(placement):
    out = outputs(cases.small(placement))
    for s in range(7):
        length = out[f"hidden.{s}"].square().sum(-1).sqrt()
        torch.testing.assert_close(length, torch.full_like(length, math.sqrt(24)))


def test_orthogonal_branches_leave_the_component_along_the_stream():
    out = outputs(cases.small("orthogonal"))
    for s in range(6):
        x, moved = out[f"hidden.{s}"], out[f"hidden.{s + 1}"] - out[f"hidden.{s}"]
        assert (x * moved).sum(-1).abs().max() < 1e-12


def test_mix_is_post_in_its_first_quarter():
    config = cases.small("mix", model__layers=9)
    names = [name for name, _ in Model(config).named_parameters()]
    post_blocks = {name.split(".")[1] for name in names if "norm_post" in name}
    pre_blocks = {name.split(".")[1] for name in names if "norm_in" in name}
    assert post_blocks == {"0", "1"} and pre_blocks == set("2345678")
    assert "norm_final.gain" in names


def test_prores_ramps_each_block_in_turn():
    config = cases.small("prores", residual__warmup=10)
    weights, tokens = biting_weights(config), random_tokens(config)
    plain = run_step(cases.small("pre"), weights, tokens)
    assert_same(run_step(config, weights, tokens, step=30), plain)
    early = run_step(config, weights, tokens, step=2)
    for s, factor in ((1, 2 / 10), (3, 2 / 20), (5, 2 / 30)):
        x = early[f"hidden.{s - 1}"]
        block = Model(config).double()
        block.load_state_dict(weights)
        full = block.sublayers()[s - 1].normed_branch(x)
        torch.testing.assert_close(early[f"hidden.{s}"], x + factor * full)


def test_rotary_scores_depend_on_distance_alone():
    head = torch.randn(2, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    q, k = (row.expand(1, 1, 9, 8) for row in head)
    scores = (rotate(q) @ rotate(k).transpose(-2, -1))[0, 0]
    for distance in range(9):
        diagonal = scores.diagonal(-distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal))
    cos, sin = rotary_tables(3, 8)
    assert cos[2, 1] == math.cos(2 * 10000 ** (-2 / 8)) and sin[0].eq(0).all()


@pytest.mark.parametrize("bias", [True, False])
def test_gpt2_parity(bias):
    config = cases.small("pre", model__activation="gelu-tanh", model__bias=bias,
                         train__precision="fp32")
    weights = {name: w.float() for name, w in biting_weights(config).items()}
    inputs, _ = sequences(config, random_tokens(config))
    logits = run_step(config, weights, random_tokens(config))["logits"]
    expected = nanogpt.build(config, weights)(inputs)
    assert (logits - expected).abs().max() <= 1e-5 * expected.abs().max()


def test_gradients_of_the_whole_model_by_finite_differences():
    """One entry of every parameter, for every placement: plumbing that autograd cannot excuse."""
    h = 1e-6
    for placement in placements.PLACEMENTS:
        config = cases.small(placement, model__bias=True, norm__embedding=True)
        weights, tokens = biting_weights(config), random_tokens(config)
        grads = run_step(config, weights, tokens)
        inputs, targets = sequences(config, tokens)
        model = build(config, weights, torch.float64)
        for name, parameter in model.named_parameters():
            grad = grads[f"grad.{name}"].flatten()
            entry = int(grad.abs().argmax())
            flat = parameter.detach().view(-1)
            with torch.no_grad():
                flat[entry] += h
                above = model.loss(inputs, targets)
                flat[entry] -= 2 * h
                below = model.loss(inputs, targets)
                flat[entry] += h
            slope = (above - below) / (2 * h)
            assert abs(slope - grad[entry]) <= 1e-6 * max(1.0, abs(grad[entry])), (placement, name)
