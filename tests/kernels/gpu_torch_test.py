"""The operations on a GPU, through LibTorch: against the CPU's, and replayed from a graph.

    gpu_torch_test.py [DEVICE]

DEVICE is cuda unless it says cpu, where the script itself is tried, without graphs.
"""

import os
import pathlib
import sys

import torch

BUILD = pathlib.Path(os.environ["NORMLAB_BIN"]).parent
torch.ops.load_library(next(BUILD.rglob("libnormlab_torch.so")))
OPS = torch.ops.normlab


def residual(x, g, gain):
    return OPS.residual(x, g, 1.0, 0.5, branch_norm="rmsnorm", branch_gain=gain,
                        next_norm="layernorm", next_gain=gain)


CASES = {
    "geonorm": lambda x, v, gain: (OPS.geonorm(x, v, 0.5), x),
    "layernorm": lambda x, v, gain: (OPS.layernorm(x, gain), OPS.layernorm(v, gain)),
    "rmsnorm": lambda x, v, gain: (OPS.rmsnorm(x, gain), OPS.rmsnorm(v, gain)),
    "residual": residual,
}


def inputs(device, rows, cols, dtype):
    generator = torch.Generator().manual_seed(3)
    tensors = [torch.randn(rows, cols, generator=generator) for _ in range(2)]
    gain = 1 + 0.1 * torch.randn(cols, generator=generator)
    made = [t.to(dtype).to(device).requires_grad_() for t in tensors]
    return [*made, gain.to(device).requires_grad_()]


def forward_backward(case, tensors):
    outputs = CASES[case](*tensors)
    loss = sum((o.float() * torch.linspace(-1, 1, o.shape[-1], device=o.device)).sum()
               for o in outputs)
    gradients = torch.autograd.grad(loss, tensors, allow_unused=True)
    # Detached: a result that kept its graph would keep the stream on which that was made, and a
    # later backward pass, also one that is captured on another stream, would wait for it.
    return [*(o.detach() for o in outputs), *(g for g in gradients if g is not None)]


def check_against_cpu(device, case, rows, cols, dtype):
    on_gpu = forward_backward(case, inputs(device, rows, cols, dtype))
    on_cpu = forward_backward(case, inputs("cpu", rows, cols, dtype))
    assert not any(result.requires_grad for result in on_gpu), "results that keep their graphs"
    # Both round once from fp32; sums over rows are taken in another order.
    tolerance = 2e-2 if dtype == torch.bfloat16 else 1e-4
    for got, want in zip(on_gpu, on_cpu):
        scale = want.abs().max().item() if want.numel() > 0 else 0
        torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance * scale)


def check_graph(case):
    """Captured once and replayed, the results are bit for bit those of a plain call."""
    tensors = inputs("cuda", 64, 768, torch.bfloat16)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        plain = forward_backward(case, tensors)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        captured = forward_backward(case, tensors)
    graph.replay()
    torch.cuda.synchronize()
    for got, want in zip(captured, plain):
        assert torch.equal(got, want), f"{case}: the graph's result differs"


def main(device="cuda"):
    graphs = device == "cuda"
    assert not graphs or torch.cuda.is_available(), "this test needs a GPU"
    for case in CASES:
        for rows, cols in ((0, 768), (7, 100), (65, 768), (17, 1536), (33, 1600), (9, 2048)):
            for dtype in (torch.float32, torch.bfloat16):
                check_against_cpu(device, case, rows, cols, dtype)
        if graphs:
            check_graph(case)
        print(f"{case}: {device} and CPU agree{', also when replayed as a graph' * graphs}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
