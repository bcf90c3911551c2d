"""GeoNorm from Python: load the library, take a step on the sphere, differentiate through it."""

import os
import pathlib

import torch

build = pathlib.Path(os.environ["NORMLAB_BIN"]).parent
torch.ops.load_library(next(build.rglob("libnormlab_torch.so")))
x = torch.randn(4, 768, requires_grad=True)
v = torch.randn(4, 768, requires_grad=True)
y = torch.ops.normlab.geonorm(x, v, 0.5)
y.sum().backward()

torch.testing.assert_close(y.norm(dim=-1), x.norm(dim=-1))
assert (v.grad * x).sum(-1).abs().max() < 1e-3, "dv must be tangent to x"
x64, v64 = (t.detach().double()[:2, :16].contiguous().requires_grad_() for t in (x, v))
assert torch.autograd.gradcheck(lambda a, b: torch.ops.normlab.geonorm(a, b, 0.5), (x64, v64))
gain = torch.rand(16, dtype=torch.float64, requires_grad=True)
for branch, post, following in (("none", "none", "layernorm"), ("rmsnorm", "none", "rmsnorm"),
                                ("layernorm", "layernorm", "none")):
    assert torch.autograd.gradcheck(
        lambda a, b, g: torch.ops.normlab.residual(
            a, b, 1.3, 0.4, branch_norm=branch, branch_gain=g, post_norm=post, post_gain=g,
            next_norm=following, next_gain=g), (x64, v64, gain))
try:
    torch.ops.normlab.geonorm(x, v.t())
except RuntimeError as error:
    assert "[4, 768]" in str(error) and "[768, 4]" in str(error), error
else:
    raise AssertionError("a wrong shape must be refused")
try:
    torch.ops.normlab.rmsnorm(torch.empty(4, 768, device="meta"))
except RuntimeError as error:
    assert "not on meta" in str(error), error
else:
    raise AssertionError("a device without kernels must be refused")
print("geonorm, its gradients and the residual forms agree with finite differences")
