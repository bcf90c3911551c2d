"""The configs on which the trainer and the reference must agree, by name."""

from __future__ import annotations

import itertools

from reference.config import Config
from reference.placements import PLACEMENTS, SPHERES

SMALL = {
    "model.preset": "nano",
    "model.layers": 3,
    "model.width": 24,
    "model.heads": 3,
    "model.ffn": 40,
    "model.seq_len": 7,
    "model.vocab": 31,
    "train.batch": 3,
    "train.precision": "fp64",
}


def small(placement: str, **changes) -> Config:
    """A small model; dots in the names of knobs are written as double underscores."""
    layers = 5 if placement == "mix" else 3  # so that mix has a post block
    given = {**SMALL, "norm.placement": placement, "model.layers": layers}
    return Config({**given, **{k.replace("__", "."): v for k, v in changes.items()}})


def grid() -> dict[str, Config]:
    """Every placement × kind × bias × tying × positions."""
    cases = {}
    levels = (PLACEMENTS, ("layernorm", "rmsnorm"), (True, False), (True, False),
              ("learned", "rotary"))
    for placement, kind, bias, tied, positions in itertools.product(*levels):
        name = "-".join([placement, kind, "bias" if bias else "nobias",
                         "tied" if tied else "untied", positions])
        cases[name] = small(placement, norm__kind=kind, model__bias=bias, model__tied_head=tied,
                            model__positions=positions)
    return cases


def sphere_options() -> dict[str, Config]:
    """Each option of the sphere placements, alone and where it meets another."""
    table: dict[str, tuple[str, dict]] = {}
    for placement in ("geo", "geo-affine"):
        for decay in ("harmonic", "sqrt", "linear", "linear-paper", "none"):
            for unit in ("block", "sublayer"):
                table[f"{placement}-{decay}-{unit}"] = (
                    placement, {"norm__decay": decay, "norm__decay_unit": unit})
    for placement, retraction in itertools.product(SPHERES, ("exp", "projection", "cayley")):
        table[f"{placement}-{retraction}"] = (
            placement, {"norm__retraction": retraction, "norm__alpha": 0.7})
        table[f"{placement}-{retraction}-clamped"] = (
            placement, {"norm__retraction": retraction, "norm__angle_clamp": 0.9})
    for positions in ("learned", "rotary"):
        table[f"geo-prenorm-{positions}"] = (
            "geo", {"norm__angle": "prenorm", "model__positions": positions})
    for placement, option in itertools.product(SPHERES, ("inner", "final", "embedding")):
        table[f"{placement}-{option}"] = (
            placement, {f"norm__{option}": True, "model__bias": True})
    everything = {"norm__inner": True, "norm__final": True, "norm__embedding": True}
    table["geo-all-norms-prenorm"] = ("geo", {**everything, "norm__angle": "prenorm"})
    return {name: small(placement, **changes) for name, (placement, changes) in table.items()}


def stream_options() -> dict[str, Config]:
    """Options of the other placements."""
    cases = {}
    for placement in PLACEMENTS:
        if placement not in SPHERES:
            cases[f"{placement}-dt"] = small(placement, residual__dt=0.3)
            cases[f"{placement}-embedding-norm"] = small(
                placement, norm__embedding=True, model__bias=True)
        final = placement in ("post", "deep", "rezero", "keel") or placement in SPHERES
        cases[f"{placement}-final-{'on' if final else 'off'}"] = small(
            placement, norm__final=final)
    for kind in ("layernorm", "rmsnorm"):
        cases[f"sandwich-pb-relax-{kind}"] = small(
            "sandwich", norm__kind=kind, norm__pb_relax=True, norm__embedding=True,
            model__bias=True, norm__eps=1e-2)
    cases["scaled-by-0.7"] = small("scaled", residual__scale=0.7)
    cases["prores-warm"] = small("prores", residual__warmup=2)
    return cases


def model_options() -> dict[str, Config]:
    """What is independent of the placement, and awkward shapes."""
    cases = {}
    for placement in ("post", "pre", "peri", "deep", "geo"):
        cases[f"{placement}-gelu-tanh"] = small(placement, model__activation="gelu-tanh")
        cases[f"{placement}-no-gain"] = small(placement, norm__gain=False, model__bias=True)
        cases[f"{placement}-eps"] = small(placement, norm__eps=0.037)
        cases[f"{placement}-width-100"] = small(
            placement, model__width=100, model__heads=5, model__ffn=97, model__bias=True)
        cases[f"{placement}-one-layer"] = small(placement, model__layers=1)
        cases[f"{placement}-one-token"] = small(placement, model__seq_len=1, train__batch=1)
    cases["mix-one-layer"] = small("mix", model__layers=1)
    cases["geo-linear-paper-one-layer"] = small(
        "geo", norm__decay="linear-paper", model__layers=1)
    return cases


def all_cases() -> dict[str, Config]:
    return {**grid(), **sphere_options(), **stream_options(), **model_options()}
