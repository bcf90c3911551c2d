"""The sizes of files, functions and lines, include guards, and the format."""

import pathlib
import re
import statistics
import subprocess
import sys

import pytest
import sources

LINE_LIMIT = 100
FILE_LIMIT = 400
FUNCTION_LIMIT = 70  # a ratchet: it may only go down
FUNCTION_P90 = 40

CODE = (*sources.CPP, ".py", ".ts", ".tsx", ".css", ".sh", ".proto", ".sql")

_DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.MULTILINE)
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
# Innermost first, so that what is left of `template <template <class> class T>` goes next.
_TEMPLATE = re.compile(r"<[^<>]*>")


def functions(code):
    """(first line, lines, header) of every function body in blanked C++ code.

    A body is a brace that follows a parameter list where only namespaces and classes are open; what
    is inside it, lambdas included, counts as part of it.
    """
    stack, header, header_line, line = [], "", 1, 1
    code = _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)
    for character in code:
        if character == "{":
            inside = any(kind == "body" for kind, *_ in stack)
            is_body = not inside and _is_function(header)
            stack.append(("body" if is_body else "scope", header_line, " ".join(header.split())))
            header = ""
        elif character == "}":
            if stack:
                kind, first, name = stack.pop()
                if kind == "body":
                    yield first, line - first + 1, name
            header = ""
        elif character == ";" and not _open_parenthesis(header):
            header = ""
        elif not character.isspace() and not header.strip():
            header, header_line = character, line
        else:
            header += character
        line += character == "\n"


def _is_function(header):
    """Whether a brace after it opens a function; a class among template parameters opens none."""
    before = header
    while before != (before := _TEMPLATE.sub(" ", before)):
        pass
    return "(" in before and not _SCOPE.search(before.split("(")[0])


def _open_parenthesis(text):
    return text.count("(") > text.count(")")


def all_functions():
    for path in sources.files(*sources.CPP):
        for first, length, name in functions(sources.code(path)):
            yield length, f"{path}:{first}: {length} lines: {name[:80]}"


def test_the_scanner_finds_functions_and_their_length():
    code = "namespace a {\nclass B {\n  int F() {\n    if (x) {\n    }\n  }\n  int g = 1;\n};\n}\n"
    assert list(functions(code)) == [(3, 4, "int F()")]


def test_the_scanner_finds_template_functions():
    code = "template <class A, template <class> class B>\nvoid F(A<B> a) {\n}\n"
    code += "template <class T>\nstruct S {\n  template <class U>\n  U G() {\n  }\n};\n"
    found = [(first, lines) for first, lines, _ in functions(code)]
    assert found == [(1, 3), (6, 3)]


def test_functions_fit_a_screen():
    lengths = sorted(all_functions(), reverse=True)
    long = [place for length, place in lengths if length > FUNCTION_LIMIT]
    assert not long, f"\nover {FUNCTION_LIMIT} lines; take steps out:\n" + "\n".join(long)
    if len(lengths) >= 10:
        p90 = statistics.quantiles([length for length, _ in lengths], n=10)[-1]
        assert p90 <= FUNCTION_P90, f"nine of ten functions must have at most {FUNCTION_P90} lines"


def test_files_hold_one_idea():
    long = [
        f"{path}: {len(sources.lines(path))} lines"
        for path in sources.files(*CODE)
        if len(sources.lines(path)) > FILE_LIMIT
    ]
    assert not long, f"\nover {FILE_LIMIT} lines; split by idea:\n" + "\n".join(long)


def test_lines_are_short():
    found = [
        f"{path}:{number}: {len(line)} characters"
        for path in sources.files(*CODE)
        for number, line in enumerate(sources.lines(path), 1)
        if len(line) > LINE_LIMIT and not re.search(r"https?://\S{40}", line)
    ]
    assert not found, f"\nover {LINE_LIMIT} characters:\n" + "\n".join(found)


@pytest.mark.parametrize("path", sources.files(".h", ".cuh"), ids=str)
def test_include_guard_is_named_after_the_path(path):
    guard = "NORMLAB_" + re.sub(r"[^A-Za-z0-9]", "_", str(path)).upper() + "_"
    code = sources.code(path)
    assert re.search(rf"#ifndef {guard}\n#define {guard}\n", code), f"{path}: name it {guard}"
    assert sources.text(path).rstrip().endswith(f"#endif  // {guard}"), f"{path}: end with {guard}"


def test_sources_are_formatted():
    beside = pathlib.Path(sys.executable).with_name("clang-format")
    program = str(beside) if beside.exists() else "clang-format"
    names = [str(path) for path in sources.files(*sources.CPP)]
    if not names:
        return
    command = [program, "--dry-run", "--ferror-limit=1", *names]
    result = subprocess.run(command, cwd=sources.ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    bad = sorted({line.split(":")[0] for line in result.stderr.splitlines() if "warning:" in line})
    assert not bad, "\nrun clang-format -i on\n" + "\n".join(bad)
