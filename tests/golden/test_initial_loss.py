"""The loss of the first step is that of a uniform guess, or nearly; docs/science.md, part 5."""

import math

import pytest
import torch

from reference.config import Config
from reference.initial import initial_weights
from reference.model import Model
from reference.placements import PLACEMENTS

VOCAB = 256


def loss_at_start(placement: str, width: int, tied: bool) -> float:
    config = Config({"model.width": width, "model.heads": width // 64, "model.vocab": VOCAB,
                     "model.seq_len": 64, "model.tied_head": tied, "norm.placement": placement})
    model = Model(config)
    model.load_state_dict({n: w.float() for n, w in initial_weights(config, 1).items()})
    tokens = torch.randint(VOCAB, (2, 65), generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        return model.loss(tokens[:, :-1], tokens[:, 1:]).item()


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_nano_starts_near_a_uniform_guess(placement, tied):
    assert loss_at_start(placement, 128, tied) <= math.log(VOCAB) + 0.5


@pytest.mark.parametrize("placement", ["post", "pre", "peri", "deep", "geo"])
def test_an_untied_head_of_width_768_starts_near_a_uniform_guess(placement):
    assert loss_at_start(placement, 768, tied=False) <= math.log(VOCAB) + 0.5


def test_a_tied_embedding_on_the_sphere_must_be_scaled_down_by_the_head():
    """A table of deviation 1 would start at a loss of about d: the token's own logit is that."""
    config = Config({"model.vocab": VOCAB, "model.seq_len": 64, "norm.placement": "geo",
                     "model.positions": "rotary", "init.std": 1.0})
    model = Model(config)
    model.load_state_dict({n: w.float() for n, w in initial_weights(config, 1).items()})
    tokens = torch.randint(VOCAB, (2, 65), generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        loss = model.loss(tokens[:, :-1], tokens[:, 1:]).item()
    assert loss == pytest.approx(128, abs=25)
