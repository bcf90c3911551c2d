#!/usr/bin/env python3
"""Whether people who only want the kernels get them: install, use from C, use from Python.

  install_test.py            installs from the build that NORMLAB_BIN belongs to
  install_test.py --alone    configures and builds kernels/ by itself first, all of it
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = PROJECT / "docs" / "examples"

CONSUMER = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
set(CMAKE_C_FLAGS "-Wall -Wextra -Werror")
find_package(normlab_kernels 0.1 REQUIRED)
foreach(program geonorm refused)
  add_executable(${program} ${program}.c)
  target_link_libraries(${program} PRIVATE normlab::normlab_kernels)
endforeach()
if(TARGET normlab::normlab_kernels_cuda)
  add_executable(on_cuda on_cuda.c)
  target_link_libraries(on_cuda PRIVATE normlab::normlab_kernels_cuda)
endif()
"""

# What the example must say: t = pi/2, |x| = 2, beta = 2.5, T = 2/pi, so that y = 2·e2, dv = T·g
# and dx = -beta·dv; then x + v = (7, pi, 0, 0), and dnext is at right angles to it.
EXAMPLE_SAYS = """y = 0.0000 2.0000 0.0000 0.0000
dx = 0.0000 0.0000 -1.5915 0.0000
dv = 0.0000 0.0000 0.6366 0.0000
stream = 7.0000 3.1416 0.0000 0.0000
next = 1.8247 0.8189 0.0000 0.0000
dx and dv = 0.0000 0.0000 0.2607 0.0000
"""


def refusing_program(header, call, *more):
    """A program whose call is refused for its shapes, and that prints the sentence; on CUDA as well
    that is before a GPU is asked, so it runs where there is none."""
    rest = "".join(f"  {line}\n" for line in more)
    return f"""
#include <stdio.h>

#include "kernels/include/{header}"

int main(void) {{
  float x[4], v[4], y[4];
  const normlab_geonorm_options options = {{.alpha = 1, .scale = 1}};
  const normlab_geonorm_forward_args args = {{.x = {{x, 1, 4, 4, NORMLAB_F32}},
                                             .v = {{v, 1, 3, 3, NORMLAB_F32}},
                                             .y = {{y, 1, 4, 4, NORMLAB_F32}}}};
  if ({call} != NORMLAB_INVALID_ARGUMENT) return 1;
  puts(normlab_last_error());
{rest}  return 0;
}}
"""


REFUSED = refusing_program("normlab_kernels.h", "normlab_geonorm_forward(&options, &args, 0)",
                           "puts(normlab_cpu_isa());")
ON_CUDA = refusing_program("normlab_kernels_cuda.h",
                           "normlab_cuda_geonorm_forward(&options, &args, 0, 0)")


def run(*command, **options):
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n"
                 f"{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def build_alone(folder):
    """The build that docs/kernels.md asks for, without Boost.Context: no header of Boost may be
    in it."""
    run("cmake", "-S", PROJECT / "kernels", "-B", folder, "-G", "Ninja",
        "-DCMAKE_BUILD_TYPE=Release", "-DNORMLAB_BOOST_CONTEXT=OFF",
        "-DNORMLAB_CUDA=OFF")  # the package holds the CPU's kernels
    run("cmake", "--build", folder)
    needed = run("ninja", "-C", folder, "-t", "deps")
    assert "host_matrix.h" in needed and "/boost/" not in needed, "the build includes Boost"
    return folder


def use_from_c(prefix, folder):
    """The instruction set on which the programs ran."""
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(CONSUMER)
    (folder / "geonorm.c").write_text((EXAMPLES / "geonorm.c").read_text())
    (folder / "refused.c").write_text(REFUSED)
    (folder / "on_cuda.c").write_text(ON_CUDA)
    run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "build")
    said = run(folder / "build" / "geonorm").replace("-0.0000", "0.0000")
    assert said == EXAMPLE_SAYS, f"docs/examples/geonorm.c says\n{said}"
    sentence, level = run(folder / "build" / "refused").splitlines()
    assert "[1, 4]" in sentence and "[1, 3]" in sentence, sentence
    if list(prefix.rglob("libnormlab_kernels_cuda.a")) and shutil.which("nvcc"):
        sentence = run(folder / "build" / "on_cuda")
        assert "[1, 4]" in sentence and "[1, 3]" in sentence, sentence
    return level


def check_documentation():
    """docs/kernels.md shows the examples as they are."""
    shown = (PROJECT / "docs" / "kernels.md").read_text()
    for name in ("geonorm.py", "geonorm.c"):
        assert (EXAMPLES / name).read_text() in shown, f"docs/kernels.md has another {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--alone", action="store_true", help="build kernels/ by itself first")
    alone = parser.parse_args().alone
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        build = build_alone(folder / "build") if alone else pathlib.Path(
            os.environ["NORMLAB_BIN"]).parent
        prefix = folder / "prefix"
        run("cmake", "--install", build, "--component", "kernels", "--prefix", prefix)
        level = use_from_c(prefix, folder / "consumer")
        run(sys.executable, EXAMPLES / "geonorm.py", next(prefix.rglob("libnormlab_torch.so")))
    check_documentation()
    print(f"installed; the examples ran, from C on {level} and from Python")


if __name__ == "__main__":
    main()
