"""Data sets as people make them: text and token files in, one line when something is wrong."""

import json
import os
import random
import struct
import subprocess

import lab as labs
import pytest

WORDS = "norm layer depth step angle sphere loss seed".split()


def text(size, seed=1):
    """Lines of known words, with some characters that take more than one byte."""
    source = random.Random(seed)
    words = (source.choice([*WORDS, "Größe", "Δt"]) for _ in range(size // 5))
    return "".join(word + source.choice("     \n") for word in words)


def put(lab, name, content):
    path = lab.folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def bare(tokens):
    return struct.pack(f"<{len(tokens)}H", *tokens)


def with_header(tokens, count=None):
    return struct.pack("<256i", 20240520, 1, len(tokens) if count is None else count,
                       *[0] * 253) + bare(tokens)


def decoded(lab, name, split):
    return lab.normlab("data", "decode", name, "--split", split)


def test_text_comes_back_byte_for_byte(bare_lab):
    written = text(30_000)
    bare_lab.normlab("data", "prepare", "bytes", put(bare_lab, "t.txt", written))
    assert decoded(bare_lab, "bytes", "train") + decoded(bare_lab, "bytes", "val") == written


def test_a_learned_vocabulary_is_kept_with_the_data(bare_lab):
    train, val = text(200_000), text(20_000, seed=2) + "unseen ☃ and the last line without an end"
    prepare = ("data", "prepare", "words", put(bare_lab, "t.txt", train), "--val",
               put(bare_lab, "v.txt", val), "--tokenizer", "sentencepiece", "--vocab", "350")
    done = bare_lab.run(*prepare, "--json")
    assert done.returncode == 0, done.stderr
    assert "MiB/s" in done.stderr
    [meta] = json.loads(done.stdout)["datasets"]
    assert (meta["tokenizer"], meta["vocab"]) == ("sentencepiece", 350)
    assert meta["train_tokens"] < len(train) / 3
    assert decoded(bare_lab, "words", "train") == train
    assert decoded(bare_lab, "words", "val") == val
    bare_lab.normlab("data", "check", "words")

    again = bare_lab.json(*prepare, "--replace")["datasets"][0]
    assert again["sha256"] == meta["sha256"]


def test_a_given_model_encodes_other_text(bare_lab):
    learn = put(bare_lab, "t.txt", text(100_000))
    bare_lab.normlab("data", "prepare", "a", learn, "--tokenizer", "sentencepiece",
                     "--vocab", "350")
    model = bare_lab.data / "datasets/a/tokenizer.model"
    other = text(50_000, seed=3)
    [meta] = bare_lab.json("data", "prepare", "b", put(bare_lab, "o.txt", other),
                           "--tokenizer", model)["datasets"]
    assert meta["vocab"] == 350
    assert decoded(bare_lab, "b", "train") + decoded(bare_lab, "b", "val") == other
    kept = bare_lab.data / "datasets/b/tokenizer.model"
    assert kept.read_bytes() == model.read_bytes()
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    assert "tokenizer.model" in bare_lab.run("data", "check", "b").stdout


BAD = {
    "empty": (b"", [], "the file is empty"),
    "odd": (b"abc", [], "3 bytes are no whole number of 16-bit tokens"),
    "lying header": (with_header([1] * 40, count=50), [], "says 50 tokens"),
    "cut short": (with_header([1] * 40)[:-10], [], "says 40 tokens"),
    "beyond the vocabulary": (bare([1] * 40 + [300]), ["--vocab", "256"],
                              "token 300 at position 40 is beyond the vocabulary of 256"),
    "vocabulary too large": (bare([1] * 40), ["--vocab", "70000"], "should be from 1 to 65536"),
    "too short to split": (bare([1] * 19), [], "too few to keep 5 %"),
    "no tokenizer for tokens": (bare([1] * 40), ["--tokenizer", "sentencepiece"],
                                "token files need no tokenizer"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_line_and_leaves_nothing(case, bare_lab):
    content, options, words = BAD[case]
    done = bare_lab.run("data", "prepare", "bad", put(bare_lab, "f.bin", content), *options)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr, done.stderr
    assert os.listdir(bare_lab.data / "datasets") == []


@pytest.mark.parametrize("model,words", [
    ("sentencepiece", "Vocabulary size too high"),
    ("none.model", "none.model: No such file"),
    ("t.txt", "t.txt: not a SentencePiece model"),
])
def test_a_tokenizer_that_cannot_be_is_one_line(model, words, bare_lab):
    path = put(bare_lab, "t.txt", text(5_000))
    vocab = ["--vocab", "50000"] if model == "sentencepiece" else []
    done = bare_lab.run("data", "prepare", "bad", path, "--tokenizer", model, *vocab)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr, done.stderr
    assert os.listdir(bare_lab.data / "datasets") == []


def peak_bytes(lab, *arguments):
    """The most memory that normlab, or a program that it ran, held at once."""
    process = subprocess.Popen(
        [labs.BIN / "normlab", *map(str, arguments)], env=labs.environment(lab.data),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_maxrss * 1024


@pytest.mark.parametrize("options", [[], ["--tokenizer"]], ids=["bytes", "sentencepiece"])
def test_memory_does_not_grow_with_the_text(options, bare_lab):
    small = put(bare_lab, "small.txt", text(1_000_000))
    large = put(bare_lab, "large.txt", (bare_lab.folder / "small.txt").read_bytes() * 16)
    if options:
        bare_lab.normlab("data", "prepare", "m", small, "--tokenizer", "sentencepiece",
                         "--vocab", "350")
        options = ["--tokenizer", bare_lab.data / "datasets/m/tokenizer.model"]
    least, most = (peak_bytes(bare_lab, "data", "prepare", path.stem, path, *options)
                   for path in (small, large))
    assert most - least < 4_000_000, (least, most)


RUN = labs.TINY + "factors: {norm.placement: [pre]}\n"


def test_what_a_run_would_refuse_is_refused_at_submission(lab):
    long = lab.write_sweep("long", RUN.replace("seq_len: 32", "seq_len: 40000"))
    done = lab.run("submit", long)
    assert done.returncode == 2
    assert "val.bin has" in done.stderr and "too few for one sequence of 40000" in done.stderr
    small = lab.write_sweep("small", RUN.replace("seq_len: 32", "seq_len: 32, vocab: 100"))
    done = lab.run("submit", small)
    assert done.returncode == 2
    assert "its vocabulary of 256 is larger than model.vocab, 100" in done.stderr
    assert lab.json("ls")["sweeps"] == []


def test_a_data_set_that_changed_under_its_name_is_refused(bare_lab):
    bare_lab.start(local_workers=0)
    bare_lab.prepare_data()
    bare_lab.submit("changed", RUN)
    bare_lab.normlab("data", "prepare", "tiny", put(bare_lab, "o.txt", text(60_000, seed=9)),
                     "--replace")
    with bare_lab.worker():
        bare_lab.until(lambda: bare_lab.runs("changed")[0]["state"] == "failed", "a refusal")
    [run] = bare_lab.runs("changed")
    assert run["reason"] == "config_error"
    assert (run["step"] or 0) == 0
    said = bare_lab.normlab("query", "SELECT last_lines FROM attempt_v")
    assert "data set tiny has changed" in said, said


def test_the_trainer_refuses_a_changed_data_set_when_it_resumes(bare_lab):
    bare_lab.prepare_data()
    config = bare_lab.folder / "run.json"
    config.write_text(json.dumps({
        "model": {"layers": 1, "width": 16, "heads": 1, "seq_len": 16},
        "data": {"name": "tiny"}, "train": {"steps": 4, "batch": 2}, "eval": {"batches": 1}}))
    out = bare_lab.folder / "out"
    run = ("run", "--config", config, "--out", out)
    assert bare_lab.run(*run, program="normlab-trainer").returncode == 0
    bare_lab.normlab("data", "prepare", "tiny", put(bare_lab, "o.txt", text(60_000, seed=9)),
                     "--replace")
    done = bare_lab.run(*run, "--resume", program="normlab-trainer")
    assert done.returncode == 10, done.stderr
