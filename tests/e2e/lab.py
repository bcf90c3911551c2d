"""A real server, real workers and real training in a folder of their own.

Nothing here knows more than a user does: programs, their options, files of the data folder and
signals.
"""

import contextlib
import json
import os
import pathlib
import random
import select
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("NORMLAB_BIN", ROOT / "build/release/bin"))
PATIENCE_S = 90

# Trains in about a second per run: what is tested is the way of a number, not the number.
TINY = """
base:
  model: {layers: 2, width: 32, heads: 2, seq_len: 32}
  data: {name: tiny}
  train: {steps: 12, batch: 4}
  eval: {every: 4, batches: 2}
"""

# As TINY, and long enough to be interrupted: ten seconds and more.
LONG = TINY.replace("steps: 12", "steps: 4000").replace("every: 4", "every: 1000")


def environment(data):
    """Ours without what a developer may have set, so that a test finds its own server only."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NORMLAB_")}
    return {**kept, "NORMLAB_DATA": str(data), "OMP_NUM_THREADS": "1"}


class Lab:
    """One data folder with at most one server on it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.data = self.folder / "data"
        self.server = None
        self.log = open(self.folder / "serve.log", "ab")

    # Programs

    def run(self, *arguments, program="normlab"):
        """Runs a verb to its end; gives the finished process with its output as text."""
        return subprocess.run([BIN / program, *map(str, arguments)], env=environment(self.data),
                              cwd=self.folder, capture_output=True, text=True, errors="replace",
                              check=False, stdin=subprocess.DEVNULL, timeout=600)

    def normlab(self, *arguments):
        """As run, for a verb that must succeed; gives its standard output."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"normlab {arguments}: {done.returncode}\n{done.stderr}"
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.normlab(*arguments, "--json"))

    def start(self, *options, local_workers=1):
        """Starts a server and returns when it says that it listens."""
        ports = [] if self.data.exists() or "--listen" in options else [
            "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        self.server = subprocess.Popen(
            [BIN / "normlab", "serve", *ports, "--local-workers", str(local_workers), *options],
            env=environment(self.data), cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self.log)
        ready, _, _ = select.select([self.server.stdout], [], [], PATIENCE_S)
        assert ready and self.server.stdout.readline(), f"no server: {self.log_text()}"

    def stop(self, how=signal.SIGTERM):
        """Ends the server; gives its exit code, negative when a signal ended it."""
        server, self.server = self.server, None
        if server is None:
            return None
        server.send_signal(how)
        return server.wait(PATIENCE_S)

    @contextlib.contextmanager
    def worker(self, folder="elsewhere"):
        """A worker with a disk of its own, as on another machine; killed at the end if it lives."""
        process = subprocess.Popen(
            [BIN / "normlab", "worker", "--connect", self.data / "connect.json",
             "--data", self.folder / folder],
            env=environment(self.data), cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)

    def log_text(self):
        return (self.folder / "serve.log").read_text()

    # What people do

    def prepare_data(self, name="tiny", size=60_000):
        """A data set of words in random order: some structure, so that a loss falls."""
        words = "norm layer depth step angle sphere loss seed".split()
        source = random.Random(1)
        text = " ".join(source.choice(words) for _ in range(size // 6))
        (self.folder / "text.txt").write_text(text)
        self.normlab("data", "prepare", name, self.folder / "text.txt")

    def write_sweep(self, name, body):
        path = self.folder / f"{name}.yaml"
        path.write_text(f"name: {name}\n{body}")
        return path

    def submit(self, name, body, *options):
        """Submits a sweep; gives the document that normlab answers with."""
        return self.json("submit", self.write_sweep(name, body), *options)

    def runs(self, sweep="last"):
        return self.json("runs", sweep)["runs"]

    def until(self, condition, what):
        """Asks again and again until condition() holds; every question is a process of its own."""
        end = time.monotonic() + PATIENCE_S
        while not (answer := condition()):
            assert time.monotonic() < end, f"waited in vain for: {what}\n{self.log_text()[-3000:]}"
        return answer

    def first_run_past(self, step, sweep="last"):
        """Waits until a run is under way and past a step; gives it."""
        def find():
            return next((run for run in self.runs(sweep)
                         if run["state"] == "running" and (run["step"] or 0) > step), None)
        return self.until(find, f"a run past step {step}")

    def steps(self, run, key="train_loss"):
        """The steps of a run's curve, in stored order."""
        rows = self.json("query", f"SELECT step FROM scalar('{run}', '{key}')")["rows"]
        return [row[0] for row in rows]


def children(pid, name):
    """The pids of living descendants of a process whose program has this name."""
    listing = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True,
                             check=True).stdout
    rows = [line.split(None, 2) for line in listing.splitlines()]
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        for child, of, comm in rows:
            if int(of) == parent:
                todo.append(int(child))
                if comm.startswith(name[:15]):
                    found.append(int(child))
    return found


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
