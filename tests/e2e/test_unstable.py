"""Runs that lose their numbers: nothing of it is lost on the way, and it is counted."""

import json
import math
import os
import pathlib
import sys

import lab as labs
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden"))
import attempt_log  # noqa: E402

# Without any norm a thousandfold step overflows within a few steps; the run goes on through it.
WILD = labs.TINY.replace("batch: 4", "batch: 4, lr: 1000") + """
factors: {norm.placement: [pre, rezero]}
replicates: {seed: [1, 2]}
stop: {nonfinite: false}
"""


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


def exported(lab, sweep):
    """(run, key) → step → value of everything that was measured."""
    series = {}
    for line in lab.normlab("export", sweep, "--format", "jsonl").splitlines():
        point = json.loads(line)
        # A number, or the name of one that JSON has no word for.
        series.setdefault((point["run"], point["key"]), {})[point["step"]] = float(point["value"])
    return series


def bare(lab, run):
    """What the trainer alone measures for the same config: step → key → value."""
    [[config]] = lab.json("query", f"SELECT config FROM run_v WHERE run = '{run}'")["rows"]
    path, out = lab.folder / f"{run}.json", lab.folder / f"bare-{run}"
    path.write_text(config)
    done = lab.run("run", "--config", path, "--out", out, "--threads",
                   len(os.sched_getaffinity(0)), program="normlab-trainer")
    assert done.returncode == 0, done.stderr
    return attempt_log.scalars(out / "log")


def assert_stored_as_measured(lab, run, series):
    """Every loss and gradient norm of the run, NaN and infinities among them."""
    losses, norms = series[run["id"], "train_loss"], series[run["id"], "grad_norm"]
    measured = bare(lab, run["id"])
    assert len(measured) == len(losses)
    for step in losses:
        assert same(losses[step], measured[step]["train_loss"]), (run["id"], step)
        assert same(norms[step], measured[step]["grad_norm"]), (run["id"], step)


def first_nonfinite(losses, norms):
    return min((step for step in losses
                if not (math.isfinite(losses[step]) and math.isfinite(norms[step]))), default=None)


def test_every_number_arrives_as_it_was_measured(lab):
    lab.submit("wild", WILD, "--wait")
    wild = [run for run in lab.runs("wild") if run["label"] == "rezero"]
    assert len(wild) == 2
    series = exported(lab, "wild")
    for run in wild:
        losses, norms = series[run["id"], "train_loss"], series[run["id"], "grad_norm"]
        assert list(losses) == list(range(1, 13)), "a step that is not finite is a step"
        kinds = {number for number in (*losses.values(), *norms.values())
                 if not math.isfinite(number)}
        assert kinds, "this sweep is meant to lose its numbers"
        assert_stored_as_measured(lab, run, series)
        first = first_nonfinite(losses, norms)
        assert run["first_nonfinite_step"] == first
        sql = f"SELECT first_nonfinite_step, outcome FROM run_v WHERE run = '{run['id']}'"
        assert lab.json("query", sql)["rows"] == [[first, "diverged"]]
        sql = f"SELECT n, nonfinite FROM summary('{run['id']}', 'train_loss')"
        lost = sum(not math.isfinite(loss) for loss in losses.values())
        assert lab.json("query", sql)["rows"] == [[12, lost]]
        events = lab.json("events", run["id"])["events"]
        assert {event["step"] for event in events if event["kind"] == "nonfinite"} == {first}


def test_divergence_is_counted_and_enters_no_mean(lab):
    lab.submit("wild", WILD, "--wait")
    document = lab.json("compare", "wild")
    arms = {arm["label"]: arm for arm in document["arms"]}
    assert arms["rezero"]["diverged"] == {"k": 2, "n": 2}
    assert arms["rezero"]["mean"] is None and arms["rezero"]["nonfinite"] == 2
    assert any("rezero" in note and "not finite" in note for note in document["notes"])
    assert "nan" in lab.normlab("runs", "wild", "--csv")
    json.loads(lab.normlab("runs", "wild", "--json"))  # strict all the same
    assert lab.run("watch", "wild").returncode == 0, "divergence is a result"
    assert lab.run("watch", "wild", "--fail-on-diverged").returncode == 1


@pytest.mark.slow
def test_deep_and_hot(lab):
    """Twenty-four layers of width 64 at thirty times the usual rate, five seeds an arm.

    Nothing holds the steps back: no warm-up, no decay, no clipping. The gradients of `geo` grow to
    1e36 and beyond within a hundred steps, where the last that fp32 can hold is near; `post` stays
    finite and learns nothing but frequencies.
    """
    lab.submit("deep", """
base:
  model: {layers: 24, width: 64, heads: 4, seq_len: 64}
  data: {name: tiny}
  train: {steps: 140, batch: 8, lr: 0.03, schedule: constant, clip: 0, weight_decay: 0}
  eval: {every: 70, batches: 2}
factors: {norm.placement: [geo, post]}
replicates: {seed: [1, 2, 3, 4, 5]}
stop: {nonfinite: false}
""", "--wait")
    runs = lab.runs("deep")
    assert len(runs) == 10
    counted = {"geo": 0, "post": 0}
    broken = []
    series = exported(lab, "deep")
    for run in runs:
        losses, norms = series[run["id"], "train_loss"], series[run["id"], "grad_norm"]
        assert list(losses) == list(range(1, 141))
        assert run["first_nonfinite_step"] == first_nonfinite(losses, norms)
        assert run["outcome"] in ("healthy", "diverged")
        counted[run["label"]] += run["outcome"] == "diverged"
        if run["first_nonfinite_step"] is not None:
            assert run["outcome"] == "diverged"
            broken.append(run)
    for arm in lab.json("compare", "deep")["arms"]:
        assert arm["diverged"] == {"k": counted[arm["label"]], "n": 5}
    # How many of the five is a matter of the last bits; that none is lost is not.
    assert broken and {run["label"] for run in broken} == {"geo"}
    assert_stored_as_measured(lab, broken[0], series)
