"""The example of docs/ runs as printed, and finds agreement."""

import subprocess
import sys

import trainer

EXAMPLE = trainer.PROJECT / "docs/examples/compare_with_your_model.py"


def test_the_example_agrees():
    done = subprocess.run(
        [sys.executable, EXAMPLE, trainer.binary()], capture_output=True, text=True,
        timeout=trainer.TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("blocks.1.") == 6
    worst = float(done.stdout.splitlines()[-1].split()[-1])
    assert worst < 1e-10
