"""`normlab-trainer step` against the reference: docs/science.md, part 2, test (13).

Same weights, same tokens; loss, logits, every hidden state and every gradient, in fp64 and fp32.
"""

from concurrent.futures import Future, ThreadPoolExecutor

import pytest
import torch

import trainer
from agreement import FP32, FP64, disagreements
from cases import all_cases
from reference.step import run_step
from weights import biting_weights, random_tokens

CONFIGS = {
    (name, precision): config.replace(train__precision=precision)
    for name, config in all_cases().items()
    for precision in ("fp64", "fp32")
}


@pytest.fixture(scope="module")
def trainer_outputs(request, tmp_path_factory):
    """(case, precision) -> what the trainer wrote, for the cases that were selected.

    A start of the trainer costs several times what the step itself does, so two run at a time
    while the reference computes.
    """

    def run(case: tuple[str, str]) -> dict[str, torch.Tensor]:
        config = CONFIGS[case]
        folder = tmp_path_factory.mktemp("step")
        return trainer.step(config, biting_weights(config), random_tokens(config), folder)

    selected = [(item.callspec.params["name"], item.callspec.params["precision"])
                for item in request.session.items if item.originalname == "test_step"]
    with ThreadPoolExecutor(max_workers=2) as pool:
        futures: dict[tuple[str, str], Future] = {case: pool.submit(run, case)
                                                  for case in selected}
        yield futures
        for future in futures.values():
            future.cancel()


@pytest.mark.parametrize("name,precision", CONFIGS)
def test_step(name, precision, trainer_outputs):
    config = CONFIGS[name, precision]
    want = run_step(config, biting_weights(config), random_tokens(config), torch.float64)
    got = trainer_outputs[name, precision].result()
    tolerance = FP64 if precision == "fp64" else FP32
    assert disagreements(got, want, tolerance) == []
