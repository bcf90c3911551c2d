"""`normlab-trainer intervene` against the whole Jacobian of the reference model, by autograd."""

import json
import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import cases
from reference.config import Config
from reference.model import Model
from reference.token_file import write_tokens
from trainer import call, call_or_fail, write_config
from weights import biting_weights, random_tokens

FACTORS = [0.25, 1.0, 4.0, 16.0]


def files(config: Config, folder: Path) -> list[str | Path]:
    """The command's arguments for this config's biting weights and random tokens."""
    weights, tokens = folder / "w.safetensors", folder / "t.bin"
    save_file(biting_weights(config), weights)
    write_tokens(tokens, random_tokens(config).tolist())
    return ["intervene", "--config", write_config(config, folder), "--weights", weights,
            "--tokens", tokens]


def reference_sigma(config: Config, factor: float) -> list[float]:
    """By sublayer: σ_max, mean over sequences, with that sublayer's projection scaled."""
    model = Model(config).double()
    model.load_state_dict(biting_weights(config))
    length = config["model.seq_len"] + 1
    inputs = random_tokens(config).view(config["train.batch"], length)[:, :-1]
    hidden = model.stream(inputs)
    out = []
    for sublayer, x in zip(model.sublayers(), hidden):
        projection = sublayer.out if hasattr(sublayer, "out") else sublayer.down
        with torch.no_grad():
            for parameter in projection.parameters():
                parameter *= factor
        sigmas = []
        for row in x.detach().split(1):
            jacobian = torch.autograd.functional.jacobian(sublayer.normed_branch, row)
            sigmas.append(torch.linalg.svdvals(jacobian.reshape(row.numel(), -1))[0].item())
        out.append(sum(sigmas) / len(sigmas))
        with torch.no_grad():
            for parameter in projection.parameters():
                parameter /= factor
    return out


@pytest.mark.parametrize("placement", ["pre", "peri", "lns"])
def test_sigma_is_that_of_the_whole_jacobian(placement, tmp_path):
    config = cases.small(placement, model__bias=True, model__layers=2, train__batch=2)
    printed = json.loads(call_or_fail(*files(config, tmp_path), "--json").stdout)
    assert printed["schema"] == "normlab.intervention.v1"
    assert printed["factors"] == FACTORS
    rows = printed["sublayers"]
    assert [(row["sublayer"], row["branch"]) for row in rows] == [
        (1, "attn"), (2, "ffn"), (3, "attn"), (4, "ffn")]
    for column in (0, 3):
        expected = reference_sigma(config, FACTORS[column])
        for row, sigma in zip(rows, expected):
            assert row["sigma_max"][column] == pytest.approx(sigma, rel=1e-6)


def test_slope_is_that_of_the_printed_values(tmp_path):
    config = cases.small("peri", norm__eps=1e-2)  # large enough to bend the line
    printed = json.loads(call_or_fail(*files(config, tmp_path), "--json").stdout)
    for row in printed["sublayers"]:
        c = torch.tensor(FACTORS, dtype=torch.float64).log()
        sigma = torch.tensor(row["sigma_max"], dtype=torch.float64).log()
        slope = ((c - c.mean()) * (sigma - sigma.mean())).sum() / (c - c.mean()).square().sum()
        assert row["slope"] == pytest.approx(slope.item(), abs=1e-12)
        assert not math.isclose(row["slope"], 0, abs_tol=1e-6)


def test_people_get_a_table(tmp_path):
    config = cases.small("pre")
    lines = call_or_fail(*files(config, tmp_path)).stdout.splitlines()
    assert lines[0].split() == ["sublayer", "branch", "c", "=", "0.25", "c", "=", "1", "c", "=",
                                "4", "c", "=", "16", "slope"]
    assert len(lines) == 1 + 6
    assert all(line.split()[-1] == "1.0000" for line in lines[1:])


def test_weights_come_from_one_place(tmp_path):
    config = cases.small("pre")
    ended = call(*files(config, tmp_path), "--checkpoint", tmp_path)
    assert ended.exit_code == 10
    assert "--weights and --checkpoint: only one of them" in ended.stderr
