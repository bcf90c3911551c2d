#!/usr/bin/env python3
"""Whether people who only want the kernels get them: install, use from C, use from Python.

  install_test.py            installs from the build that NORMLAB_BIN belongs to
  install_test.py --alone    configures and builds kernels/ by itself first
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]

CONSUMER = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
find_package(normlab_kernels 0.1 REQUIRED)
add_executable(consumer main.c)
target_link_libraries(consumer PRIVATE normlab::normlab_kernels)
"""

# A quarter turn of the first axis towards the second, and a refusal.
MAIN = r"""
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/include/normlab_kernels.h"

int main(void) {
  float x[4] = {2, 0, 0, 0}, v[4] = {5, 3.14159265f, 0, 0}, y[4];
  const normlab_geonorm_options options = {NORMLAB_EXP, 1, 1, 0, 0, 0, 0};
  normlab_geonorm_forward_args args = {
      {x, 1, 4, 4, NORMLAB_F32}, {v, 1, 4, 4, NORMLAB_F32}, {y, 1, 4, 4, NORMLAB_F32}, 0, 0, 0};
  if (normlab_geonorm_forward(&options, &args, 0) != NORMLAB_OK) return 1;
  if (fabsf(y[0]) > 1e-5f || fabsf(y[1] - 2) > 1e-5f || y[2] != 0) return 2;
  args.v.cols = 3;
  if (normlab_geonorm_forward(&options, &args, 0) != NORMLAB_INVALID_ARGUMENT) return 3;
  if (strstr(normlab_last_error(), "[1, 4]") == 0) return 4;
  puts(normlab_cpu_isa());
  return 0;
}
"""


def run(*command, **options):
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n"
                 f"{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def build_alone(folder):
    run("cmake", "-S", PROJECT / "kernels", "-B", folder, "-G", "Ninja",
        "-DCMAKE_BUILD_TYPE=Release", "-DNORMLAB_CUDA=OFF")  # the package holds the CPU's kernels
    run("cmake", "--build", folder, "--target", "normlab_kernels", "normlab_torch")
    return folder


def use_from_c(prefix, folder):
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(CONSUMER)
    (folder / "main.c").write_text(MAIN)
    run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "build")
    return run(folder / "build" / "consumer").strip()


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
        example = PROJECT / "tests" / "kernels" / "python_example.py"
        # It looks for the library beside the folder that NORMLAB_BIN names.
        said = run(sys.executable, example, env={**os.environ, "NORMLAB_BIN": str(prefix / "bin")})
    print(f"installed; a C program ran on {level}; Python: {said.strip()}")


if __name__ == "__main__":
    main()
