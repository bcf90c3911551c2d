"""Who may include whom. The arrows are data; a broken one is shown as file, line and cure."""

import pathlib
import re

import pytest
import sources

_PARTS = ["server/scheduler", "server/store", "server/stats", "server/slurm"]

# An arrow means "may include"; arrows are transitive. A file belongs to the longest name that fits.
ARROWS = {
    "core": [],
    "core/sweep": ["core"],
    "kernels": [],
    "model": ["kernels", "core"],
    "proto": ["core"],  # channel.h: from a connect file to an authenticated channel
    "server/scheduler": ["core"],
    "server/store": ["core"],
    "server/stats": ["core"],
    "server/slurm": ["core"],
    "server/dispatch": [*_PARTS, "core/sweep"],
    "server/ingest": _PARTS,
    "server/query": [*_PARTS, "core/sweep"],
    "server/rpc": ["proto", "server/dispatch", "server/ingest", "server/query"],
    "server/http": ["proto", "server/dispatch", "server/ingest", "server/query", "web"],
    # The entry points serve.{h,cc} and offline.{h,cc}, which put the parts together.
    "server": ["server/rpc", "server/http"],
    "web": [],
    "worker": ["proto", "core"],
    "cli": ["proto", "core", "core/sweep"],
}

# The only headers of server and worker that cli may name: their entry points.
CLI_ENTRY_POINTS = {"server/serve.h", "server/offline.h", "worker/worker.h"}

# Headers of other projects: (pattern, who may include them, why).
FOREIGN = [
    (r"(torch|ATen|c10)/", r"model/|kernels/torch/", "only the trainer links LibTorch"),
    (r"(grpcpp|grpc)/|.*\.grpc\.pb\.h", r"server/rpc/|worker/|cli/|proto/",
     "gRPC stays at the edges"),
    (r"google/protobuf/|proto/.*\.pb\.h", r"server/(rpc|http)/|worker/|cli/|proto/",
     "messages are converted to plain structs at the door"),
    (r"sqlite3.*\.h|SQLiteCpp/", r"server/store/", "one folder knows which database it is"),
    (r"yaml-cpp/", r"core/sweep/", "the trainer builds without yaml-cpp"),
    (r"boost/math/", r"server/stats/", "statistics have one home"),
    (r"boost/context/", r"kernels/testing/", "CUDA threads are fibers in a test, nowhere else"),
    (r"sanitizer/", r"kernels/testing/", "a sanitizer is told where those fibers' stacks are"),
    (r"boost/", r"server/http/|server/stats/", "Beast and Asio are the HTTP server's"),
    (r"CLI/", r"cli/", "only the command line parses a command line"),
    (r"sentencepiece", r"cli/tokenizer/", "it brings a second protobuf into the process"),
    (r"(spdlog|fmt)/", r"server/|worker/|cli/", "core and model build without spdlog"),
    (r"openssl/", r"server/rpc/", "certificates are made where they are shown"),
    (r"prometheus/", r"server/http/", "metrics are text on the HTTP port"),
    (r"cuda|nv", r"kernels/", "CUDA stays in the kernels"),
    (r"nlohmann/", r"(core|model|server|worker|cli)/", "JSON is everywhere but in the kernels"),
    (r"absl/", r"(core|model|proto|server|worker|cli)/", "the kernels depend on nothing"),
    (r"(sys|linux|netinet|arpa|net)/", r"", "the operating system is everyone's"),
]

