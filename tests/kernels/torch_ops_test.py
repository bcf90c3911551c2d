"""torch.ops.normlab as Python users meet it: learned numbers, gradients, tracing, refusals."""

import itertools
import os
import pathlib
import warnings

import torch

BUILD = pathlib.Path(os.environ["NORMLAB_BIN"]).parent
torch.ops.load_library(next(BUILD.rglob("libnormlab_torch.so")))
OPS = torch.ops.normlab
PLACES = ("branch", "post", "next")


def leaf(*shape, dtype=torch.float64, seed=0):
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.to(dtype).requires_grad_()


def number(value, shape=()):
    return torch.full(shape, value, dtype=torch.float64, requires_grad=True)


def pair(rows=3, cols=16, dtype=torch.float64):
    return leaf(rows, cols, dtype=dtype, seed=1), leaf(rows, cols, dtype=dtype, seed=2)


def refusal(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return "it was not refused"


def check_refused(call, *sentences):
    said = refusal(call)
    for sentence in sentences:
        assert sentence in said, f"no '{sentence}' in: {said}"


def check_gradients(function, *inputs):
    assert torch.autograd.gradcheck(function, inputs, eps=1e-6, atol=1e-6)


# ---- what the operations compute ---------------------------------------------------------------


def geonorm(x, v, alpha=1.0, scale=1.0, bias=0.0, angle_clamp=None, fixed_angle=None,
            retraction="exp"):
    """The definition (include/normlab_kernels.h) in tensor operations, where u is not 0."""
    square = x.square().sum(-1, keepdim=True)
    u = v - (x * v).sum(-1, keepdim=True) / square * x
    size, radius = u.norm(dim=-1, keepdim=True), square.sqrt()
    clamp = float("inf") if angle_clamp is None else angle_clamp
    angle = ((size / radius).clamp(max=clamp) * scale + bias) * alpha
    angle = angle.clamp(-clamp, clamp)
    angle = {"exp": lambda t: t, "projection": torch.atan,
             "cayley": lambda t: 2 * torch.atan(t / 2)}[retraction](angle)
    if fixed_angle is not None:
        angle = torch.full_like(angle, fixed_angle)
    return angle.cos() * x + radius * angle.sin() * u / size


def check_learned_angle():
    """Every mixture of numbers and tensors, none of them turned into the other."""
    values = {"alpha": 0.75, "scale": 1.5, "bias": -0.25}
    x, v = pair()
    for learned in itertools.product((False, True), repeat=3):
        for retraction, clamp in (("exp", None), ("projection", 0.9), ("cayley", None)):
            fixed = {n: w for (n, w), is_learned in zip(values.items(), learned) if not is_learned}
            names = [n for n, is_learned in zip(values, learned) if is_learned]
            given = [number(values[n], (1,) * (i % 2)) for i, n in enumerate(names)]

            def call(function, a, b, *tensors):
                return function(a, b, **fixed, **dict(zip(names, tensors)), angle_clamp=clamp,
                                retraction=retraction)

            torch.testing.assert_close(call(OPS.geonorm, x, v, *given),
                                       call(geonorm, x, v, *given))
            check_gradients(lambda *inputs: call(OPS.geonorm, *inputs), x, v, *given)
    # Without a bias the angle vanishes with u, also where alpha is learned.
    parallel = (2 * x).detach().requires_grad_()
    y = OPS.geonorm(x, parallel, number(0.5))
    torch.testing.assert_close(y, x)
    assert all(g.isfinite().all() for g in torch.autograd.grad(y.sum(), (x, parallel)))


def check_fixed_angle():
    x, v = pair()
    torch.testing.assert_close(OPS.geonorm(x, v, fixed_angle=0.3), geonorm(x, v, fixed_angle=0.3))
    check_gradients(lambda a, b: OPS.geonorm(a, b, fixed_angle=0.3), x, v)


def check_norms():
    x, gain, bias = leaf(3, 16), leaf(16, seed=3), leaf(16, seed=4)
    want = torch.nn.functional.rms_norm(x, (16,), gain, 1e-5) + bias
    torch.testing.assert_close(OPS.rmsnorm(x, gain, bias=bias), want)
    check_gradients(lambda a, w, b: OPS.rmsnorm(a, w, bias=b), x, gain, bias)
    check_gradients(OPS.layernorm, x, gain, bias)


def residual(x, g, a, b, norms, gain, bias):
    """stream and next in tensor operations; norms by place."""
    def normed(place, t):
        if norms[place] == "none":
            return t
        if norms[place] == "layernorm":
            return torch.nn.functional.layer_norm(t, t.shape[-1:], gain, bias, 1e-5)
        return torch.nn.functional.rms_norm(t, t.shape[-1:], gain, 1e-5) + bias

    stream = normed("post", a * x + b * normed("branch", g))
    return (stream,) if norms["next"] == "none" else (stream, normed("next", stream))


def check_residual():
    x, g = pair()
    gain, bias = leaf(16, seed=3), leaf(16, seed=4)
    for kinds in (("none", "none", "layernorm"), ("rmsnorm", "none", "rmsnorm"),
                  ("layernorm", "layernorm", "none"), ("none", "none", "none")):
        norms = dict(zip(PLACES, kinds))
        for b in (0.4, number(0.4), leaf(16, seed=5)):
            def ours(x, g, gain, bias, b=b):
                given = {f"{place}_{name}": t for place in PLACES if norms[place] != "none"
                         for name, t in (("gain", gain), ("bias", bias))}
                kinds = {f"{place}_norm": kind for place, kind in norms.items()}
                stream, following = OPS.residual(x, g, 1.3, b, **kinds, **given)
                assert (following is None) == (norms["next"] == "none")
                return (stream,) if following is None else (stream, following)

            used = [x, g, *([gain, bias] if set(kinds) != {"none"} else [])]
            for got, want in zip(ours(x, g, gain, bias), residual(x, g, 1.3, b, norms, gain, bias)):
                torch.testing.assert_close(got, want)
            if isinstance(b, torch.Tensor):
                check_gradients(lambda *i: ours(*(*i[:-1], gain, bias)[:4], b=i[-1]), *used, b)
            else:
                check_gradients(lambda *i: ours(*(*i, gain, bias)[:4]), *used)


# ---- once differentiable -----------------------------------------------------------------------

X, V = pair()
GAIN, BIAS = leaf(16, seed=3), leaf(16, seed=4)
CALLS = {
    "geonorm": (lambda x, v, w, c: OPS.geonorm(x, v, 0.5, scale=c[:1]), (X, V, None, BIAS)),
    "layernorm": (lambda x, v, w, c: OPS.layernorm(x, w, c), (X, None, GAIN, BIAS)),
    "rmsnorm": (lambda x, v, w, c: OPS.rmsnorm(x, w, bias=c), (X, None, GAIN, BIAS)),
    "residual": (lambda x, v, w, c: OPS.residual(x, v, 1.0, c, next_norm="layernorm", next_gain=w),
                 (X, V, GAIN, BIAS)),
}


def loss_of(outputs):
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return sum((o.double() * torch.linspace(-1, 1, o.shape[-1], dtype=torch.float64)).sum()
               for o in outputs)


def check_second_derivatives():
    for name, (call, given) in CALLS.items():
        inputs = [t for t in given if t is not None]
        plain = torch.autograd.grad(loss_of(call(*given)), inputs)
        loss = loss_of(call(*given))
        recorded = torch.autograd.grad(loss, inputs, create_graph=True)
        for one, other in zip(recorded, plain):  # as long as nobody differentiates them
            assert torch.equal(one, other), f"{name}: create_graph changes a gradient"
        penalty = sum(g.square().sum() for g in recorded)
        # No gradient depends on the bias of a norm.
        for t in inputs[:-1] if name in ("layernorm", "rmsnorm") else inputs:
            check_refused(lambda t=t: torch.autograd.grad(loss + penalty, t, retain_graph=True),
                          name, "has no derivative")
        check_refused(penalty.backward, name, "has no derivative")


# ---- refusals ----------------------------------------------------------------------------------


def check_refusals():
    elsewhere = torch.ones(16, device="meta")
    x, v = X.float(), V.float()
    for call, name in (
            (lambda: OPS.layernorm(x, elsewhere), "gain"),
            (lambda: OPS.rmsnorm(x, bias=elsewhere), "bias"),
            (lambda: OPS.residual(x, v, b=elsewhere), "b"),
            (lambda: OPS.residual(x, v, b=elsewhere[:1]), "b"),
            (lambda: OPS.residual(x, v, next_norm="rmsnorm", next_gain=elsewhere), "next_gain"),
            (lambda: OPS.geonorm(x, v, scale=elsewhere[:1]), "scale"),
            (lambda: OPS.geonorm(x, v, elsewhere[:1]), "alpha")):
        check_refused(call, f"{name} is on meta", "x is on cpu")
    check_refused(lambda: OPS.geonorm(x, v, torch.ones(2)), "alpha has the shape [2]")
    check_refused(lambda: OPS.geonorm(x, v.t()), "[3, 16]", "[16, 3]")
    check_refused(lambda: OPS.geonorm(x, v, retraction="log"), "not 'log'")
    check_refused(lambda: OPS.residual(x, v, post_gain=GAIN), "post_gain", "post_norm is none")
    check_refused(lambda: OPS.residual(x, v, post_norm="batchnorm"), "post_norm", "'batchnorm'")


# ---- tracing -----------------------------------------------------------------------------------


def check_meta():
    x, v = (torch.empty(5, 7, 16, device="meta", dtype=torch.bfloat16) for _ in range(2))
    stream, following = OPS.residual(x.float(), v, next_norm="rmsnorm")
    for got, dtype in ((OPS.geonorm(x, v), x.dtype), (OPS.layernorm(x), x.dtype),
                       (stream, torch.float32), (following, v.dtype)):
        assert got.shape == x.shape and got.dtype == dtype and got.device.type == "meta", got
    check_refused(lambda: OPS.geonorm(x, v[:4]), "[5, 7, 16]", "[4, 7, 16]")
    check_refused(lambda: OPS.rmsnorm(x.to(torch.float16)), "Half")


def check_operators():
    """What PyTorch's own checker finds in schemas, fake tensors, autograd and tracing."""
    overload = OPS.geonorm.learned_scale
    torch.library.opcheck(OPS.geonorm.default, (X, V, 0.5))
    torch.library.opcheck(overload, (X, V, 0.5), {"scale": number(1.5)})
    torch.library.opcheck(OPS.layernorm.default, (X, GAIN, BIAS))
    torch.library.opcheck(OPS.rmsnorm.default, (X, GAIN))
    torch.library.opcheck(OPS.residual.default, (X, V), {"next_norm": "rmsnorm"})
    torch.library.opcheck(OPS.residual.learned_b, (X, V, 1.0, BIAS),
                          {"post_norm": "layernorm", "post_gain": GAIN})


def check_compiled():
    """One graph in each direction, with sizes that are numbers and with sizes that are not."""
    for name, (call, given) in CALLS.items():
        inputs = [t for t in given if t is not None]
        for dynamic in (False, True):
            torch.compiler.reset()
            compiled = torch.compile(call, fullgraph=True, backend="aot_eager", dynamic=dynamic)
            got, want = (torch.autograd.grad(loss_of(f(*given)), inputs) for f in (compiled, call))
            for one, other in zip(got, want):
                assert torch.equal(one, other), f"{name}: compiled it gives something else"


def check_vmap():
    x, v = (t.detach().reshape(2, 3, 8) for t in (X, V))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is no batching rule, so rows go one by one
        got = torch.vmap(lambda a, b: OPS.geonorm(a, b, 0.5))(x, v)
        torch.testing.assert_close(got, OPS.geonorm(x, v, 0.5))
        check_refused(lambda: torch.func.grad(lambda a: OPS.geonorm(a, v[0]).sum())(x[0]),
                      "autograd::Function")


def main():
    checks = (check_learned_angle, check_fixed_angle, check_norms, check_residual,
              check_second_derivatives, check_refusals, check_meta, check_operators,
              check_compiled, check_vmap)
    for check in checks:
        check()
    print(f"{len(checks)} checks of torch.ops.normlab passed")


if __name__ == "__main__":
    main()
