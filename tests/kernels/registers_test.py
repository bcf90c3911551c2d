"""Reads what ptxas said while the CUDA kernels were compiled: no spills, and how many registers.

    registers_test.py LIBRARY TABLE

The reports lie beside the objects of LIBRARY (a static library), one for each .cu file. Writes the
table to TABLE in Markdown, as docs/kernels.md quotes it.
"""

import collections
import pathlib
import re
import subprocess
import sys

ENTRY = re.compile(
    r"Compiling entry function '(\S+)' for 'sm_(\w+)'.*?"
    r"(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers",
    re.DOTALL,
)
# RowLayout<width, threads of a row, columns of a group>, as it stands in a demangled name.
LAYOUT = re.compile(r"RowLayout<(?:\(int\))?(\d+),")

WIDTHS = {128, 384, 768, 1024, 1280, 1536, 1600, 2048}

Kernel = collections.namedtuple("Kernel", "source name architecture registers spilled")


def demangled(names):
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True,
                          check=True)
    return done.stdout.splitlines()


def kernels(folder):
    """Every kernel of every report, for every architecture."""
    reports = sorted(folder.glob("*.o.ptxas.txt"))
    assert reports, f"no reports of ptxas in {folder}"
    for report in reports:
        found = ENTRY.findall(report.read_text(encoding="utf-8"))
        if not found:
            continue  # a file of host code alone
        source = report.name.removesuffix(".o.ptxas.txt")
        names = demangled([entry[0] for entry in found])
        for name, (_, architecture, stores, loads, registers) in zip(names, found):
            yield Kernel(source, name, architecture, int(registers), int(stores) + int(loads))


def row_of(kernel):
    """What a kernel counts as in the table: its file, and its width where it has its own."""
    layout = LAYOUT.search(kernel.name)
    width = int(layout[1]) if layout else None
    return kernel.source.removesuffix("_cuda"), width


def table(found):
    """Most registers, over types and forms, by file, width and architecture."""
    architectures = sorted({kernel.architecture for kernel in found}, key=int)
    most = collections.defaultdict(int)
    for kernel in found:
        row = row_of(kernel)
        most[row, kernel.architecture] = max(most[row, kernel.architecture], kernel.registers)
    head = " | ".join(f"sm_{a}" for a in architectures)
    lines = [f"| kernels of | width | {head} |", "|---" * (2 + len(architectures)) + "|"]
    for source, width in sorted({row for row, _ in most}, key=lambda row: (row[0], row[1] or 1e9)):
        counts = " | ".join(str(most[(source, width), a]) for a in architectures)
        lines.append(f"| {source} | {width or 'any, and finishing'} | {counts} |")
    return "\n".join(lines)


def main(library, output):
    found = list(kernels(pathlib.Path(library).parent / "cuda"))
    text = table(found)
    pathlib.Path(output).write_text(text + "\n", encoding="utf-8")
    print(text)
    for source in sorted({row_of(kernel)[0] for kernel in found}):
        widths = {width for name, width in map(row_of, found) if name == source}
        missing = WIDTHS - widths
        assert not missing, f"{source} has no kernel of its own for the widths {sorted(missing)}"
    spilled = [f"{k.source} sm_{k.architecture} {k.name}: {k.spilled} bytes"
               for k in found if k.spilled]
    print(f"{len(found)} kernels;", "\n".join(["spills:", *spilled]) if spilled else "no spills")
    return 1 if spilled else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
