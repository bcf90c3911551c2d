"""Any process may be killed at any moment: nothing is lost, nothing is counted twice."""

import os
import signal

import lab as labs

STEPS = 4000
BODY = labs.LONG + "factors: {norm.placement: [pre, geo]}\n"


def assert_complete(lab, sweep="last"):
    """Every run of the sweep is done, with every step of its curve exactly once and in order."""
    for run in lab.runs(sweep):
        assert (run["state"], run["outcome"]) == ("done", "healthy"), run
        assert lab.steps(run["id"]) == list(range(1, STEPS + 1)), f"{run['id']} has a hole"


def test_a_worker_killed_in_the_middle_costs_no_result(bare_lab):
    bare_lab.start(local_workers=0)
    bare_lab.prepare_data()
    with bare_lab.worker() as worker:
        sweep = bare_lab.submit("killed", BODY)["sweep"]
        run = bare_lab.first_run_past(200)
        trainers = labs.children(worker.pid, "normlab-trainer")
        assert trainers
        worker.kill()
        worker.wait()
        bare_lab.until(lambda: not any(map(labs.alive, trainers)), "the orphaned trainer to end")
    # The same machine's next worker says by its new incarnation what it no longer has.
    with bare_lab.worker():
        bare_lab.normlab("watch", sweep)
    assert_complete(bare_lab)
    [again] = [other for other in bare_lab.runs() if other["id"] == run["id"]]
    assert again["attempt"] >= 2


def test_a_server_killed_in_the_middle_loses_and_repeats_nothing(lab):
    sweep = lab.submit("killed", BODY)["sweep"]
    run = lab.first_run_past(200)
    lab.stop(signal.SIGKILL)
    lab.start()
    lab.normlab("watch", sweep)
    assert_complete(lab)
    # The local worker lived on, so the run that it held is still its first attempt.
    [same] = [other for other in lab.runs() if other["id"] == run["id"]]
    assert same["attempt"] == 1
    attempts = lab.json("query", "SELECT count(*) FROM attempt_v")["rows"]
    assert attempts == [[len(lab.runs())]]


def test_a_trainer_killed_in_the_middle_is_tried_again(lab):
    sweep = lab.submit("killed", BODY)["sweep"]
    run = lab.first_run_past(200)
    [trainer, *_] = labs.children(lab.server.pid, "normlab-trainer")
    os.kill(trainer, signal.SIGKILL)
    lab.normlab("watch", sweep)
    assert_complete(lab)
    [again] = [other for other in lab.runs() if other["id"] == run["id"]]
    assert again["attempt"] == 2
    detail = lab.json("show", run["id"])
    first = (detail.get("run") or detail)["attempts"][0]
    assert first["signal"] == signal.SIGKILL


def test_a_server_asked_to_end_leaves_no_process_behind(lab):
    lab.submit("ended", BODY)
    lab.first_run_past(50)
    programs = labs.children(lab.server.pid, "normlab")
    assert len(programs) >= 2, "a worker and its trainer"
    assert lab.stop(signal.SIGTERM) == 0
    assert not any(map(labs.alive, programs))
    lab.start()
    lab.normlab("watch", "ended")
    assert_complete(lab, "ended")


def test_a_worker_that_outlived_its_server_ends_with_the_next_one(lab):
    lab.submit("adopted", BODY)
    lab.first_run_past(50)
    programs = labs.children(lab.server.pid, "normlab")
    lab.stop(signal.SIGKILL)
    assert all(map(labs.alive, programs)), "worker and trainer go on without a server"
    lab.start()
    step = lab.runs()[0]["step"]
    lab.until(lambda: lab.runs()[0]["step"] > step, "the trainer's next records")
    assert lab.stop(signal.SIGTERM) == 0
    assert not any(map(labs.alive, programs))
