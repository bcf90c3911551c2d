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
which targets are reached, with --json each row as soon as it is known, a line each; --table prints
the table of such lines. What cannot be measured (a peer that fails, or computes something else) is
said on standard error, the rest is measured, and the exit is 1; what ncu does not count is said.

On a GPU a call is the replay of its CUDA graph, so that the time is the device's and not Python's,
between two events of the stream; before each, other memory is read until the caches hold nothing of
it.
"""

import argparse
import collections
import functools
import importlib
import json
import os
import pathlib
import statistics
import sys
import time

import gpu_dram
import gpu_table

torch = None  # imported by measure(): a table is printed without

SHAPES = "65536x768,16384x1600,16384x2048"
TYPES = {"bf16": ("bfloat16", "bfloat16"), "mixed": ("float32", "bfloat16"),
         "f32": ("float32", "float32")}  # of the stream and of the branch
PASSES = ("fwd", "bwd", "fwd+bwd")
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


class Report:
    """Rows as they come, and what could not be measured."""

    def __init__(self, as_json):
        self.as_json = as_json
        self.rows = []
        self.complete = True

    def add(self, rows):
        for entry in rows:
            self.rows.append(entry)
            if self.as_json:
                print(json.dumps(entry), flush=True)

    def miss(self, what, error):
        self.complete = False
        sentence = str(error).strip().split("\n", maxsplit=1)[0]
        say(f"{what} is not measured: {type(error).__name__}: {sentence}")


def say(sentence):
    print(f"gpu_bench: {sentence}", file=sys.stderr)


def in_turn(timer, makers, rounds, missing):
    """Seconds of each call in each round; calls take turns, so that all see the same machine. Of
    calls that cannot be made there are none: missing(name, error)."""
    ready = {}
    for name, make in makers.items():
        try:
            call = timer.ready(make)
            for _ in range(3):
                timer.once(call)
            ready[name] = call
        except Exception as error:  # whatever a compiler or a driver throws
            missing(name, error)
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


def check(operation, tensors, upstream):
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
            raise ValueError(f"it and its peer disagree: {difference} where numbers reach {size}")


def row(name, values, unit):
    quartiles = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return {"name": name, "value": statistics.median(values), "unit": unit,
            "spread": (quartiles[2] - quartiles[0]) / 2}


def rows_of(prefix, moved, copied, times):
    if "ours" not in times:
        return
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


def bench_shape(rows, cols, type_name, args, timer, report):
    if "compiled" in args.peers:
        torch.compiler.reset()  # past a few shapes of one function it would quietly run eagerly
    tensors = make_inputs(rows, cols, type_name, args.device)
    source, target = (torch.empty_like(tensors[0], requires_grad=False).normal_() for _ in range(2))
    for name, operation in operations_of(type_name).items():
        what = f"{name}/{rows}x{cols}/{type_name}"
        try:
            upstream = make_upstream(operation, tensors)
            check(operation, tensors, upstream)
        except Exception as error:
            report.miss(what, error)
            continue
        functions = functions_of(operation, args)
        for passes in PASSES:
            makers = {peer: (lambda get=get: make_call(passes, get(), tensors, upstream))
                      for peer, get in functions.items()}
            if "copy" in args.peers:
                makers["copy"] = lambda: lambda: target.copy_(source)
            times = in_turn(timer, makers, args.rounds, lambda peer, error: report.miss(
                f"{what}/{passes}: {peer}", error))
            report.add(rows_of(f"{what}/{passes}", bytes_of(operation, passes, tensors),
                               2 * source.numel() * source.element_size(), times))


def functions_of(operation, args):
    """What gives the function of each peer; giving may fail."""
    functions = {"ours": lambda: operation.ours}
    if "eager" in args.peers:
        functions["eager"] = lambda: operation.eager
    if "compiled" in args.peers:
        functions["compiled"] = functools.cache(
            lambda: torch.compile(operation.eager, dynamic=False))
    return functions


def touch(args):
    """Each of our passes once, in a range of its name, for ncu to look at."""
    cuda = args.device.startswith("cuda")
    with torch.autograd.set_multithreading_enabled(False):  # a range belongs to one thread
        for rows, cols, type_name in cases(args):
            tensors = make_inputs(rows, cols, type_name, args.device)
            for name, operation in operations_of(type_name).items():
                upstream = make_upstream(operation, tensors)
                for passes in gpu_table.LEAST_VS_COPY:
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
    try:
        found = gpu_dram.bytes_by_range([__file__, "--touch", "--device", args.device, "--shapes",
                                         args.shapes, "--types", args.types])
    except gpu_dram.NotCounted as reason:
        say(f"the memory's traffic is not counted: {reason}")
        return
    for rows, cols, type_name in cases(args):
        tensors = make_inputs(rows, cols, type_name, "meta")
        for name, operation in operations_of(type_name).items():
            for passes in gpu_table.LEAST_VS_COPY:
                what = f"{name}/{rows}x{cols}/{type_name}/{passes}"
                if what not in found:
                    say(f"{what}: not counted: ncu names only {', '.join(list(found)[:3])}")
                    continue
                yield row(f"{what}/dram_vs_least",
                          [found[what] / bytes_of(operation, passes, tensors)], "ratio")


def measure(args, report):
    global torch
    torch = importlib.import_module("torch")
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("there is no GPU that PyTorch can use: nothing was measured")
    args.peers = args.peers.split(",")
    build = pathlib.Path(os.environ["NORMLAB_BIN"]).parent
    torch.ops.load_library(next(build.rglob("libnormlab_torch.so")))
    if args.touch:
        touch(args)
        return
    if "compiled" in args.peers:
        # `bwd` runs more than once after one forward pass, whose tensors must still be there.
        importlib.import_module("torch._functorch.config").donated_buffer = False
    timer = GpuTimer(args.device) if args.device.startswith("cuda") else CpuTimer()
    for case in cases(args):
        bench_shape(*case, args, timer, report)
    report.add(dram_rows(args))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--peers", default="copy,eager,compiled")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true", help="print each row as a line of JSON")
    parser.add_argument("--touch", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--table", metavar="FILE", help="print the table of such lines")
    args = parser.parse_args()
    if args.table:
        lines = pathlib.Path(args.table).read_text(encoding="utf-8").splitlines()
        print(gpu_table.table([json.loads(line) for line in lines]))
        return 0
    report = Report(args.json)
    measure(args, report)
    if not args.touch and not args.json:
        print(gpu_table.table(report.rows))
    return 0 if report.complete else 1


if __name__ == "__main__":
    sys.exit(main())
