"""Drives the built normlab-trainer the way its users do: files in, files out."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from reference.config import Config, nest
from reference.token_file import write_tokens

PROJECT = Path(__file__).resolve().parents[2]
# A stuck trainer ends as a failed test, not as a hung one.
TIMEOUT_S = 120


def binary() -> Path:
    """$NORMLAB_TRAINER, else beside the programs in $NORMLAB_BIN, else the release build."""
    named = os.environ.get("NORMLAB_TRAINER")
    folder = Path(os.environ.get("NORMLAB_BIN", PROJECT / "build/release/bin"))
    path = Path(named) if named else folder / "normlab-trainer"
    if not path.exists():
        raise FileNotFoundError(f"{path}: build normlab-trainer or set NORMLAB_TRAINER")
    return path


@dataclass(frozen=True)
class Ended:
    exit_code: int
    stdout: str
    stderr: str


def call(*arguments: str | Path) -> Ended:
    """Runs the trainer on one thread, so that several can run side by side."""
    done = subprocess.run(
        [binary(), *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT_S,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"})
    return Ended(done.returncode, done.stdout, done.stderr)


def call_or_fail(*arguments: str | Path) -> Ended:
    ended = call(*arguments)
    if ended.exit_code != 0:
        raise AssertionError(f"{arguments[0]}: exit {ended.exit_code}\n{ended.stderr}")
    return ended


def write_config(config: Config, folder: Path) -> Path:
    """run.json, nested by group, with what the case names and nothing else."""
    path = folder / "run.json"
    path.write_text(json.dumps(nest(config.given), indent=1))
    return path


def init(config: Config, seed: int, folder: Path) -> dict[str, torch.Tensor]:
    """`normlab-trainer init`: the initial weights."""
    out = folder / "w.safetensors"
    call_or_fail("init", "--config", write_config(config, folder), "--seed", str(seed),
                 "--out", out)
    return load_file(out)


def step(
    config: Config, weights: dict[str, torch.Tensor], tokens: torch.Tensor, folder: Path,
    *options: str,
) -> dict[str, torch.Tensor]:
    """`normlab-trainer step`: loss, logits, hidden.{s}, grad.{parameter}."""
    dtype = torch.float64 if config["train.precision"] == "fp64" else torch.float32
    given, token_file, out = (folder / f for f in ("w.safetensors", "t.bin", "o.safetensors"))
    save_file({name: w.to(dtype).contiguous() for name, w in weights.items()}, given)
    write_tokens(token_file, tokens.tolist())
    call_or_fail("step", "--config", write_config(config, folder), "--weights", given,
                 "--tokens", token_file, "--out", out, *options)
    return load_file(out)
