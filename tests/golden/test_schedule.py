"""The learning-rate curve at every step, from its description rather than its code."""

import math

import pytest

from reference.config import Config
from reference.schedule import learning_rate


def curve(schedule: str, steps: int = 100, warmup: int = 10) -> list[float]:
    config = Config({"train": {"lr": 2.0, "min_lr_ratio": 0.1, "warmup": warmup, "steps": steps,
                               "schedule": schedule}})
    return [learning_rate(config, t) for t in range(1, steps + 1)]


@pytest.mark.parametrize("schedule", ["cosine", "linear", "wsd"])
def test_warm_up_is_a_straight_line_to_the_peak(schedule):
    assert curve(schedule)[:10] == pytest.approx([0.2 * t for t in range(1, 11)])


def test_cosine_ends_at_its_least_and_is_symmetric():
    rates = curve("cosine")
    assert rates[99] == pytest.approx(0.2) and rates[54] == pytest.approx(1.1)
    for t in range(11, 100):
        assert rates[t - 1] + rates[109 - t] == pytest.approx(2.2)
    assert rates[24] == pytest.approx(0.2 + 0.9 * (1 + math.cos(math.pi / 6)))


def test_linear_falls_by_equal_steps():
    rates = curve("linear")
    assert rates[99] == pytest.approx(0.2)
    falls = [a - b for a, b in zip(rates[9:], rates[10:])]
    assert falls == pytest.approx([1.8 / 90] * 90)


def test_constant_is_constant_from_the_first_step():
    assert curve("constant") == [2.0] * 100


def test_wsd_falls_over_the_last_fifth():
    rates = curve("wsd")
    assert rates[9:80] == [2.0] * 71
    falls = [a - b for a, b in zip(rates[79:], rates[80:])]
    assert falls == pytest.approx([1.8 / 20] * 20) and rates[99] == pytest.approx(0.2)


@pytest.mark.parametrize("schedule", ["cosine", "linear", "wsd"])
def test_no_warm_up_starts_at_once(schedule):
    assert curve(schedule, warmup=0)[0] > 1.9
