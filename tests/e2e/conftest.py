"""The labs that the tests share."""

import lab as labs
import pytest


@pytest.fixture
def bare_lab(tmp_path):
    """A data folder with a data set and no server."""
    bare = labs.Lab(tmp_path)
    yield bare
    bare.stop()


@pytest.fixture
def lab(bare_lab):
    """A server with one local worker, and a data set."""
    bare_lab.start()
    bare_lab.prepare_data()
    return bare_lab


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A server whose sweep `tiny` of two arms and two seeds has been trained; for reading only."""
    shared = labs.Lab(tmp_path_factory.mktemp("done"))
    shared.start()
    shared.prepare_data()
    body = labs.TINY + "factors: {norm.placement: [pre, geo]}\nreplicates: {seed: [1, 2]}\n"
    shared.submission = shared.submit("tiny", body, "--wait")
    yield shared
    shared.stop()
