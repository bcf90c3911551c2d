"""Lays a data set down as the data folder holds it, with tokens made on the spot."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from reference.token_file import write_tokens


def markov_tokens(count: int, vocab: int, seed: int) -> np.ndarray:
    """Tokens with something to learn: each follows its predecessor plus one of three steps."""
    steps = np.random.default_rng(seed).choice([1, 3, 7], size=count)
    return np.cumsum(steps) % vocab


def write_data_set(data: Path, name: str, train: np.ndarray, val: np.ndarray, vocab: int) -> None:
    """DATA/datasets/NAME/{train.bin,val.bin,tokenizer.json,meta.json}."""
    folder = data / "datasets" / name
    folder.mkdir(parents=True)
    digests = {}
    for part, tokens in (("train", train), ("val", val)):
        write_tokens(folder / f"{part}.bin", tokens)
        digests[part] = hashlib.sha256((folder / f"{part}.bin").read_bytes()).hexdigest()
    identity = f"normlab.dataset.v1\ntrain {digests['train']}\nval {digests['val']}\n"
    shares = np.bincount(val, minlength=vocab) / len(val)
    shares = shares[shares > 0]
    meta = {
        "name": name, "vocab": vocab, "tokenizer": "unknown",
        "train_tokens": len(train), "val_tokens": len(val),
        "train_sha256": digests["train"], "val_sha256": digests["val"],
        "sha256": hashlib.sha256(identity.encode()).hexdigest(),
        "unigram_entropy": float(-(shares * np.log(shares)).sum()),
    }
    (folder / "meta.json").write_text(json.dumps(meta))
    (folder / "tokenizer.json").write_text(json.dumps({"type": "unknown"}))
