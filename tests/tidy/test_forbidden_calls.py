"""Time, waiting and the like go through a seam, so that a test can hold them."""

import re

import pytest
import sources

# (pattern, files that may, what to use instead)
RULES = [
    (r"\b(system|steady|high_resolution)_clock\s*::\s*now|\babsl::Now\(|\bgettimeofday\(|"
     r"\bclock_gettime\(|\bstd::time\(|\btime\(nullptr\)",
     r"core/clock\.cc", "a Clock passed in (core/clock.h)"),
    (r"\bsleep_(for|until)\(|\bu?sleep\(|\bnanosleep\(|\bSleepFor\(", r"core/clock\.cc",
     "Clock::WaitUntil (core/clock.h); in a test, FakeClock or the condition itself"),
    (r"\bwait_(for|until)\(", r"core/(clock|mutex)\.(cc|h)", "Clock::WaitUntil (core/clock.h)"),
    (r"\bstd::(mutex|condition_variable)\b", r"core/mutex\.h|tests/fakes/fake_clock\.h",
     "Mutex and CondVar (core/mutex.h)"),
    (r"\babsl::Mutex\b", r"", "Mutex (core/mutex.h): Debian's Abseil is not instrumented for TSan"),
    (r"\bstd::random_device\b|\bs?rand\(", r"core/random\.cc", "a RandomSource (core/random.h)"),
    (r"\bv?fork\(|\bsystem\(|\bpopen\(", r"tests/worker/scripted_trainer\.cc",
     "Subprocess (core/subprocess.h)"),
    # Not every GPU has the memory of that one.
    (r"\bGTEST_SKIP\b|\bDISABLED_", r"tests/kernels/far_rows_test\.cc", "a test that runs"),
]


def hits(pattern, allowed):
    for path in sources.files(*sources.CPP):
        if allowed and re.fullmatch(allowed, str(path)):
            continue
        for number, line in enumerate(sources.code(path).splitlines(), 1):
            if re.search(pattern, line):
                yield f"{path}:{number}: {line.strip()}"


@pytest.mark.parametrize("pattern, allowed, instead", RULES, ids=[rule[2][:30] for rule in RULES])
def test_call_goes_through_its_seam(pattern, allowed, instead):
    found = list(hits(pattern, allowed))
    assert not found, f"\nuse {instead} instead of\n" + "\n".join(found)


def test_nothing_is_left_unfinished():
    unfinished = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|[Nn]ot (yet )?implemented")
    kinds = (*sources.CPP, ".py", ".ts", ".tsx", ".sh", ".cmake", ".proto", ".sql")
    found = [
        f"{path}:{number}: {line.strip()}"
        for path in sources.files(*kinds)
        if path.parts[:2] != ("tests", "tidy")
        for number, line in enumerate(sources.lines(path), 1)
        if unfinished.search(line)
    ]
    assert not found, "\n" + "\n".join(found)
