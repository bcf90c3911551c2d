"""deploy/quickstart, twice. Takes the minutes that its sweep takes: `deploy/test --long` only."""

import json
import subprocess
import time

import lab as labs
import pytest

pytestmark = pytest.mark.slow


def quickstart(lab):
    start = time.monotonic()
    done = subprocess.run(["./deploy/quickstart"], cwd=labs.ROOT, env=labs.environment(lab.data),
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - start, done.stdout


def test_the_second_quickstart_does_no_work_twice(bare_lab):
    quickstart(bare_lab)
    first = json.loads(bare_lab.normlab("ls", "--json"))["sweeps"]
    assert first[0]["counts"]["done"] == 10
    seconds, output = quickstart(bare_lab)
    assert seconds < 20, output
    second = next(sweep for sweep in json.loads(bare_lab.normlab("ls", "--json"))["sweeps"]
                  if sweep["id"] != first[0]["id"])
    assert (second["linked"], second["counts"]["done"]) == (10, 10)
    for arm in ("post", "pre", "peri", "deep", "geo"):
        assert arm in output
