"""The judge itself: it must see what it is there to see."""

import torch

from agreement import FP64, disagreements

WANT = {"loss": torch.tensor(2.0).double(), "grad.w": torch.tensor([3.0, 4.0]).double(),
        "grad.zero": torch.tensor([1e-17]).double()}


def judged(**changes) -> list[str]:
    got = {**WANT, **{k.replace("__", "."): v for k, v in changes.items()}}
    return disagreements({k: v for k, v in got.items() if v is not None}, WANT, FP64)


def test_equal_tensors_agree():
    assert judged() == []


def test_rounding_agrees_and_more_does_not():
    assert judged(loss=torch.tensor(2.0 + 1e-10, dtype=torch.float64)) == []
    assert judged(loss=torch.tensor(2.0 + 3e-10, dtype=torch.float64)) == [
        "loss differs by 3e-10 where the largest entry is 2"]


def test_what_is_zero_in_exact_arithmetic_is_judged_by_the_gradient_norm():
    assert judged(grad__zero=torch.tensor([4e-12]).double()) == []
    assert len(judged(grad__zero=torch.tensor([6e-12]).double())) == 1


def test_nan_missing_extra_and_misshapen_tensors_disagree():
    assert len(judged(loss=torch.tensor(torch.nan).double())) == 1
    assert judged(loss=None) == ["loss is missing"]
    assert judged(more=torch.zeros(1)) == ["more is one too many"]
    assert judged(loss=torch.zeros(1)) == ["loss has shape (1,), not ()"]
