"""The closed backward pass of docs/science.md, part 2, against autograd on the definition.

The trainer's kernels compute the closed form; this holds the formula itself, not the code.
"""

import pytest
import torch

from reference.sphere import AdaptiveAngle, sphere_step
from test_sphere import rows, tangent


def coefficients(retraction: str, q: torch.Tensor):
    """C, S and their derivatives in q = theta²."""
    if retraction == "projection":
        c = (1 + q) ** -0.5
        slope = -0.5 * (1 + q) ** -1.5
        return c, c, slope, slope
    if retraction == "cayley":
        s = 1 / (1 + q / 4)
        return 2 * s - 1, s, -s * s / 2, -s * s / 4
    theta = q.sqrt()
    c, s = theta.cos(), theta.sin() / theta
    return c, s, -s / 2, (c - s) / (2 * q)


def closed_form(x, v, g, alpha, retraction):
    """y, dx, dv and d alpha for the branch v and the upstream gradient g; rows (n, d)."""
    a = (x * x).sum(-1, keepdim=True)
    beta = (x * v).sum(-1, keepdim=True) / a
    u = v - beta * x
    q = alpha**2 * (u * u).sum(-1, keepdim=True) / a
    c, s, c_slope, s_slope = coefficients(retraction, q)
    gx, gu = (g * x).sum(-1, keepdim=True), (g * u).sum(-1, keepdim=True)
    gamma = gx / a
    dq = c_slope * gx + s_slope * alpha * gu
    dv = s * alpha * (g - gamma * x) + 2 * alpha**2 * dq / a * u
    dx = c * g - s * alpha * gamma * u - 2 * q * dq / a * x - beta * dv
    return c * x + s * alpha * u, dx, dv, (u * dv).sum() / alpha


@pytest.mark.parametrize("retraction", ["exp", "projection", "cayley"])
@pytest.mark.parametrize("alpha", [1e-2, 0.3, 3.0])
@pytest.mark.parametrize("regime", ["plain", "parallel", "far from unit radius"])
def test_closed_form_is_the_derivative(retraction, alpha, regime):
    x, v, upstream = rows(20, 48, 1), rows(20, 48, 2), rows(20, 48, 3)
    if regime == "parallel":
        v = -5 * x + 1e-2 * v
    if regime == "far from unit radius":
        x = 300 * x
    leaves = [x.requires_grad_(), v.requires_grad_(),
              torch.tensor(alpha, dtype=torch.float64, requires_grad=True)]
    y = sphere_step(leaves[0], leaves[1], AdaptiveAngle(1.0, retraction, scale=leaves[2]))
    (y * upstream).sum().backward()

    expected = closed_form(x.detach(), v.detach(), upstream, alpha, retraction)
    for got, want in zip([y, *(leaf.grad for leaf in leaves)], expected):
        assert (got - want).abs().max() <= 1e-10 * want.abs().max()


def test_closed_form_at_small_angles_meets_its_limit():
    x, upstream = rows(20, 48, 1), rows(20, 48, 3)
    v = 2 * x + 1e-9 * rows(20, 48, 2)
    x.requires_grad_(), v.requires_grad_()
    (sphere_step(x, v, AdaptiveAngle(0.5)) * upstream).sum().backward()
    projected = tangent(x.detach(), upstream)
    torch.testing.assert_close(v.grad, 0.5 * projected, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(x.grad, upstream - 2 * 0.5 * projected, rtol=1e-8, atol=1e-8)
