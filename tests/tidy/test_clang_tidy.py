"""clang-tidy finds nothing, with the checks of .clang-tidy.

Nine tenths of its time go into headers of other projects, so that files with the same flags are
looked at together, as one file that includes up to eight of them. A group is looked at again only
when one of its files, a header of ours that they include, the checks, or the flags changed: what
was clean is remembered under a hash of all these.
"""

import concurrent.futures
import functools
import hashlib
import itertools
import json
import os
import pathlib
import re
import subprocess

import pytest
import sources

FOLDERS = ["core", "kernels", "model", "proto", "server", "worker", "cli", "tests"]
GROUP_SIZE = 8
UNITS = (".cc", ".cu")
# Compiled only where LibTorch has CUDA, only where it has not, and only by nvcc.
ELSEWHERE = {pathlib.Path("kernels", name) for name in (
    "torch/cuda_calls.cc", "torch/no_cuda_calls.cc", "common/device_memory_cuda.cu")}
OWN_INCLUDE = re.compile(r'#\s*include\s*"([^"]+)"')
# What names the object file, what only g++ knows or has (omp.h), its precompiled headers.
NOT_OURS = re.compile(r" -(o|c) \S+| -Winvalid-pch -include \S+| -W\S+| -fopenmp")
# Asio of Boost 1.74 expects coroutines of clang only where the standard library is clang's, too.
FOR_CLANG = " -DBOOST_ASIO_HAS_CO_AWAIT"
BUILD = sources.BIN.parent.resolve()
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")


def compiled(path):
    """The files of ours that the compiler reads whole when it is given `path`.

    What a build makes itself is none of ours, but it may stand for some: for several files that are
    compiled as one (CMAKE_UNITY_BUILD), or for a .cu file that is compiled for the processor.
    """
    if not path.is_relative_to(BUILD):
        return [path] if path.is_relative_to(sources.ROOT) else []
    named = OWN_INCLUDE.findall(path.read_text(encoding="utf-8")) if path.is_file() else []
    return [file for name in named for file in compiled(sources.ROOT / name)
            if file.suffix in UNITS]


@functools.cache
def flags():
    """The compiler's flags for each of the project's own files, by path relative to the project."""
    found = {}
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    # By name: what is compiled as one is listed backwards, and the groups should stay the same.
    for entry in sorted(entries, key=lambda entry: entry["file"]):
        for path in compiled(pathlib.Path(entry["file"])):
            command = NOT_OURS.sub("", entry["command"]) + FOR_CLANG
            found.setdefault(path.relative_to(sources.ROOT), command)
    return found


@functools.cache
def closure(path):
    """The file and every file of ours that it includes, directly or not."""
    seen, todo = set(), [pathlib.Path(path)]
    while todo:
        current = todo.pop()
        if current not in seen and (sources.ROOT / current).is_file():
            seen.add(current)
            todo += map(pathlib.Path, OWN_INCLUDE.findall(sources.text(current)))
    return sorted(seen)


@functools.cache
def tool():
    command = ["clang-tidy", "--version"]
    version = subprocess.run(command, capture_output=True, text=True, check=True)
    return version.stdout + sources.text(pathlib.PurePath(".clang-tidy"))


def groups():
    """Lists of files of one folder with the same flags."""
    def by(path):
        return str(path.parent), flags()[path]
    for _, paths in itertools.groupby(sorted(flags(), key=by), key=by):
        paths = list(paths)
        for first in range(0, len(paths), GROUP_SIZE):
            yield paths[first:first + GROUP_SIZE]


def key(group):
    # The folder of the checkout is no difference; everything else is.
    texts = [f"{current}\n{sources.text(current)}" for path in group for current in closure(path)]
    parts = [tool(), flags()[group[0]].replace(str(sources.ROOT), ""), *texts]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def look(group, name):
    """What clang-tidy says about the files of a group, included one after the other."""
    folder = BUILD / "clang-tidy" / name
    folder.mkdir(parents=True, exist_ok=True)
    together = folder / "together.cc"
    together.write_text("".join(f'#include "{path}"\n' for path in group))
    command = {"directory": str(BUILD), "file": str(together),
               "command": f"{flags()[group[0]]} -c {together}"}
    (folder / "compile_commands.json").write_text(json.dumps([command]))
    ours = "|".join(FOLDERS)
    result = subprocess.run(
        ["clang-tidy", "--quiet", "-p", str(folder), f"--config-file={sources.ROOT}/.clang-tidy",
         f"--header-filter=^{re.escape(str(sources.ROOT))}/({ours})/",
         # To include a .cc file is what this file is for; it is no header for that reason.
         "--checks=-bugprone-suspicious-include,-google-global-names-in-headers",
         str(together)],
        cwd=sources.ROOT, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout.strip() or result.stderr.strip()


def findings(group):
    """What clang-tidy says about a group of files; an empty string when they are clean."""
    name = key(group)
    clean = CACHE / "normlab-clang-tidy" / name
    if clean.exists():
        return ""
    said = look(group, name)
    # Two files may use one name for two things, which is an error only when they are together: in
    # halves, and halves of these, until they are apart.
    if "clang-diagnostic-error" in said and len(group) > 1:
        half = len(group) // 2
        return "\n".join(filter(None, (findings(group[:half]), findings(group[half:]))))
    if not said:
        clean.parent.mkdir(parents=True, exist_ok=True)
        clean.touch()
    return said


@pytest.fixture(scope="session", name="all_findings")
def fixture_all_findings():
    """Findings of every group of files, with the folder that they are in."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [(group[0].parts[0], text)
                for group, text in zip(groups(), pool.map(findings, groups()))]


def test_what_a_build_compiles_as_one_is_found_file_by_file(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.BUILD", tmp_path)
    unity = tmp_path / "unity_0_cxx.cxx"
    unity.write_text(f'#include "{sources.ROOT}/core/clock.cc"\n\n#include "core/ids.cc"\n'
                     '#include "core/ids.h"\n')
    assert compiled(unity) == [sources.ROOT / "core/clock.cc", sources.ROOT / "core/ids.cc"]
    assert compiled(sources.ROOT / "core/clock.cc") == [sources.ROOT / "core/clock.cc"]
    assert not compiled(pathlib.Path("/usr/include/stdio.h"))


def test_every_file_is_looked_at():
    ours = {pathlib.Path(path) for path in sources.files(*UNITS)}
    missed = sorted(map(str, ours - ELSEWHERE - flags().keys()))
    assert not missed, f"the build in {BUILD} compiles none of {missed}; with LibTorch it should"
    assert {path.parts[0] for path in flags()} == set(FOLDERS)
    assert sorted(path for group in groups() for path in group) == sorted(flags())


# What google-global-names-in-headers would say if it were told what is a header.
def test_no_header_brings_names_in():
    brought = re.compile(r"^using (namespace |[\w:]+;)", re.MULTILINE)
    found = [f"{path}: {match[0]}" for path in sources.files(".h", ".cuh")
             for match in brought.finditer(sources.code(path))]
    assert not found, "\nit would be there for everybody who includes it: " + "\n".join(found)


# Minutes of both cores when nothing is remembered.
@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_clang_tidy_is_silent(folder, all_findings):
    found = [text for where, text in all_findings if where == folder and text]
    assert not found, "\n" + "\n".join(found)
