"""The counter-based numbers and the data order, as docs/science.md, part 8, defines them."""

import numpy as np
import pytest

from reference import counter_rng
from reference.data_order import batch_of_step, blocks_of_step, permute


def test_vectors_and_scalars_are_one_definition():
    key = counter_rng.key(7, "init/embed.token")
    expected = [counter_rng.mix64(key + (i + 1) * counter_rng.GOLDEN & counter_rng.MASK)
                for i in range(5)]
    assert counter_rng.bits(key, 5).tolist() == expected


def test_a_published_value_of_splitmix64():
    """SplitMix64 seeded with 1234567 begins with this number: mix64 of seed + G."""
    assert counter_rng.mix64(1234567 + counter_rng.GOLDEN) == 6457827717110365317


def test_a_published_value_of_fnv1a():
    assert counter_rng.fnv1a("a") == 0xAF63DC4C8601EC8C


def test_normals_are_standard_and_a_prefix_of_longer_draws():
    key = counter_rng.key(1, "test")
    x = counter_rng.normals(key, 200_001)
    assert abs(x.mean()) < 0.01 and abs(x.std() - 1) < 0.01
    assert abs((x**3).mean()) < 0.03 and abs((x**4).mean() - 3) < 0.1
    np.testing.assert_array_equal(counter_rng.normals(key, 7), x[:7])


@pytest.mark.parametrize("blocks", [1, 2, 3, 17, 64, 65, 1000])
def test_each_epoch_reads_each_block_once_in_an_order_of_its_own(blocks):
    epochs = [[permute(5, blocks, e, p) for p in range(blocks)] for e in range(2)]
    for order in epochs:
        assert sorted(order) == list(range(blocks))
    if blocks > 16:
        assert epochs[0] != epochs[1] and epochs[0] != sorted(epochs[0])
        assert epochs[0] != [permute(6, blocks, 0, p) for p in range(blocks)]


def test_a_batch_crosses_into_the_next_epoch():
    assert blocks_of_step(3, 5, 2, 4) == [
        permute(3, 5, 0, 4), *(permute(3, 5, 1, p) for p in range(3))]


def test_targets_are_the_inputs_one_token_on():
    tokens = np.arange(50, dtype=np.uint16)
    inputs, targets = batch_of_step(tokens, 6, 1, 1, 8)
    assert (targets == inputs + 1).all()
    assert sorted(inputs[:, 0].tolist()) == [0, 6, 12, 18, 24, 30, 36, 42]
