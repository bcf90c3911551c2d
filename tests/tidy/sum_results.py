"""Adds up the JUnit files of all test runners and prints one line: N passed, N failed.

Exits with 1 when a test failed, was skipped, or when a runner ran none: a suite that silently ran
nothing must not look like one that passed.
"""

import pathlib
import sys
import xml.etree.ElementTree as ET


def outcome(case):
    """One of passed, failed, skipped, for a <testcase>."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def count(path):
    """The outcomes in one file, and the names of those that did not pass."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    bad = []
    for case in ET.parse(path).getroot().iter("testcase"):
        result = outcome(case)
        counts[result] += 1
        if result != "passed":
            bad.append(f"{result}: {case.get('classname', '')} {case.get('name')}")
    return counts, bad


def main(paths):
    total = {"passed": 0, "failed": 0, "skipped": 0}
    for path in map(pathlib.Path, paths):
        counts, bad = count(path)
        if sum(counts.values()) == 0:
            counts["failed"], bad = 1, ["failed: no test was run"]
        for result, number in counts.items():
            total[result] += number
        print(f"{path.stem}: {counts['passed']} of {sum(counts.values())} passed")
        for name in bad:
            print(f"  {name}")
    skipped = f", {total['skipped']} skipped" if total["skipped"] else ""
    print(f"{total['passed']} passed, {total['failed']} failed{skipped}")
    return 0 if total["passed"] > 0 and total["failed"] + total["skipped"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
