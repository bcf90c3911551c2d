"""What `cmake -S kernels` finds, takes and says on machines that lack something."""

import os
import pathlib
import subprocess
import tempfile

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"

# Answers what CMake asks of an nvcc.
NVCC = """#!/bin/sh
case "$*" in
  *--dryrun*) echo "#\\$ _HERE_=$(dirname "$0")" >&2 ;;
  *--list-gpu-code*) printf 'sm_80\\nsm_90\\n' ;;
esac
"""


def configure(*options, libtorch):
    """(what CMake said, the targets that the build has)"""
    with tempfile.TemporaryDirectory() as folder:
        def cmake(*arguments):
            done = subprocess.run(["cmake", *arguments], capture_output=True, text=True,
                                  env={**os.environ, "LIBTORCH_DIR": libtorch}, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        said = cmake("-S", KERNELS, "-B", folder, "-G", "Ninja", "-DNORMLAB_CUDA=OFF", *options)
        targets = cmake("--build", folder, "--target", "help")
        return said, {line.split(":")[0] for line in targets.splitlines()}


def make_toolkit(folder, *, runtime=True):
    """The path of its nvcc."""
    for name in ("bin/nvcc", "include/cuda_runtime_api.h", *["lib64/libcudart_static.a"] * runtime):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(NVCC, encoding="utf-8")
    (folder / "bin/nvcc").chmod(0o755)
    return folder / "bin/nvcc"


def check_cuda_toolkits():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)

        def cmake(nvcc, *options):
            done = subprocess.run(
                ["cmake", "-S", KERNELS, "-B", folder / "build", "-G", "Ninja", "-DNORMLAB_CUDA=ON",
                 f"-DNORMLAB_NVCC={nvcc}", "-DLIBTORCH_DIR=/nowhere", *options],
                capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + " ".join(done.stderr.split())

        # Whoever names another nvcc gets its headers and its runtime, in a configured folder too.
        for name in ("old", "new"):
            code, said = cmake(make_toolkit(folder / name), "-DNORMLAB_CUDA_ARCHITECTURES=80;90")
            assert code == 0 and "for sm_80,sm_90,compute_80" in said, said
            assert "does not know" not in said, said
        made = (folder / "build/build.ninja").read_text(encoding="utf-8")
        assert f"{folder}/new/lib64/libcudart_static.a" in made and f"{folder}/old" not in made

        # No machine code for a GPU that nvcc does not know, which is said.
        code, said = cmake(folder / "new/bin/nvcc", "-DNORMLAB_CUDA_ARCHITECTURES=90;100")
        assert code == 0 and "for sm_90,compute_80" in said, said
        assert "does not know sm_100." in said, said

        # Asked for, and impossible.
        code, said = cmake(make_toolkit(folder / "bare", runtime=False))
        assert code != 0 and "bare/bin/nvcc has no libcudart" in said, said


def main():
    # The environment's LibTorch goes before the project's wheel; without one, that is said.
    said, targets = configure(libtorch="/nowhere")
    assert "The library for Python is not built: " in said and "/nowhere" in said, said
    assert "-DLIBTORCH_DIR=" in said, said
    assert "normlab_kernels" in targets and "normlab_torch" not in targets, targets

    # The default build without Boost.Context leaves out what needs it.
    said, targets = configure("-DNORMLAB_BOOST_CONTEXT=OFF", libtorch="")
    assert "kernels_test is not built: there is no Boost.Context" in said, said
    assert "normlab_torch" in targets and "kernels_test" not in targets, targets

    # Without GoogleTest there are no tests, nor what only they need.
    said, targets = configure("-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON", libtorch="/nowhere")
    assert "test programs are not built: there is no GoogleTest" in said, said
    assert "normlab_kernels" in targets and "normlab_kernels_testing" not in targets, targets
    check_cuda_toolkits()
    print("what is missing is said, the rest is built, and a toolkit is that of its nvcc")


if __name__ == "__main__":
    main()
