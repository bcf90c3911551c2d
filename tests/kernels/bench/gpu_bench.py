"""Times the operations on a GPU against a copy, against eager and compiled PyTorch, in one run.

    gpu_bench.py [--shapes 65536x768,...] [--types bf16,mixed,f32] [--peers copy,eager,compiled]
                 [--rounds N] [--json]
    gpu_bench.py --table FILE

Rows are named <op>/<rows>x<width>/<type>/<pass>/<measure>, a pass being fwd, bwd or fwd+bwd:
GB_per_s counts each input and output once (docs/kernels.md); vs_copy is that over the bandwidth of
a copy; vs_eager and vs_compiled are times of the peer over ours, peers having been measured in turn
with ours; dram_vs_least is what ncu (Nsight Compute) counted of the memory's traffic over those
bytes, where there is an ncu that may look. Values are medians over the rounds, spread is half the
distance of the quartiles. "mixed" is an fp32 stream with a bf16 branch. Prints a table that says
which targets are reached, with --json the array of rows; --table prints the table of such an array.
Exits with 1 where something could not be measured, or where a peer computes something else; without
ncu it says so, and goes on.

On a GPU a call is the replay of its CUDA graph, so that the time is the device's and not Python's,
between two events of the stream; before each, other memory is read until the caches hold nothing of
it.
"""

import argparse
import collections
import importlib
import json
import os
import pathlib
import statistics
import sys
import time

torch = None  # imported by measure(): a table is printed without

SHAPES = "65536x768,16384x1600,16384x2048"
TYPES = {"bf16": ("bfloat16", "bfloat16"), "mixed": ("float32", "bfloat16"),
         "f32": ("float32", "float32")}  # of the stream and of the branch
PASSES = ("fwd", "bwd", "fwd+bwd")
LEAST_VS_COPY = {"fwd": 0.85, "bwd": 0.80}
MOST_DRAM_VS_LEAST = 1.03
CACHED_BYTES = 1 << 29  # more than the caches of any GPU hold

# Both functions take (x, v, gain); rows of the stream's and of the branch's type that a pass reads
# and writes. dg of a residual update is a matrix of its own only where the types differ.
Operation = collections.namedtuple("Operation", "ours eager forward backward backward_mixed")


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
    return stream, eager_layernorm(stream, v, gain).to(v.dtype)


def eager_post(x, v, gain):
    return eager_layernorm(x + v, v, gain)


def operations(mixed):
    ops = torch.ops.normlab
    found = {
        "geonorm": Operation(lambda x, v, w: ops.geonorm(x, v, 0.5), eager_geonorm,
                             (2, 1), (3, 2), (3, 2)),
        "residual-pre": Operation(
            lambda x, v, w: ops.residual(x, v, next_norm="layernorm", next_gain=w), eager_pre,
            (2, 2), (3, 1), (3, 2)),
        "residual-post": Operation(
            lambda x, v, w: ops.residual(x, v, post_norm="layernorm", post_gain=w)[0], eager_post,
            (2, 1), (3, 1), (3, 2)),
    }
    if not mixed:
        found["layernorm"] = Operation(lambda x, v, w: ops.layernorm(x, w), eager_layernorm,
                                       (2, 0), (3, 0), None)
        found["rmsnorm"] = Operation(lambda x, v, w: ops.rmsnorm(x, w), eager_rmsnorm,
                                     (2, 0), (3, 0), None)
    return found


class CpuTimer:
    """Seconds by the clock."""

    def ready(self, make):
        return make()

    def once(self, call):
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin


