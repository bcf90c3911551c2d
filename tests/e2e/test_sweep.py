"""One sweep file to one comparison, with the real programs, and the second time for nothing."""

import math
import re
import sqlite3
import subprocess
import time

import lab as labs

PLACEMENTS = labs.ROOT / "deploy/sweeps/placements.yaml"


def test_every_run_is_trained_to_its_last_step(done):
    runs = done.runs("tiny")
    assert len(runs) == 4
    ends = {(run["state"], run["outcome"], run["step"]) for run in runs}
    assert ends == {("done", "healthy", 12)}
    assert {(run["label"], run["seed"]) for run in runs} == {
        ("pre", 1), ("pre", 2), ("geo", 1), ("geo", 2)}


def test_a_curve_has_every_step_once(done):
    for run in done.runs("tiny"):
        assert done.steps(run["id"]) == list(range(1, 13))


def test_the_loss_falls_from_ln_256(done):
    for run in done.runs("tiny"):
        rows = done.json("query", f"SELECT value FROM scalar('{run['id']}', 'train_loss')")["rows"]
        assert abs(rows[0][0] - math.log(256)) < 0.5
        assert rows[-1][0] < rows[0][0]


def test_compare_agrees_with_arithmetic_over_the_runs(done):
    losses = {(run["label"], run["seed"]): run["val_loss"] for run in done.runs("tiny")}
    arms = {arm["label"]: arm for arm in done.json("compare", "tiny")["arms"]}
    for label in ("pre", "geo"):
        assert arms[label]["n"] == 2
        mean = (losses[label, 1] + losses[label, 2]) / 2
        assert math.isclose(arms[label]["mean"], mean, rel_tol=1e-12)
        assert arms[label]["diverged"] == {"k": 0, "n": 2}
    difference = sum(losses["geo", seed] - losses["pre", seed] for seed in (1, 2)) / 2
    assert math.isclose(arms["geo"]["diff"]["mean"], difference, rel_tol=1e-9, abs_tol=1e-12)
    assert arms["pre"]["diff"] is None


def test_query_agrees_with_sqlite_on_the_same_file(done):
    sql = "SELECT state, outcome, count(*) FROM run_v GROUP BY 1, 2"
    answer = done.json("query", sql)["rows"]
    with sqlite3.connect(f"file:{done.data / 'normlab.db'}?mode=ro", uri=True) as database:
        assert answer == [list(row) for row in database.execute(sql)]
    assert answer == [["done", "healthy", 4]]


def test_the_same_sweep_again_links_every_run(lab):
    body = labs.TINY + "factors: {norm.placement: [pre, geo]}\n"
    first = lab.submit("first", body, "--wait")
    assert first["linked"] == 0
    before = lab.runs("first")
    second = lab.submit("second", body, "--wait")
    assert (second["runs"], second["linked"]) == (2, 2)
    after = lab.runs("second")
    assert [run["id"] for run in after] == [run["id"] for run in before]
    assert [run["attempt"] for run in after] == [1, 1]
    assert all(run["linked"] for run in after)
    fresh = lab.submit("third", body, "--wait", "--fresh")
    assert fresh["linked"] == 0
    assert [run["val_loss"] for run in lab.runs("third")] == [run["val_loss"] for run in before]


def test_a_diverged_run_is_a_result(lab):
    hot = "batch: 4, lr: 10.0, warmup: 0, schedule: constant"
    body = labs.TINY.replace("batch: 4", hot).replace("steps: 12", "steps: 200")
    lab.submit("hot", body + "factors: {norm.placement: [post]}\n", "--wait")
    [run] = lab.runs("hot")
    assert (run["state"], run["outcome"]) == ("done", "diverged")


def test_the_count_needs_no_server(bare_lab):
    assert bare_lab.json("submit", PLACEMENTS, "--dry-run")["runs"] == 10
    decays = "norm.decay=harmonic,sqrt,linear"
    assert bare_lab.json("submit", PLACEMENTS, "--dry-run", "-S", decays)["runs"] == 14


def test_a_typo_is_answered_with_where_and_what_to_write(bare_lab):
    path = bare_lab.write_sweep("typo", "base:\n  norm: {placment: gheo}\n")
    done = bare_lab.run("submit", path, "--dry-run")
    assert done.returncode == 2
    assert re.search(rf"{path.name}:3:\d+: .*placment.*norm\.placement", done.stderr), done.stderr


def test_a_sweep_for_gpus_that_are_not_there_waits_and_says_so(lab):
    body = labs.TINY + "factors: {norm.placement: [pre]}\nresources: {gpus: 2}\n"
    answer = lab.submit("big", body)
    assert any("2 GPUs" in warning for warning in answer["warnings"]), answer
    assert "2 GPUs" in lab.normlab("show", "big")
    [run] = lab.runs("big")
    assert run["state"] == "queued"


def seconds(command):
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def test_version_answers_at_once():
    best = min(seconds([labs.BIN / "normlab", "--version"]) for _ in range(20))
    assert best < 0.03, f"normlab --version took {best * 1000:.1f} ms at best"
