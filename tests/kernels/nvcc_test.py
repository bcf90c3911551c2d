"""Compiles the CUDA kernels for every architecture and reads ptxas: warnings are errors, no spills.

Prints registers and spills per width; says so, and passes, where there is no nvcc to ask.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "kernels").glob("*/*.cu"))
ARCHITECTURES = ("80", "90", "100")


def compile_source(nvcc, source, folder):
    """What ptxas said while `source` was compiled for every architecture, and to PTX."""
    targets = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in ARCHITECTURES]
    targets.append("-gencode=arch=compute_80,code=compute_80")
    command = [nvcc, "-std=c++17", "-O3", f"-I{ROOT}", "--expt-relaxed-constexpr",
               "--extended-lambda", "-Werror", "all-warnings", "-Xptxas", "-v", *targets, "-c",
               str(source), "-o", str(pathlib.Path(folder) / (source.stem + ".o"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{source.name} does not compile:\n{done.stderr}")
    return done.stderr


def kernels(report):
    """(kernel, architecture, registers, spilled bytes) of each entry in ptxas's report."""
    entry = re.compile(
        r"Compiling entry function '(\S+)' for 'sm_(\w+)'.*?"
        r"(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers",
        re.DOTALL,
    )
    for name, architecture, stores, loads, registers in entry.findall(report):
        yield name, architecture, int(registers), int(stores) + int(loads)


def main():
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        print("no nvcc on this machine: the CUDA kernels were not compiled")
        return 0
    spilled, most = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for source in SOURCES:
            found = list(kernels(compile_source(nvcc, source, folder)))
            assert found, f"ptxas reported no kernel of {source.name}"
            for name, architecture, registers, spill in found:
                key = (source.stem, architecture)
                most[key] = max(most.get(key, 0), registers)
                if spill:
                    spilled.append(f"{source.name} sm_{architecture} {name}: {spill} bytes")
    for (stem, architecture), registers in sorted(most.items()):
        print(f"{stem} sm_{architecture}: at most {registers} registers")
    print("\n".join(spilled) or "no spills")
    return 1 if spilled else 0


if __name__ == "__main__":
    sys.exit(main())
