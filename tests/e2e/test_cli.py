"""The first hour on the command line: what is typed wrong is answered with what would be right."""

import json
import re

import pytest

# What was typed, exit code, what the answer must say.
WRONG = [
    ([], 2, r"Write a verb.*\n.*normlab --help"),
    (["shwo"], 2, "'shwo' is not a verb.*\n.*normlab show"),
    (["show", "--jsn"], 2, "normlab show has no option --jsn; did you mean --json?"),
    (["show", "tiny", "extra"], 2, "'extra' is more than normlab show takes"),
    (["show", "nope"], 3, "no sweep is named 'nope'"),
    (["show", "r99"], 3, "there is no run r99"),
    (["show", b"\xff"], 2, "a selector is last, all"),
    (["runs", "r90-r99"], 3, "there is no run from r90-r99"),
    (["runs", "tiny", "--where", "placment = 'geo'"], 2, "did you mean 'placement'"),
    (["runs", "tiny", "--sort", "val_los"], 2, "did you mean 'val_loss'"),
    (["logs", "tiny"], 2, "names no single run; write r37"),
    (["compare", "tiny", "--by", "decay"], 2, "this sweep's factors are norm.placement"),
    (["compare", "tiny", "--baseline", "peri"], 2, "the arms are"),
    (["query", "DELETE FROM run"], 4, "only reading"),
    (["query", "SELEC 1"], 2, "syntax error"),
    (["config", "norm.dcay"], 3, "did you mean norm.decay"),
    (["data", "check", "nope"], 3, ""),
    (["submit", "nope.yaml"], 2, "nope.yaml: No such file"),
    (["submit", "tiny.yaml", "-S", "norm.decay=harmonc"], 2, "^normlab: -S: norm.decay: 'harmonc'"),
    (["submit", "tiny.yaml", "-S", "norm.decay"], 2, "should be key=value"),
    (["submit", "tiny.yaml", "--seeds", "many"], 2, "--seeds: found 'many'; should be a whole"),
    (["cancel", "tiny"], 4, "has ended already"),
    (["serve", "--listen", "nonsense", "--data", "elsewhere"], 2, "write HOST:PORT"),
    (["ls", "--data", "/nowhere"], 5, "no server is known.*normlab serve"),
]


@pytest.mark.parametrize("typed, code, answer", WRONG, ids=[str(row[0]) for row in WRONG])
def test_what_is_wrong_is_said(done, typed, code, answer):
    typed = [word if isinstance(word, str) else word.decode("utf-8", "surrogateescape")
             for word in typed]
    told = done.run(*typed)
    assert told.returncode == code, told.stderr
    assert re.search(answer, told.stderr + told.stdout, re.S), told.stderr
    assert len(told.stderr.strip().splitlines()) <= 2, "a line, and what to do"
    assert "exception" not in told.stderr and "terminate" not in told.stderr


@pytest.mark.parametrize("typed", [["show", "nope"], ["show", b"\xff"], ["query", "SELEC 1"],
                                   ["submit", "typo.yaml"], ["cancel", "tiny"]], ids=str)
def test_with_json_an_error_is_a_document(done, typed):
    done.write_sweep("typo", "base: {norm: {placment: geo}}\nfactors: {model.layer: [1]}\n")
    typed = [word if isinstance(word, str) else word.decode("utf-8", "surrogateescape")
             for word in typed]
    error = json.loads(done.run(*typed, "--json").stdout)["error"]
    assert isinstance(error["message"], str) and error["message"]
    assert re.fullmatch("[A-Z_]+", error["code"]) and isinstance(error["hint"], str)


READS = [["ls"], ["show", "last"], ["show", "r1"], ["runs", "tiny"], ["runs", "all"],
         ["events", "r1"], ["logs", "r1"], ["explain", "r1"], ["divergence", "tiny"],
         ["compare", "tiny"], ["query", "SELECT 1"],
         ["data", "ls"], ["data", "check"], ["config"], ["doctor"], ["open"], ["watch", "tiny"]]


@pytest.mark.parametrize("verb", READS, ids=str)
def test_every_document_names_its_schema(done, verb):
    document = done.json(*verb)
    assert re.fullmatch(r"normlab\.\w+\.v1|https?://json-schema\.org/.*",
                        document.get("schema") or document.get("$schema") or "")


SELECTORS = [("last", 4), ("all", 4), ("s1", 4), ("tin", 4), ("s1/c2", 2), ("last/c2", 2),
             ("s1/c2/2", 1), ("tiny/c2/2", 1), ("r2", 1), ("r2-r3", 2)]


