"""Times the operations against a copy, against eager and against compiled PyTorch, in one run.

    gpu_bench.py [--shapes 65536x768,...] [--peers copy,eager,compiled] [--json FILE]

Rows are named <op>/<rows>x<width>/<type>/<pass>/<measure>: GB_per_s counts each input and output
once (docs/kernels.md); vs_copy is that over the bandwidth of a copy in the same run; vs_eager and
vs_compiled are times of the peer over ours. Spread is half the distance of the quartiles. Writes
the rows as JSON to FILE, and a table to standard output. Exits with 1 where a peer could not be
measured.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import torch

SHAPES = "65536x768,32768x1024,16384x1600,8192x2048"
TYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


def eager_geonorm(x, v, gain):
    x32, v32 = x.float(), v.float()
    square = x32.square().sum(-1, keepdim=True)
    u = v32 - (x32 * v32).sum(-1, keepdim=True) / square * x32
    size, radius = u.square().sum(-1, keepdim=True).sqrt(), square.sqrt()
    theta = size / radius * 0.5
    return (theta.cos() * x32 + radius * theta.sin() * u / size).to(x.dtype)


def eager_layernorm(x, v, gain):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gain.to(x.dtype))


def eager_rmsnorm(x, v, gain):
    return torch.nn.functional.rms_norm(x, x.shape[-1:], gain.to(x.dtype), 1e-5)


def eager_pre(x, v, gain):
    stream = x + v
    return stream, eager_layernorm(stream, v, gain)


def eager_post(x, v, gain):
    return eager_layernorm(x + v, v, gain)


def operations():
    """op -> (ours, eager, tensors read and written forward, the same backward)."""
    ops = torch.ops.normlab
    pre = {"next_norm": "layernorm"}
    return {
        "geonorm": (lambda x, v, w: ops.geonorm(x, v, 0.5), eager_geonorm, 3, 5),
        "layernorm": (lambda x, v, w: ops.layernorm(x, w), eager_layernorm, 2, 3),
        "rmsnorm": (lambda x, v, w: ops.rmsnorm(x, w), eager_rmsnorm, 2, 3),
        "residual-pre": (lambda x, v, w: ops.residual(x, v, next_gain=w, **pre), eager_pre, 4, 4),
        "residual-post": (lambda x, v, w: ops.residual(x, v, post_norm="layernorm", post_gain=w)[0],
                          eager_post, 3, 4),
    }


class Timer:
    """Seconds of a call on a device: by its own events, or by the clock on the CPU."""

    def __init__(self, device, rounds, seconds):
        self.cuda, self.count, self.seconds = device.startswith("cuda"), rounds, seconds

    def once(self, call, repeats):
        if not self.cuda:
            begin = time.perf_counter()
            for _ in range(repeats):
                call()
            return (time.perf_counter() - begin) / repeats
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(repeats):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3 / repeats

    def rounds(self, calls):
        """Seconds of each call, over rounds that take turns, so that all see the same machine."""
        for call in calls.values():
            for _ in range(3):
                call()
        repeats = {name: max(1, int(self.seconds / max(self.once(call, 2), 1e-7)))
                   for name, call in calls.items()}
        times = {name: [] for name in calls}
        for _ in range(self.count):
            for name, call in calls.items():
                times[name].append(self.once(call, repeats[name]))
        return times


def both_passes(function, tensors, gradients):
    def call():
        outputs = function(*tensors)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        torch.autograd.grad(outputs, tensors, gradients[: len(outputs)], allow_unused=True)
    return call


def forward_only(function, tensors):
    def call():
        with torch.no_grad():
            function(*tensors)
    return call


def row(name, values, unit):
    quartiles = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return {"name": name, "value": statistics.median(values), "unit": unit,
            "spread": (quartiles[2] - quartiles[0]) / 2}


def check(name, ours, eager, tensors):
    """What is timed must be the same: to the rounding of the type."""
    got, want = ours(*tensors), eager(*tensors)
    got, want = (t if isinstance(t, tuple) else (t,) for t in (got, want))
    for one, other in zip(got, want):
        tolerance = 3e-2 if one.dtype == torch.bfloat16 else 1e-3
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, msg=lambda text:
                                   f"{name} and its peer disagree: {text}")


def bench_shape(rows, cols, dtype_name, peers, device, timer):
    dtype = TYPES[dtype_name]
    torch.compiler.reset()  # past a few shapes of one function it would quietly run eagerly
    make = lambda: torch.randn(rows, cols, device=device).to(dtype)
    tensors = [make().requires_grad_(), make().requires_grad_(),
               torch.ones(cols, device=device, requires_grad=True)]
    gradients = [make(), make()]
    source, target = make(), make()
    size = source.numel() * source.element_size()
    for name, (ours, eager, read_forward, read_backward) in operations().items():
        check(name, ours, eager, tensors)
        functions = {"ours": ours}
        if "eager" in peers:
            functions["eager"] = eager
        if "compiled" in peers:
            functions["compiled"] = torch.compile(eager, dynamic=False)
        for passes, count in (("fwd", read_forward), ("fwd+bwd", read_forward + read_backward)):
            calls = {peer: forward_only(f, tensors) if passes == "fwd"
                     else both_passes(f, tensors, gradients) for peer, f in functions.items()}
            if "copy" in peers:
                calls["copy"] = lambda: target.copy_(source)
            times = timer.rounds(calls)
            prefix = f"{name}/{rows}x{cols}/{dtype_name}/{passes}"
            speed = [count * size / t / 1e9 for t in times["ours"]]
            yield row(f"{prefix}/GB_per_s", speed, "GB/s")
            if "copy" in peers:
                copies = [2 * size / t / 1e9 for t in times["copy"]]
                yield row(f"{prefix}/vs_copy", [s / c for s, c in zip(speed, copies)], "ratio")
            for peer in ("eager", "compiled"):
                if peer in times:
                    yield row(f"{prefix}/vs_{peer}",
                              [p / o for p, o in zip(times[peer], times["ours"])], "ratio")


def table(rows):
    cells = {}
    for entry in rows:
        what, measure = entry["name"].rsplit("/", 1)
        cells.setdefault(what, {})[measure] = f'{entry["value"]:.2f} ± {entry["spread"]:.2f}'
    measures = sorted({m for found in cells.values() for m in found})
    lines = [f"| | {' | '.join(measures)} |", "|---" * (len(measures) + 1) + "|"]
    for what, found in cells.items():
        lines.append(f"| {what} | {' | '.join(found.get(m, '') for m in measures)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--types", default="bf16,f32")
    parser.add_argument("--peers", default="copy,eager,compiled")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.02, help="of a call in each round")
    parser.add_argument("--json")
    args = parser.parse_args()
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("there is no GPU that PyTorch can use: nothing was measured")
    build = pathlib.Path(os.environ["NORMLAB_BIN"]).parent
    torch.ops.load_library(next(build.rglob("libnormlab_torch.so")))
    rows, timer = [], Timer(args.device, args.rounds, args.seconds)
    for shape in args.shapes.split(","):
        height, width = map(int, shape.split("x"))
        for dtype_name in args.types.split(","):
            peers = args.peers.split(",")
            rows += bench_shape(height, width, dtype_name, peers, args.device, timer)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