# What a header may not pull into every file that includes it, and what to write instead.
HEAVY_IN_HEADERS = [
    (r"torch/torch\.h", "include the narrow header, e.g. <ATen/core/Tensor.h>"),
    (r"nlohmann/json\.hpp", "include <nlohmann/json_fwd.hpp>, and json.hpp in the .cc"),
    (r"yaml-cpp/", "hide it in the .cc"),
    (r"boost/beast", "hide it in the .cc"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def module_of(path):
    """The module that a project path belongs to, or None (tests, deploy)."""
    fitting = [name for name in ARROWS if str(path).startswith(name + "/")]
    return max(fitting, key=len, default=None)


def reachable(module):
    seen, todo = {module}, [module]
    while todo:
        for following in ARROWS[todo.pop()]:
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return seen


def includes(path):
    """(line number, whether in angle brackets, what) of every include."""
    for number, line in enumerate(sources.lines(path), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1] == "<", match[2]


def production():
    return [path for path in sources.files(*sources.CPP) if module_of(path)]


def check_own(path, target):
    if str(target).startswith("tests/"):
        return "nothing outside tests/ includes tests/"
    source, module = module_of(path), module_of(target)
    if module is None:
        return f"{target} belongs to no module; add it to ARROWS with its arrows"
    if source == "cli" and str(target) in CLI_ENTRY_POINTS:
        return None
    if module not in reachable(source):
        return f"{source} may include {', '.join(sorted(reachable(source)))}, but not {module}"
    return None


def check_foreign(path, name):
    for pattern, allowed, reason in FOREIGN:
        if re.match(pattern, name):
            if re.match(allowed, str(path)):
                return None
            return f"{name} belongs in {allowed} only: {reason}"
    if "/" in name:
        return f"{name} is of a library that FOREIGN does not list; say who may include it and why"
    return None


def problems(path):
    for number, angled, name in includes(path):
        if (sources.ROOT / name).is_file() and not angled:
            message = check_own(path, pathlib.PurePosixPath(name))
        elif angled or any(re.match(pattern, name) for pattern, *_ in FOREIGN):
            message = check_foreign(path, name)
        else:
            message = f'"{name}" is no file of the project; own headers are named from its folder'
        if message:
            yield f"{path}:{number}: {message}"


@pytest.mark.parametrize("module", sorted(ARROWS))
def test_module_includes_only_what_its_arrows_allow(module):
    mine = [path for path in production() if module_of(path) == module]
    found = [line for path in mine for line in problems(path)]
    assert not found, "\n" + "\n".join(found)


def test_cli_names_only_the_entry_points_of_server_and_worker():
    found = [
        f"{path}:{number}: {name} is no entry point ({', '.join(sorted(CLI_ENTRY_POINTS))})"
        for path in production()
        if module_of(path) == "cli"
        for number, angled, name in includes(path)
        if not angled and name.startswith(("server/", "worker/")) and name not in CLI_ENTRY_POINTS
    ]
    assert not found, "\n" + "\n".join(found)


def test_headers_stay_light():
    found = [
        f"{path}:{number}: <{name}> in a header: {cure}"
        for path in production()
        if path.suffix == ".h"
        for number, _, name in includes(path)
        for pattern, cure in HEAVY_IN_HEADERS
        if re.match(pattern, name)
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "path, name, word",
    [
        ("core/clock.cc", "torch/torch.h", "LibTorch"),
        ("server/query/api.cc", "sqlite3.h", "database"),
        ("server/scheduler/queue.cc", "grpcpp/grpcpp.h", "gRPC"),
        ("kernels/norm/norm_cpu.cc", "absl/status/status.h", "depend on nothing"),
        ("cli/sentence_piece.cc", "sentencepiece_processor.h", "second protobuf"),
        ("worker/relay.cc", "libfoo/foo.h", "FOREIGN"),
    ],
)
def test_a_foreign_header_in_the_wrong_place_is_found(path, name, word):
    assert word in check_foreign(pathlib.PurePosixPath(path), name)


@pytest.mark.parametrize(
    "path, target, word",
    [
        ("core/clock.cc", "server/store/store.h", "not server/store"),
        ("server/scheduler/queue.cc", "server/store/store.h", "not server/store"),
        ("model/loop.cc", "worker/worker.h", "not worker"),
        ("worker/relay.cc", "tests/fakes/fake_clock.h", "nothing outside tests/"),
    ],
)
def test_a_broken_arrow_is_found(path, target, word):
    assert word in check_own(pathlib.PurePosixPath(path), pathlib.PurePosixPath(target))
