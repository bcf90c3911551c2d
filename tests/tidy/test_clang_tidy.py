"""clang-tidy finds nothing, with the checks of .clang-tidy.

A file is looked at again only when it, a header of ours that it includes, the checks, or its
compile command changed: what was clean is remembered under a hash of all these.
Files that include LibTorch take half a minute each, so they are left to NORMLAB_LONG=1.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest
import sources

# Hundreds of files at several seconds each.
pytestmark = pytest.mark.slow

FOLDERS = ["core", "kernels", "model", "server", "worker", "cli", "tests"]
OWN_INCLUDE = re.compile(r'#\s*include\s*"([^"]+)"')
BUILD = sources.BIN.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")


@functools.cache
def compile_commands():
    """The compile command of each of the project's own files, by path relative to the project."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    commands = {}
    for entry in entries:
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(sources.ROOT) and not path.is_relative_to(BUILD):
            commands[path.relative_to(sources.ROOT)] = entry["command"]
    return commands


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


def needs_torch(path):
    """Whether LibTorch's headers are parsed, by an include or by a precompiled header."""
    return "csrc/api/include" in compile_commands()[path]


@functools.cache
def tool():
    command = ["clang-tidy", "--version"]
    version = subprocess.run(command, capture_output=True, text=True, check=True)
    return version.stdout + sources.text(pathlib.PurePath(".clang-tidy"))


def key(path):
    # The folder of the checkout is no difference; everything else in the command is.
    command = compile_commands()[path].replace(str(sources.ROOT), "")
    texts = [f"{current}\n{sources.text(current)}" for current in closure(path)]
    parts = [tool(), command, *texts]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def findings(path):
    """What clang-tidy says about one file; an empty string when it is clean."""
    clean = CACHE / "normlab-clang-tidy" / key(path)
    if clean.exists():
        return ""
    command = ["clang-tidy", "--quiet", "-p", str(BUILD),
               "--extra-arg=-Wno-unknown-warning-option", str(path)]
    result = subprocess.run(command, cwd=sources.ROOT, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return result.stdout.strip() or result.stderr.strip() or shlex.join(command)
    clean.parent.mkdir(parents=True, exist_ok=True)
    clean.touch()
    return ""


@pytest.fixture(scope="session", name="all_findings")
def fixture_all_findings():
    """Findings by path, for every file that this run looks at."""
    chosen = [path for path in compile_commands()
              if os.environ.get("NORMLAB_LONG") == "1" or not needs_torch(path)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(chosen, pool.map(findings, chosen)))


@pytest.mark.parametrize("folder", FOLDERS)
def test_clang_tidy_is_silent(folder, all_findings):
    found = [text for path, text in all_findings.items() if path.parts[0] == folder and text]
    assert not found, "\n" + "\n".join(found)