@pytest.mark.parametrize("selector, count", SELECTORS)
def test_every_selector_lists_its_runs(done, selector, count):
    assert len(done.json("runs", selector)["runs"]) == count
    ids = done.normlab("runs", selector, "--quiet").split()
    assert len(ids) == count and all(re.fullmatch(r"r\d+", run) for run in ids)
    assert len(done.normlab("runs", selector, "--csv").splitlines()) == count + 1
    assert len(done.normlab("runs", selector, "--md").splitlines()) == count + 2
    rows = [json.loads(line) for line in done.normlab("runs", selector, "--jsonl").splitlines()]
    assert [row["id"] for row in rows] == ids


def test_a_cell_is_shown_alone(done):
    [cell] = done.json("show", "tiny/c2")["sweep"]["cells_detail"]
    assert (cell["id"], cell["label"]) == ("s1/c2", "geo")


def test_a_merged_cell_answers_to_each_of_its_names(lab):
    body = """
base:
  model: {layers: 2, width: 32, heads: 2, seq_len: 32}
  data: {name: tiny}
  train: {steps: 2, batch: 4}
factors: {norm.placement: [pre, peri, sandwich, geo], residual.dt: [0.5, 1.0]}
"""
    lab.submit("merged", body, "--wait")
    for name in ("peri", "sandwich"):
        assert len(lab.json("runs", "merged", "--where", f"placement = '{name}'")["runs"]) == 2
    by_placement = lab.json("compare", "merged", "--by", "placement")
    arms = {arm["label"]: arm for arm in by_placement["arms"]}
    assert set(arms) == {"pre", "peri = sandwich", "geo"}
    assert arms["peri = sandwich"]["n"] == 2 and arms["peri = sandwich"]["diff"]["n_pairs"] == 2
    assert arms["geo"]["diff"]["n_pairs"] == 1, "Δt means nothing to geo: the seed pairs it"
    for arm in by_placement["arms"]:
        assert not set(arm["differs_in"]) & {"norm.placement", "residual.dt"}
    other = lab.json("compare", "merged", "--by", "placement", "--baseline", "sandwich")
    assert other["baseline"] == "peri = sandwich"


def test_explain_tells_the_whole_way(done):
    document = done.json("explain", "r1")
    assert [step["state"] for step in document["transitions"]] == ["queued", "running", "done"]
    assert [step["reason"] for step in document["transitions"]] == [
        "submitted", "assigned", "finished"]
    assert done.normlab("explain", "r1").startswith("r1: done: ran to its last step\n")


def test_divergence_is_the_comparisons_count(done):
    arms = {arm["label"]: arm for arm in done.json("compare", "tiny")["arms"]}
    for arm in done.json("divergence", "tiny")["arms"]:
        same = arms[arm["arm"]]
        assert (arm["diverged"], arm["of"]) == (same["diverged"]["k"], same["diverged"]["n"])
        assert (arm["share"], arm["low"]) == (0, 0)
        assert arm["high"] == pytest.approx(0.6576, abs=1e-4)  # Wilson, 0 of 2


def test_export_has_every_number(done):
    lines = done.normlab("export", "tiny").splitlines()
    assert lines[0] == "run,cell,arm,seed,key,step,value,attempt"
    points = [json.loads(line)
              for line in done.normlab("export", "tiny", "--format", "jsonl").splitlines()]
    assert len(points) == len(lines) - 1
    losses = {(point["run"], point["step"]): point["value"]
              for point in points if point["key"] == "train_loss"}
    assert len(losses) == 4 * 12
    for run in done.runs("tiny"):
        sql = f"SELECT step, value FROM scalar('{run['id']}', 'train_loss')"
        for step, value in done.json("query", sql)["rows"]:
            assert losses[run["id"], step] == value
    depth = done.normlab("export", "tiny/c1", "--profiles").splitlines()
    sql = "SELECT count(*) FROM profile('r1', 'hidden_ma')"
    [[count]] = done.json("query", sql)["rows"]
    assert sum(line.startswith("r1,") and ",hidden_ma," in line for line in depth) == count > 0
    assert done.run("export", "tiny", "-o", "/nowhere/x.csv").returncode == 2


def test_a_cut_answer_is_called_partial(done):
    sql = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100001) "
           "SELECT i FROM n")
    cut = done.run("query", sql, "--csv")
    assert cut.returncode == 6 and "only the first 100000 rows" in cut.stderr
    assert len(cut.stdout.splitlines()) == 100001
