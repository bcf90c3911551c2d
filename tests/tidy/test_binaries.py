"""What the programs link: LibTorch carries its own protobuf, and two in one process crash."""

import re
import subprocess

from sources import BIN

PROTOBUF = re.compile(r"\bgoogle::protobuf\b|\bgrpc(_impl)?::|\bgrpc_init\b")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed(program):
    """The names of the shared libraries that a program asks for itself."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", str(program)))


def loaded(program):
    """The names of all shared libraries that come into its process."""
    return re.findall(r"^\s*(\S+)", output("ldd", str(program)), re.MULTILINE)


def trainer_archives():
    """The static libraries of ours that the trainer is linked from."""
    graph = output("ninja", "-C", str(BIN.parent), "-t", "query", "bin/normlab-trainer")
    names = re.findall(r"^\s*\|*\s*(\S+\.(?:a|o))$", graph, re.MULTILINE)
    return [BIN.parent / name for name in names]


def protobuf_symbols(path):
    names = output("nm", "-C", str(path)).splitlines()
    return [name for name in names if PROTOBUF.search(name)]


def test_normlab_loads_no_torch_library():
    found = [name for name in loaded(BIN / "normlab") if re.search(r"torch|libc10|libnvrtc", name)]
    assert not found, f"normlab must start where there is no LibTorch, but it loads {found}"


def test_trainer_asks_for_no_protobuf_or_grpc_library():
    found = [name for name in needed(BIN / "normlab-trainer") if re.search(r"proto|grpc", name)]
    assert not found, f"normlab-trainer must not link {found}"


def test_sentencepiece_and_its_own_protobuf_are_in_a_program_without_ours():
    for name in ("normlab", "normlab-trainer"):
        found = [library for library in loaded(BIN / name) if "sentencepiece" in library]
        assert not found, f"{name} must leave tokenizing to normlab-tokenizer, but loads {found}"
    libraries = loaded(BIN / "normlab-tokenizer")
    assert any("sentencepiece" in library for library in libraries)
    found = [library for library in libraries if re.search(r"libprotobuf|grpc", library)]
    assert not found, f"normlab-tokenizer has a protobuf inside SentencePiece, and loads {found}"


def test_no_protobuf_symbol_is_in_the_trainer_or_in_what_it_is_made_of():
    made_of = trainer_archives()
    assert len(made_of) >= 3, f"found only {made_of} behind normlab-trainer"
    for path in [BIN / "normlab-trainer", *made_of]:
        assert not protobuf_symbols(path), f"{path}: {protobuf_symbols(path)[:5]}"


def test_the_check_sees_protobuf_where_it_is():
    assert protobuf_symbols(BIN / "normlab"), "nm must show protobuf in normlab, which links it"


def test_programs_are_built_for_every_processor_of_their_kind():
    flags = (BIN.parent / "compile_commands.json").read_text()
    assert "-march=native" not in flags and "-mtune=native" not in flags
