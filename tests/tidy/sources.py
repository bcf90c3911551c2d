"""The files of the project, as the other tests of this folder look at them."""

import functools
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("NORMLAB_BIN", ROOT / "build/release/bin"))
CPP = (".h", ".cc", ".cu", ".cuh")


@functools.cache
def all_files():
    """Every file that is or could be committed, relative to the project's folder, in order."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = sorted(set(map(pathlib.PurePosixPath, names.splitlines())))
    return [path for path in paths if (ROOT / path).is_file()]


def files(*suffixes):
    """The files whose name ends with one of the suffixes."""
    return [path for path in all_files() if path.suffix in suffixes]


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def lines(path):
    return text(path).splitlines()


# A comment or a literal, in the order in which a scanner of C++ meets them.
_OPAQUE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'
    r"'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)


def code(path):
    """The text with comments and literals blanked, so that every line keeps its number."""
    return _OPAQUE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text(path))
