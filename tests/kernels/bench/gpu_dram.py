"""Bytes that kernels move to and from a GPU's memory, counted by Nsight Compute (ncu)."""

import collections
import csv
import os
import pathlib
import shutil
import subprocess
import sys

METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum")


class NotCounted(Exception):
    """Why nothing was counted."""


def find_ncu():
    beside_nvcc = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "ncu"
    return shutil.which("ncu") or (str(beside_nvcc) if beside_nvcc.exists() else None)


def bytes_by_range(script):
    """{NVTX range: bytes} of what the Python script with its arguments launches while it lets the
    profiler look. Throws NotCounted without ncu, or where that may not look."""
    ncu = find_ncu()
    if ncu is None:
        raise NotCounted("there is no ncu in PATH, CUDA_HOME or /usr/local/cuda")
    done = subprocess.run(
        [ncu, "--csv", "--print-units", "base", "--nvtx", "--print-nvtx-rename", "kernel",
         "--profile-from-start", "off", "--metrics", ",".join(METRICS), sys.executable, *script],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise NotCounted(" ".join(said[-2:]) or f"ncu ends with {done.returncode}")
    try:
        return parse(done.stdout)
    except (KeyError, ValueError) as error:
        raise NotCounted(f"ncu's table is not as expected: {error!r}") from error


def parse(text):
    """ncu's table: a line for each launch and metric, after lines of its own that begin with ==."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    total = collections.Counter()
    for entry in csv.DictReader(lines):
        if entry["Metric Name"] in METRICS:
            total[entry["Kernel Name"]] += float(entry["Metric Value"].replace(",", ""))
    return dict(total)
