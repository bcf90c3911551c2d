"""Compiles the CUDA kernels for every architecture that is tested, and reads what ptxas said.

    every_architecture_test.py BUILD

The usual build makes machine code for one and PTX for the rest. BUILD keeps the objects, so that a
second run takes no time; the table of registers is left there as kernel-registers.md.
"""

import os
import pathlib
import subprocess
import sys

import registers_test

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHITECTURES = ("80", "90", "100")


def main(build):
    subprocess.run(["cmake", "-S", str(ROOT / "kernels"), "-B", build, "-DNORMLAB_CUDA=ON",
                    "-DNORMLAB_CUDA_ARCHITECTURES=" + ";".join(ARCHITECTURES)], check=True)
    subprocess.run(["cmake", "--build", build, "--target", "normlab_kernels_cuda",
                    "--parallel", str(os.cpu_count())], check=True)
    library = pathlib.Path(build) / "libnormlab_kernels_cuda.a"
    table = pathlib.Path(build) / "kernel-registers.md"
    spills = registers_test.main(library, table)
    head = table.read_text(encoding="utf-8").splitlines()[0]
    for architecture in ARCHITECTURES:
        assert f"sm_{architecture}" in head, f"nvcc does not know sm_{architecture}"
    return spills


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
