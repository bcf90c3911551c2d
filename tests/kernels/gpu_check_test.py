"""What deploy/gpu-check says where something is missing, and what it writes at the end.

The programs that it asks (nvidia-smi, nvcc, a Python with torch, and for a whole run CMake, CTest
and the bench) are stood in for by scripts that answer as the real ones do.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

def gpu(name="NVIDIA H200", capability="9.0", cuda="13.0"):
    """An nvidia-smi that knows one GPU."""
    return f"""case "$*" in
  *compute_cap*) echo '{capability}' ;;
  -q) echo 'Driver Version                : 580.65.06'
      echo 'CUDA Version                  : {cuda}' ;;
  *) echo '{name}, 580.65.06' ;;
esac"""


GPU = gpu()
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
    ({"nvidia-smi": gpu("Tesla T4", "7.5")}, [],
     ["compute capability of Tesla T4, 580.65.06 is 7.5; 8.0 or newer is needed"]),
    # A driver of the nvcc's major version runs machine code, but no PTX that is newer than it.
    ({"nvidia-smi": gpu(cuda="11.8"), "nvcc": NVCC, "py": TORCH}, ["--python", "py"],
     ["nvcc is of CUDA 12.8", "runs CUDA up to 11.8", "a driver for CUDA 12.0 or newer"]),
    ({"nvidia-smi": gpu(cuda="12.4"), "nvcc": NVCC, "py": TORCH, "cmake": "exit 1"},
     ["--python", "py"], ["configure gpu-check"]),
    ({"nvidia-smi": gpu("RTX 5090", "12.0", "12.4"), "nvcc": NVCC, "py": TORCH},
     ["--python", "py"], ["nvcc is of CUDA 12.8", "a driver for CUDA 12.8 or newer"]),
    ({"nvidia-smi": gpu(cuda="12.8"), "nvcc": NVCC, "py": "echo 2.13.0 13.0 /nowhere /nowhere"},
     ["--python", "py"], ["torch is of CUDA 13.0", "a driver for CUDA 13.0 or newer"]),
]


# A whole run: the build leaves a trainer and a table of registers, one of three tests fails and one
# finds too little memory.
CMAKE = """[ "$1" = --build ] || exit 0
mkdir -p build/gpu-check/bin
echo 'echo {}' >build/gpu-check/bin/normlab-trainer
chmod +x build/gpu-check/bin/normlab-trainer
echo '| kernels of | width |' >build/gpu-check/kernel-registers.md"""
CTEST = """while [ $# -gt 0 ]; do [ "$1" != --output-junit ] || out=$2; shift; done
[ -n "$out" ] || exit 0
echo '<testsuite><testcase name="good" status="run"/>' >"$out"
echo '<testcase name="huge" status="notrun">' >>"$out"
echo '<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>' >>"$out"
echo '<testcase name="bad" status="fail"/></testsuite>' >>"$out"
exit 8"""
ROWS = [{"name": "geonorm/8x768/bf16/fwd/vs_copy", "value": 0.875, "unit": "ratio", "spread": 0.01}]
# The bench measures everything when it is asked for those shapes, and stops half-way otherwise.
PYTHON = """case "$*" in
  -c*) echo 2.9.1 12.8 /nowhere/torch "$0" ;;
  *gpu_bench.py\\ --json*)
    echo '%s'
    case "$*" in *8x768) exit 0 ;; esac
    echo 'gpu_bench: geonorm/8x768/f32/bwd: compiled is not measured: no compiler' >&2
    echo 'RuntimeError: out of memory' >&2
    exit 1 ;;
  *) exec %s "$@" ;;
esac""" % (json.dumps(ROWS[0]), sys.executable)
MACHINE = {"nvidia-smi": GPU, "nvcc": NVCC, "cmake": CMAKE, "ctest": CTEST, "py": PYTHON,
           "readelf": "echo 'NEEDED libtorch_cuda.so'"}


def run(programs, arguments, project=ROOT):
    with tempfile.TemporaryDirectory() as folder:
        for name, body in programs.items():
            program = pathlib.Path(folder) / name
            program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
            program.chmod(0o755)
        environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
        return subprocess.run([str(project / "deploy/gpu-check"), *arguments], env=environment,
                              capture_output=True, text=True, check=False)


def whole_run(options, ctest=CTEST):
    """The report of a run on a machine with everything, after an earlier one, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        project = pathlib.Path(folder)
        bench = [f"tests/kernels/bench/gpu_{part}.py" for part in ("bench", "dram", "table")]
        for part in ("deploy/gpu-check", "deploy/common.sh", *bench):
            (project / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / part, project / part)
        (project / "build/gpu-check").mkdir(parents=True)
        (project / "build/gpu-check/tests.xml").write_text("<testsuite/>")
        done = run({**MACHINE, "ctest": ctest}, ["--python", "py", *options], project)
        said = done.stdout + done.stderr
        assert done.returncode == 1, f"a test failed, so exit 1, not {done.returncode}\n{said}"
        report = json.loads((project / "build/gpu-check/gpu-check.json").read_text())
        assert (project / "build/gpu-check/gpu-check.md").read_text() in done.stdout, said
        return report, said


def check_whole_runs():
    report, said = whole_run(["--", "--shapes", "8x768"])
    assert report["schema"] == "normlab.gpu_check.v1" and report["rows"] == ROWS, report
    assert report["gpu"] == "NVIDIA H200, 580.65.06" and report["torch_cuda"] == "12.8", report
    assert report["tests"] == {"run": 2, "skipped": ["huge"], "failed": ["bad"]}, report
    for sentence in ("2 tests, 1 failed, 1 skipped", "- failed: bad", "- skipped: huge",
                     "| geonorm/8x768/bf16/fwd | 0.88 ± 0.01 ✓ |",
                     "1 of 1 targets reached", "| kernels of | width |"):
        assert sentence in said, f"no '{sentence}' in\n{said}"
    assert "Not all was measured" not in said, said
    report, said = whole_run([])
    assert report["rows"] == ROWS and report["tests"]["failed"] == ["bad"], report
    for sentence in ("| geonorm/8x768/bf16/fwd | 0.88 ± 0.01 ✓ |",
                     "- geonorm/8x768/f32/bwd: compiled is not measured: no compiler",
                     "Not all was measured: RuntimeError: out of memory"):
        assert sentence in said, f"no '{sentence}' in\n{said}"
    # ctest that dies with no results: those of the earlier run are not taken for its own.
    report, said = whole_run([], ctest='case "$*" in *--output-junit*) exit 70 ;; esac')
    assert report["tests"]["failed"] == ["ctest wrote no results"], report


def main():
    for programs, arguments, sentences in CASES:
        done = run(programs, arguments)
        said = done.stdout + done.stderr
        assert done.returncode == 1, f"{arguments} with {programs}: exit {done.returncode}\n{said}"
        for sentence in sentences:
            assert sentence in said, f"{arguments} with {programs}: no '{sentence}' in\n{said}"
    check_whole_runs()
    print(f"{len(CASES)} ways to fail, each with its sentence, and three whole runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
