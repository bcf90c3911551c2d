"""GeoNorm's mathematics on the reference: docs/science.md, part 2, tests (1) to (9).

fp64 unless said otherwise; rows are drawn with RMS 1, as the stream of a sphere model has it.
"""

import math

import pytest
import torch

from reference.norms import rms_norm
from reference.sphere import AdaptiveAngle, FixedAngle, onto_sphere, sphere_step

RETRACTIONS = ("exp", "projection", "cayley")


def rows(count: int, width: int, seed: int, dtype=torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, generator=generator, dtype=torch.float64).to(dtype)


def norms(x: torch.Tensor) -> torch.Tensor:
    return x.double().square().sum(-1).sqrt()


def tangent(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    return g - (x * g).sum(-1, keepdim=True) / x.square().sum(-1, keepdim=True) * x


@pytest.mark.parametrize("along", [0, 1, 10, 100, 1000])
@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_1_radius_is_kept_in_fp32(retraction, along):
    x = onto_sphere(rows(200, 768, 1)).float()
    g = along * x + rows(200, 768, 2).float()
    alpha = 0.5
    c = (x.double() * g.double()).sum(-1) / x.double().square().sum(-1)
    drift = (norms(sphere_step(x, g, AdaptiveAngle(alpha, retraction))) / norms(x) - 1).abs()
    assert (drift <= 4 * (1 + (alpha * c).abs()) * 2**-23).all()


def test_1_radius_is_kept_in_bf16_over_96_updates():
    x = onto_sphere(rows(200, 768, 1)).bfloat16()
    start = norms(x)
    for k in range(96):
        g = rows(200, 768, 10 + k, torch.float32)
        x = sphere_step(x.float(), g, AdaptiveAngle(0.1)).bfloat16()
    assert (norms(x) / start - 1).abs().max() <= 5e-3


ANGLES = {
    **{name: lambda name=name: AdaptiveAngle(0.8, name) for name in RETRACTIONS},
    "clamped": lambda: AdaptiveAngle(0.8, clamp=0.6),
    "prenorm": lambda: FixedAngle(math.atan(1 / math.sqrt(3))),
}


@pytest.mark.parametrize("name", ANGLES)
def test_2_gradient_of_the_branch_is_tangent(name):
    x, g = rows(50, 12, 1), rows(50, 12, 2).requires_grad_()
    (sphere_step(x, g, ANGLES[name]()) * rows(50, 12, 3)).sum().backward()
    along = (g.grad * x).sum(-1).abs() / (norms(g.grad) * norms(x))
    assert along.max() < 1e-13


@pytest.mark.parametrize("name", ANGLES)
def test_3_gradcheck(name):
    x, g = rows(5, 6, 1).requires_grad_(), rows(5, 6, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, g: sphere_step(x, g, ANGLES[name]()), (x, g))


@pytest.mark.parametrize("clamp", [math.inf, 0.7])
@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_3_gradcheck_of_the_learned_angle(retraction, clamp):
    inputs = [rows(5, 6, 1), rows(5, 6, 2), torch.tensor([1.2]).double(),
              torch.tensor([0.3]).double()]
    assert torch.autograd.gradcheck(
        lambda x, g, scale, bias: sphere_step(
            x, g, AdaptiveAngle(0.5, retraction, clamp, scale, bias)),
        [tensor.requires_grad_() for tensor in inputs],
    )


def test_clamp_cases_have_rows_on_both_sides():
    x, g = onto_sphere(rows(50, 24, 1)), rows(50, 24, 2)
    r = norms(tangent(x, g)) / norms(x)
    assert (r < 0.9).any() and (r > 0.9).any()


@pytest.mark.parametrize("name", ANGLES)
@pytest.mark.parametrize("factor", [0.0, 2.0, -3.0])
def test_4_a_branch_without_tangent_part_changes_nothing(name, factor):
    x = torch.tensor([[3.0, 0.0, 4.0, 0.0]], dtype=torch.float64, requires_grad=True)
    g = (factor * x.detach()).requires_grad_()
    y = sphere_step(x, g, ANGLES[name]())
    torch.testing.assert_close(y, x, rtol=1e-15, atol=1e-15)
    upstream = rows(1, 4, 5)
    (y * upstream).sum().backward()
    expected_dg = tangent(x.detach(), upstream) * (0.0 if name == "prenorm" else 0.8)
    torch.testing.assert_close(g.grad, expected_dg, rtol=1e-13, atol=1e-13)
    moved = 0.0 if name == "prenorm" else factor * 0.8
    expected_dx = upstream - moved * tangent(x.detach(), upstream)
    torch.testing.assert_close(x.grad, expected_dx, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", ANGLES)
def test_a_row_of_zeros_stays_and_passes_its_gradient_to_x_alone(name):
    x = torch.zeros(1, 4, dtype=torch.float64, requires_grad=True)
    g = rows(1, 4, 2).requires_grad_()
    y = sphere_step(x, g, ANGLES[name]())
    upstream = rows(1, 4, 5)
    (y * upstream).sum().backward()
    assert torch.equal(y, x) and torch.equal(x.grad, upstream) and not g.grad.any()


@pytest.mark.parametrize("name", ANGLES)
@pytest.mark.parametrize("scale", [1e-3, 7.0, 1e4])
def test_5_scaling_both_inputs_scales_the_output(name, scale):
    x, g = rows(20, 12, 1), rows(20, 12, 2)
    scaled = sphere_step(scale * x, scale * g, ANGLES[name]())
    torch.testing.assert_close(
        scaled, scale * sphere_step(x, g, ANGLES[name]()), rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.parametrize("name", ANGLES)
def test_6_equivariant_under_rotation(name):
    x, g = rows(20, 12, 1), rows(20, 12, 2)
    q, _ = torch.linalg.qr(rows(12, 12, 3))
    torch.testing.assert_close(
        sphere_step(x @ q, g @ q, ANGLES[name]()), sphere_step(x, g, ANGLES[name]()) @ q,
        rtol=1e-12, atol=1e-12)


def test_7_pre_norm_with_orthogonal_unit_branches_is_the_prenorm_angle():
    x = onto_sphere(rows(10, 32, 1))
    stream = x.clone()
    for k in range(1, 25):
        g = onto_sphere(tangent(x, rows(10, 32, 100 + k)))
        x = sphere_step(x, g, FixedAngle(math.atan(1 / math.sqrt(k))))
        stream = stream + g
        torch.testing.assert_close(x, rms_norm(stream, eps=0.0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_8_small_steps_err_by_half_alpha_squared(alpha):
    x = onto_sphere(rows(10, 32, 1))
    for size in (1e-2, 1e-3):
        v = size * tangent(x, rows(10, 32, 2))
        error = norms(sphere_step(x, v, AdaptiveAngle(alpha)) - (x + alpha * v))
        ratio = error * norms(x) / norms(v).square()
        torch.testing.assert_close(
            ratio, torch.full_like(ratio, alpha**2 / 2), rtol=size, atol=0)


@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_9_agrees_with_post_rms_norm_to_first_order(retraction):
    x, direction = onto_sphere(rows(10, 32, 1)), rows(10, 32, 2)
    for size in (1e-3, 1e-4):
        g = size * direction
        error = norms(sphere_step(x, g, AdaptiveAngle(0.7, retraction)) - rms_norm(x + 0.7 * g, 0))
        assert (error <= 3 * norms(g).square() / norms(x)).all()


def test_9_projection_is_post_rms_norm_of_the_tangent_part():
    x, g = onto_sphere(rows(10, 32, 1)), rows(10, 32, 2)
    torch.testing.assert_close(
        sphere_step(x, g, AdaptiveAngle(1.0, "projection")), rms_norm(x + tangent(x, g), 0),
        rtol=1e-12, atol=1e-12)
