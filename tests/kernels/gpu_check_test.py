"""What deploy/gpu-check says where something is missing: one sentence, exit code 1, no result.

The programs that it asks (nvidia-smi, nvcc, a Python with torch) are stood in for by scripts that
answer as the real ones do.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

GPU = "echo 'NVIDIA H200, 580.65.06'"
NO_GPU = "echo 'NVIDIA-SMI has failed because it could not communicate with the driver'; exit 9"
NVCC = "echo 'Cuda compilation tools, release 12.8, V12.8.93'"
OLD_NVCC = "echo 'Cuda compilation tools, release 12.2, V12.2.140'"
TORCH = "echo 2.9.1 12.8 /nowhere/torch /nowhere/python"

# (what the programs do, arguments, what must be said)
CASES = [
    ({}, ["--quick"], ["unknown argument --quick"]),
    ({"nvidia-smi": NO_GPU}, [], ["finds no GPU", "--build-only"]),
    ({"nvidia-smi": GPU, "nvcc": OLD_NVCC}, [], ["of CUDA 12.2; 12.4 or newer is needed"]),
    ({"nvcc": OLD_NVCC}, ["--build-only"], ["of CUDA 12.2; 12.4 or newer is needed"]),
    ({"nvidia-smi": GPU, "nvcc": NVCC, "py": "echo 2.6.0 12.4 /nowhere /nowhere"},
     ["--python", "py"], ["is 2.6.0; 2.7 or newer is needed", "--python PYTHON"]),
    ({"nvidia-smi": GPU, "nvcc": NVCC, "py": "echo 2.13.0 none /nowhere /nowhere"},
     ["--python", "py"], ["no CUDA build of torch in py"]),
    ({"nvidia-smi": GPU, "nvcc": NVCC, "py": "exit 1"},
     ["--python", "py"], ["no CUDA build of torch in py"]),
    ({"nvidia-smi": GPU, "nvcc": NVCC, "py": TORCH, "cmake": "echo 'CMake Error: as said'; exit 1"},
     ["--python", "py"], ["configure gpu-check", "CMake Error: as said"]),
]


def run(programs, arguments):
    with tempfile.TemporaryDirectory() as folder:
        for name, body in programs.items():
            program = pathlib.Path(folder) / name
            program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
            program.chmod(0o755)
        environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
        return subprocess.run([str(ROOT / "deploy/gpu-check"), *arguments], env=environment,
                              capture_output=True, text=True, check=False)


def main():
    for programs, arguments, sentences in CASES:
        done = run(programs, arguments)
        said = done.stdout + done.stderr
        assert done.returncode == 1, f"{arguments} with {programs}: exit {done.returncode}\n{said}"
        for sentence in sentences:
            assert sentence in said, f"{arguments} with {programs}: no '{sentence}' in\n{said}"
    print(f"{len(CASES)} ways to fail, each with its sentence")
    return 0


if __name__ == "__main__":
    sys.exit(main())
