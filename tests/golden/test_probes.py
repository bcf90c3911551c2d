"""Profiles of `normlab-trainer run` against PyTorch on the same steps: docs/science.md, part 7."""

from pathlib import Path

import numpy as np
import pytest
import torch

import cases
import trainer
from attempt_log import profiles
from data_set import markov_tokens, write_data_set
from reference.config import Config
from reference.data_order import batch_of_step
from reference.initial import initial_weights
from reference.probes import StepProfiles, after_step
from reference.schedule import learning_rate
from reference.step import build
from reference.training import make_optimizer

STEPS = 4
VOCAB = 31
VALIDATION = 8  # sequences that probes look at
TRAIN = {
    "data.name": "probes", "train.steps": STEPS, "train.batch": 6, "train.lr": 5e-3,
    "train.warmup": 2, "train.schedule": "linear", "train.min_lr_ratio": 0.1,
    "train.beta1": 0.9, "train.beta2": 0.95, "train.adam_eps": 1e-5, "train.weight_decay": 0.1,
    "train.clip": 0.1, "eval.every": 1, "eval.batches": 1, "probe.every": 1,
    "checkpoint.every": 1, "checkpoint.keep": 100, "seed.init": 11, "seed.data": 12,
}

AWKWARD = {"model__width": 100, "model__heads": 5, "model__ffn": 97, "model__layers": 1}

CASES = {
    "pre": ("pre", {}),
    "post": ("post", {}),
    "peri-bias": ("peri", {"model__bias": True}),
    "geo": ("geo", {}),
    "deep-awkward": ("deep", AWKWARD),
    "geo-awkward": ("geo", {**AWKWARD, "model__bias": True}),
    "unequal-micro-batches": ("pre", {"train__micro_batch": 4}),
    "keel-micro-batches": ("keel", {"train__micro_batch": 1}),
}
FIRST_DEPTH = {"log_growth": 2}
# Held to values worked out by hand in tests/model/probes_test.cc.
PERI_BOUND = {"gain_max", "peri_ma_bound", "peri_ma_tightness", "peri_var_bound",
              "peri_var_tightness"}


def run_trainer(config: Config, train: np.ndarray, val: np.ndarray, folder: Path) -> Path:
    data, out = folder / "data", folder / "out"
    write_data_set(data, "probes", train, val, VOCAB)
    trainer.call_or_fail("run", "--config", trainer.write_config(config, folder), "--out", out,
                         "--data", data, "--threads", "1")
    return out


def assert_same(logged: dict, want: dict[str, list[float]]) -> None:
    for key, values in want.items():
        first, got = logged[key]
        starts_at_0 = key.startswith(("hidden_", "var_data", "stream_grad"))
        assert first == (0 if starts_at_0 else FIRST_DEPTH.get(key, 1)), key
        assert got == pytest.approx(values, rel=1e-9, abs=1e-12), key


@pytest.mark.parametrize("name", CASES)
def test_profiles(name, tmp_path):
    placement, changes = CASES[name]
    config = Config({**cases.small(placement).given, **TRAIN}).replace(**changes)
    length = config["model.seq_len"]
    train, val = (markov_tokens(43 * 7 + 3, VOCAB, seed=4), markov_tokens(200, VOCAB, seed=5))
    out = run_trainer(config, train, val, tmp_path)
    logged = profiles(out / "log")
    watched = torch.from_numpy(val[: VALIDATION * length].astype(np.int64)).view(VALIDATION, -1)

    model = build(config, initial_weights(config, 11), torch.float64)
    assert_same(logged[0], after_step(model, watched, 1))
    optimizer = make_optimizer(config, model)
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        probe = StepProfiles(config, model, optimizer)
        probe.backward(*batch_of_step(train, length, 12, step, config["train.batch"]), step)
        torch.nn.utils.clip_grad_norm_(model.parameters(), config["train.clip"])
        lr = learning_rate(config, step)
        for group in optimizer.param_groups:
            group["lr"] = lr
        probe.update(lr)
        of_model = after_step(model, watched, step)
        assert_same(logged[step], probe.profiles)
        assert_same(logged[step], of_model)
        assert logged[step].keys() - probe.profiles.keys() - of_model.keys() <= PERI_BOUND
    assert sorted(logged) == list(range(STEPS + 1))
