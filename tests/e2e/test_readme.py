"""Every command of README.md works as it stands there.

The two commands at the top are run by whoever runs this and, with --long, by test_quickstart.py.
The sweep that the reader is told to write trains 4 steps here instead of 300.
"""

import re
import subprocess

import lab as labs

SHRINK = ("steps: 300", "steps: 4")


def blocks():
    """The shell blocks of README.md, in order."""
    return re.findall(r"^```sh\n(.*?)^```$", (labs.ROOT / "README.md").read_text(), re.M | re.S)


def run_block(lab, text):
    """Runs a block as one shell script in the lab's folder; gives the finished process."""
    text = text.replace("$PWD/build/release/bin", str(labs.BIN)).replace(*SHRINK)
    text = text.replace("~/.local/share/normlab", str(lab.data))
    environment = {**labs.environment(lab.data), "PATH": f"{labs.BIN}:/usr/bin:/bin"}
    return subprocess.run(["bash", "-euc", text], env=environment, cwd=lab.folder, check=False,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)


def test_the_readme_has_the_blocks_that_are_run_here():
    kinds = [re.match(r"\S+( \w+)?", block)[0].strip() for block in blocks()]
    assert kinds == ["./deploy/quickstart", "./deploy/test", "export PATH", "normlab worker"]


def test_a_first_sweep_of_ones_own(bare_lab):
    bare_lab.start()
    bare_lab.prepare_data("kjv")
    done = run_block(bare_lab, blocks()[2])
    assert done.returncode == 0, done.stderr
    assert "12 runs" in done.stdout
    assert re.search(r"done.*healthy.*12", done.stdout), done.stdout


def test_another_machine_works_for_the_server(bare_lab):
    bare_lab.start(local_workers=0)
    bare_lab.prepare_data()
    bare_lab.submit("tiny", labs.TINY + "factors: {norm.placement: [pre]}\n")
    command = blocks()[3].strip() + f" --data {bare_lab.folder}/far & trap 'kill $!; wait $!' EXIT"
    done = run_block(bare_lab, f"{command}\nnormlab watch tiny")
    assert done.returncode == 0, done.stderr
    assert [run["state"] for run in bare_lab.runs("tiny")] == ["done"]
