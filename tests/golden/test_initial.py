"""How a run starts: `normlab-trainer init` by placement, scheme and knob of the start."""

import math

import pytest
import torch

import trainer
from reference.config import Config
from reference.initial import initial_weights
from reference.placements import PLACEMENTS, SPHERES
from reference.step import run_step

D, F, L = 64, 128, 4
SMALL_WANG = (math.sqrt(2 / (5 * D)), 2 / (L * math.sqrt(D)))
PLAIN, SCALED = (0.02, 0.02), (0.02, 0.02 / math.sqrt(2 * L))
XAVIER_DD, XAVIER_DF = math.sqrt(2 / (2 * D)), math.sqrt(2 / (D + F))
DEEP = (8 * L) ** -0.25

# Placement -> (deviation of qk, v, up), (of the output projections), under `placement`.
OWN = {
    **{name: SCALED for name in PLACEMENTS},
    **{name: PLAIN for name in ("post", "lns", "rezero", "keel")},
    **{name: SMALL_WANG for name in SPHERES},
}


def config_of(placement: str, **changes) -> Config:
    given = {"model.layers": L, "model.width": D, "model.heads": 4, "model.ffn": F,
             "model.seq_len": 100, "model.vocab": 512, "norm.placement": placement,
             "train.precision": "fp64"}
    return Config({**given, **{k.replace("__", "."): v for k, v in changes.items()}})


def near(tensor: torch.Tensor, deviation: float) -> bool:
    """Within five standard errors of the deviation, and centred."""
    error = 5 / math.sqrt(tensor.numel())
    return (abs(tensor.std() / deviation - 1) < error / math.sqrt(2)
            and abs(tensor.mean()) < error * deviation)


def matrices_of(weights: dict[str, torch.Tensor], block: int) -> dict[str, torch.Tensor]:
    at = f"blocks.{block}."
    q, k, v = weights[at + "attn.qkv.weight"].chunk(3)
    return {"q": q, "k": k, "v": v, "out": weights[at + "attn.out.weight"],
            "up": weights[at + "ffn.up.weight"], "down": weights[at + "ffn.down.weight"]}


@pytest.mark.parametrize("placement", sorted(set(PLACEMENTS) - {"deep", "mix"}))
def test_each_placement_starts_as_its_paper_says(placement, tmp_path):
    weights = trainer.init(config_of(placement), 1, tmp_path)
    inside, output = OWN[placement]
    for block in range(L):
        for name, matrix in matrices_of(weights, block).items():
            assert near(matrix, output if name in ("out", "down") else inside), name
    assert near(weights["embed.token"], 0.02) and near(weights["embed.position"], 0.02)


def test_mix_starts_block_by_block(tmp_path):
    weights = trainer.init(config_of("mix"), 1, tmp_path)
    for block, output in enumerate([0.02] + 3 * [SCALED[1]]):
        parts = matrices_of(weights, block)
        assert near(parts["out"], output) and near(parts["down"], output)


def test_deepnorm_scales_exactly_v_out_up_and_down(tmp_path):
    weights = trainer.init(config_of("deep", model__tied_head=False), 1, tmp_path)
    for block in range(L):
        parts = matrices_of(weights, block)
        assert near(parts["q"], XAVIER_DD) and near(parts["k"], XAVIER_DD)
        assert near(parts["v"], DEEP * XAVIER_DD) and near(parts["out"], DEEP * XAVIER_DD)
        assert near(parts["up"], DEEP * XAVIER_DF) and near(parts["down"], DEEP * XAVIER_DF)
    for name in ("embed.token", "embed.position", "head.weight"):
        assert near(weights[name], 0.02)


@pytest.mark.parametrize("layers,beta", [(12, 0.3195), (24, 0.2686), (48, 0.2259)])
def test_deepnorms_beta(layers, beta):
    assert round((8 * layers) ** -0.25, 4) == beta


SCHEMES = {"gpt2": SCALED, "small-wang": SMALL_WANG}