class GpuTimer:
    """Seconds between two events of the stream, of a call that finds nothing in the caches."""

    def __init__(self, device):
        self.others = torch.ones(CACHED_BYTES // 4, device=device)
        self.side = torch.cuda.Stream()

    def ready(self, make):
        """The call as a CUDA graph. It is made and runs first, to be compiled and to find its
        memory, on the stream that is captured: a backward pass runs where its forward pass ran.
        That is one stream for all calls, which share the tensors whose gradients they want."""
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            call = make()
            for _ in range(3):
                call()
        torch.cuda.current_stream().wait_stream(self.side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.side):
            call()
        return lambda kept=call: graph.replay()  # what a call holds must live as long as its graph

    def once(self, call):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        # Read, not written: what is written would go to memory while the call is timed. It takes
        # long enough for the launches below to be waiting in the stream when it ends.
        self.others.sum()
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3


def in_turn(timer, makers, rounds):
    """Seconds of each call in each round; calls take turns, so that all see the same machine."""
    ready = {name: timer.ready(make) for name, make in makers.items()}
    for call in ready.values():
        for _ in range(3):
            timer.once(call)
    times = {name: [] for name in ready}
    for _ in range(rounds):
        for name, call in ready.items():
            times[name].append(timer.once(call))
    return times


def outputs_of(function, tensors):
    outputs = function(*tensors)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def gradients_of(function, tensors, upstream):
    return torch.autograd.grad(outputs_of(function, tensors), tensors, upstream, allow_unused=True)


def forward_only(function, tensors):
    with torch.no_grad():
        function(*tensors)


def make_call(passes, function, tensors, upstream):
    """What is timed: a pass of the function, for `bwd` after a forward pass that is not."""
    if passes == "fwd":
        return lambda: forward_only(function, tensors)
    if passes == "fwd+bwd":
        return lambda: gradients_of(function, tensors, upstream)
    outputs = outputs_of(function, tensors)
    return lambda: torch.autograd.grad(outputs, tensors, upstream, retain_graph=True,
                                       allow_unused=True)


def check(name, operation, tensors, upstream):
    """What is timed must be the same, in both directions, to the rounding of the types."""
    ours, eager = (
        [*outputs_of(f, tensors), *gradients_of(f, tensors, upstream)]
        for f in (operation.ours, operation.eager))
    narrow = any(t.dtype == torch.bfloat16 for t in tensors)
    for one, other in zip(ours, eager):
        if one is None and other is None:
            continue
        difference = (one.float() - other.float()).abs().max().item()
        size = other.float().abs().max().item()
        if not difference <= (3e-2 if narrow else 1e-3) * size:
            sys.exit(f"{name} and its peer disagree: {difference} where numbers reach {size}")


def row(name, values, unit):
    quartiles = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return {"name": name, "value": statistics.median(values), "unit": unit,
            "spread": (quartiles[2] - quartiles[0]) / 2}


def rows_of(prefix, moved, copied, times):
    speed = [moved / t / 1e9 for t in times["ours"]]
    yield row(f"{prefix}/GB_per_s", speed, "GB/s")
    if "copy" in times:
        copies = [copied / t / 1e9 for t in times["copy"]]
        yield row(f"{prefix}/vs_copy", [s / c for s, c in zip(speed, copies)], "ratio")
    for peer in ("eager", "compiled"):
        if peer in times:
            yield row(f"{prefix}/vs_{peer}", [p / o for p, o in zip(times[peer], times["ours"])],
                      "ratio")


def make_inputs(rows, cols, type_name, device):
    """(x, v, gain), each of which wants a gradient."""
    stream, branch = (getattr(torch, name) for name in TYPES[type_name])
    made = [torch.randn(rows, cols, device=device).to(dtype).requires_grad_()
            for dtype in (stream, branch)]
    return [*made, torch.ones(cols, device=device, requires_grad=True)]


def make_upstream(operation, tensors):
    with torch.no_grad():
        return [torch.randn_like(t) for t in outputs_of(operation.eager, tensors)]


def bytes_of(operation, passes, tensors):
    """Of each input and output once."""
    sizes = [t.numel() * t.element_size() for t in tensors[:2]]
    mixed = tensors[0].dtype != tensors[1].dtype
    forward, backward = operation.forward, (operation.backward_mixed if mixed
                                            else operation.backward)
    counts = {"fwd": forward, "bwd": backward,
              "fwd+bwd": [f + b for f, b in zip(forward, backward)]}[passes]
    return sum(c * s for c, s in zip(counts, sizes))


def cases(args):
    """(rows, cols, type) of every shape and type asked for."""
    for shape in args.shapes.split(","):
        for type_name in args.types.split(","):
            yield (*map(int, shape.split("x")), type_name)


def operations_of(type_name):
    return operations(mixed=len(set(TYPES[type_name])) > 1)


def bench_shape(rows, cols, type_name, args, timer):
    torch.compiler.reset()  # past a few shapes of one function it would quietly run eagerly
    tensors = make_inputs(rows, cols, type_name, args.device)
    source, target = (torch.empty_like(tensors[0], requires_grad=False).normal_() for _ in range(2))
    for name, operation in operations_of(type_name).items():
        upstream = make_upstream(operation, tensors)
        check(name, operation, tensors, upstream)
        functions = {"ours": operation.ours}
        if "eager" in args.peers:
            functions["eager"] = operation.eager
        if "compiled" in args.peers:
            functions["compiled"] = torch.compile(operation.eager, dynamic=False)
        for passes in PASSES:
            makers = {peer: (lambda f=f: make_call(passes, f, tensors, upstream))
                      for peer, f in functions.items()}
            if "copy" in args.peers:
                makers["copy"] = lambda: lambda: target.copy_(source)
            yield from rows_of(f"{name}/{rows}x{cols}/{type_name}/{passes}",
                               bytes_of(operation, passes, tensors),
                               2 * source.numel() * source.element_size(),
                               in_turn(timer, makers, args.rounds))


def touch(args):
    """Each of our passes once, in a range of its name, for ncu to look at."""
    cuda = args.device.startswith("cuda")
    with torch.autograd.set_multithreading_enabled(False):  # a range belongs to one thread
        for rows, cols, type_name in cases(args):
            tensors = make_inputs(rows, cols, type_name, args.device)
            for name, operation in operations_of(type_name).items():
                upstream = make_upstream(operation, tensors)
                for passes in LEAST_VS_COPY:
                    call = make_call(passes, operation.ours, tensors, upstream)
                    call()
                    if cuda:
                        torch.cuda.synchronize()
                        torch.cuda.profiler.start()
                        torch.cuda.nvtx.range_push(f"{name}/{rows}x{cols}/{type_name}/{passes}")
                    call()
                    if cuda:
                        torch.cuda.synchronize()
                        torch.cuda.nvtx.range_pop()
                        torch.cuda.profiler.stop()


def dram_rows(args):
    """Rows of dram_vs_least, or none and a sentence."""
    gpu_dram = importlib.import_module("gpu_dram")
    try:
        found = gpu_dram.bytes_by_range([__file__, "--touch", "--device", args.device, "--shapes",
                                         args.shapes, "--types", args.types])
    except gpu_dram.NotCounted as reason:
        print(f"gpu_bench: the memory's traffic is not counted: {reason}", file=sys.stderr)
        return
    for rows, cols, type_name in cases(args):
        tensors = make_inputs(rows, cols, type_name, "meta")
        for name, operation in operations_of(type_name).items():
            for passes in LEAST_VS_COPY:
                what = f"{name}/{rows}x{cols}/{type_name}/{passes}"
                if what not in found:
                    sys.exit(f"ncu has counted nothing of {what}")
                yield row(f"{what}/dram_vs_least",
                          [found[what] / bytes_of(operation, passes, tensors)], "ratio")


def verdict(passes, measure, value):
    """None where nothing is asked of that measure, else the mark beside it."""
    if measure == "vs_copy" and passes in LEAST_VS_COPY:
        least = LEAST_VS_COPY[passes]
        return "✓" if value >= least else f"below {least:.2f}"
    if measure == "dram_vs_least":
        return "✓" if value <= MOST_DRAM_VS_LEAST else f"above {MOST_DRAM_VS_LEAST:.2f}"
    return None


def table(rows):
    cells, verdicts = {}, []
    for entry in rows:
        what, measure = entry["name"].rsplit("/", 1)
        mark = verdict(what.rsplit("/", 1)[-1], measure, entry["value"])
        verdicts += [mark] if mark else []
        cells.setdefault(what, {})[measure] = " ".join(
            [f'{entry["value"]:.2f} ± {entry["spread"]:.2f}', *([mark] if mark else [])])
    measures = sorted({m for found in cells.values() for m in found})
    lines = [f"| | {' | '.join(measures)} |", "|---" * (len(measures) + 1) + "|"]
    for what, found in cells.items():
        lines.append(f"| {what} | {' | '.join(found.get(m, '') for m in measures)} |")
    lines += ["", f"{verdicts.count('✓')} of {len(verdicts)} targets reached: bandwidth at least "
              f"{LEAST_VS_COPY['fwd']:.0%} of a copy's forward and {LEAST_VS_COPY['bwd']:.0%} "
              "backward, the memory's traffic at most "
              f"{MOST_DRAM_VS_LEAST - 1:.0%} over the least."]
    return "\n".join(lines)


def measure(args):
    global torch
    torch = importlib.import_module("torch")
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("there is no GPU that PyTorch can use: nothing was measured")
    args.peers = args.peers.split(",")
    build = pathlib.Path(os.environ["NORMLAB_BIN"]).parent
    torch.ops.load_library(next(build.rglob("libnormlab_torch.so")))
    if args.touch:
        return touch(args)
    # `bwd` runs more than once after one forward pass, whose tensors must still be there.
    importlib.import_module("torch._functorch.config").donated_buffer = False
    timer = GpuTimer(args.device) if args.device.startswith("cuda") else CpuTimer()
    rows = []
    for case in cases(args):
        rows += bench_shape(*case, args, timer)
    return [*rows, *dram_rows(args)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--peers", default="copy,eager,compiled")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--touch", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--table", metavar="FILE", help="print the table of an array of rows")
    args = parser.parse_args()
    if args.table:
        print(table(json.loads(pathlib.Path(args.table).read_text(encoding="utf-8"))))
        return 0
    rows = measure(args)
    if not args.touch:
        print(json.dumps(rows, indent=1) if args.json else table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
