"""Reads what ptxas said while the CUDA kernels were compiled: how many registers, and that threads
have no memory of their own, be it for spilled registers, for a row or for another array.

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
    r"Compiling entry function '(\S+)' for 'sm_(\w+)'.*?(\d+) bytes stack frame, "
    r"(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers",
    re.DOTALL,
)
# RowLayout<width, threads of a row, columns of a group>, as it stands in a demangled name.
LAYOUT = re.compile(r"RowLayout<(?:\(int\))?(\d+),")

WIDTHS = {128, 384, 768, 1024, 1280, 1536, 1600, 2048}

# sincos() in fp64 reduces its argument, where that is far from 0, in an array of 40 bytes. Only the
# kernels that turn rows call it.
SINCOS_BYTES = 40
TURNS = re.compile(r"\b(Forward|Backward)(Any)?Kernel<")

Kernel = collections.namedtuple("Kernel", "source name architecture registers stack spilled")


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
        for name, (_, architecture, stack, stores, loads, registers) in zip(names, found):
            yield Kernel(source, name, architecture, int(registers), int(stack),
                         int(stores) + int(loads))


def row_of(kernel):
    """What a kernel counts as in the table: its file, and its width where it has its own."""
    layout = LAYOUT.search(kernel.name)
    width = int(layout[1]) if layout else None
    return kernel.source.removesuffix("_cuda"), width


def keeps_memory(kernel):
    """Whether a thread has memory of its own, but for that of sincos()."""
    turns = kernel.source.startswith("geonorm_") and TURNS.search(kernel.name)
    return kernel.spilled > 0 or kernel.stack not in ((0, SINCOS_BYTES) if turns else (0,))


def table(found):
    """Most registers, over types and forms, by file, width and architecture; most memory below."""
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
    stacks = collections.defaultdict(int)
    for kernel in found:
        stacks[row_of(kernel)[0]] = max(stacks[row_of(kernel)[0]], kernel.stack)
    framed = ", ".join(f"{source} {stack}" for source, stack in sorted(stacks.items()) if stack)
    lines += ["", f"A thread's own memory: {max(k.spilled for k in found)} bytes of spills; stack "
                  f"frames of bytes: {framed or 'none'}."]
    return "\n".join(lines)


def main(library, output):
    found = list(kernels(pathlib.Path(library).parent / "cuda"))
    text = table(found)
    pathlib.Path(output).write_text(text + "\n", encoding="utf-8")
    print(text)
    for source in sorted({row_of(kernel)[0] for kernel in found}):
        widths = {width for name, width in map(row_of, found) if name == source}
        assert widths == WIDTHS | {None}, f"{source} has kernels for the widths {widths}"
    faults = [f"{k.source} sm_{k.architecture} {k.name}: {k.spilled} bytes of spills, "
              f"a stack frame of {k.stack} bytes" for k in found if keeps_memory(k)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