@pytest.mark.parametrize("placement", ["post", "peri", "deep", "geo", "mix"])
@pytest.mark.parametrize("scheme", ["gpt2", "small-wang", "xavier"])
def test_a_named_scheme_is_the_same_for_every_placement(scheme, placement, tmp_path):
    weights = trainer.init(config_of(placement, init__scheme=scheme), 1, tmp_path)
    for block in range(L):
        for name, matrix in matrices_of(weights, block).items():
            if scheme == "xavier":
                expected = XAVIER_DF if name in ("up", "down") else XAVIER_DD
            else:
                expected = SCHEMES[scheme][name in ("out", "down")]
            assert near(matrix, expected), name


def outputs(blocks) -> set[str]:
    return {f"blocks.{i}.{part}.weight" for i in blocks for part in ("attn.out", "ffn.down")}


# Placement -> the matrices that do not start as those of `pre`, for one seed. All others do.
INSIDE = {f"blocks.{i}.{part}.weight" for i in range(L) for part in ("attn.qkv", "ffn.up")}
DIFFERENT = {
    **{name: set() for name in PLACEMENTS},
    **{name: outputs(range(L)) for name in ("post", "lns", "rezero", "keel")},
    "mix": outputs([0]),
    "deep": INSIDE | outputs(range(L)),
    **{name: INSIDE | outputs(range(L)) | {"head.weight"} for name in SPHERES},
}


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_which_tensors_agree_between_arms(placement, tmp_path):
    """The same seed starts every arm from the same weights, but for what its paper says."""
    ours = trainer.init(config_of(placement, model__tied_head=False), 5, tmp_path)
    pre = trainer.init(config_of("pre", model__tied_head=False), 5, tmp_path)
    matrices = {name for name, tensor in pre.items() if tensor.dim() == 2}
    assert {name for name in matrices if not torch.equal(ours[name], pre[name])} == (
        DIFFERENT[placement])
    matched = config_of(placement, model__tied_head=False, init__scheme="gpt2")
    alike = trainer.init(matched, 5, tmp_path)
    assert all(torch.equal(alike[name], pre[name]) for name in matrices)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_initial_weights_are_the_documented_numbers(placement, tmp_path):
    """Names, shapes and every entry, from the definition of the random numbers."""
    config = config_of(placement, model__tied_head=False, model__bias=True,
                       norm__embedding=True)
    got = trainer.init(config, 7, tmp_path)
    want = initial_weights(config, 7)
    assert got.keys() == want.keys()
    for name, tensor in want.items():
        torch.testing.assert_close(got[name], tensor, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("changes", [
    {"norm__placement": "peri", "init__residual_scale": 0.1},
    {"norm__placement": "pre", "init__residual_scale": 0.1},
    {"norm__placement": "post", "init__std": 0.05},
    {"norm__placement": "pre", "init__output_scale": 0.5},
    {"norm__placement": "pre", "model__positions": "rotary", "norm__kind": "rmsnorm"},
])
def test_knobs_of_the_start(changes, tmp_path):
    config = config_of("pre", **changes)
    got, want = trainer.init(config, 3, tmp_path), initial_weights(config, 3)
    assert got.keys() == want.keys()
    for name, tensor in want.items():
        torch.testing.assert_close(got[name], tensor, rtol=1e-12, atol=1e-15)


def test_residual_scale_starts_where_a_residual_step_would(tmp_path):
    """Output gains γ = Δt for peri and output projections × Δt for pre: the same first forward."""
    for placement in ("peri", "pre"):
        controlled = config_of(placement, init__residual_scale=0.1)
        stepped = config_of(placement, residual__dt=0.1)
        tokens = torch.arange(8 * 101) % 512
        a, b = (run_step(c, initial_weights(c, 1), tokens) for c in (controlled, stepped))
        torch.testing.assert_close(a["logits"], b["logits"], rtol=1e-12, atol=1e-12)
