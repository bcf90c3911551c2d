"""What `cmake -S kernels` finds, takes and says on machines that lack something."""

import os
import pathlib
import subprocess
import tempfile

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"


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
    print("without LibTorch, Boost.Context or GoogleTest the rest is built, and it is said")


if __name__ == "__main__":
    main()
