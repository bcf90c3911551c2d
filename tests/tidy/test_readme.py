"""README.md names only what exists. Its commands are run by tests/e2e/test_readme.py."""

import pathlib
import re

import sources

README = pathlib.PurePath("README.md")
FOLDERS = {path.parts[0] for path in sources.all_files() if len(path.parts) > 1}


def named_paths():
    """Everything in the text that looks like a path of the project."""
    links = re.findall(r"\]\(([^)#:]+)\)", sources.text(README))
    words = re.findall(r"[\w.]+(?:/[\w.]+)*/?", sources.text(README))
    return {*links, *(word for word in words if "/" in word and word.split("/")[0] in FOLDERS)}


def test_every_path_in_the_readme_exists():
    assert len(named_paths()) >= 10
    missing = [name for name in sorted(named_paths()) if not (sources.ROOT / name).exists()
               and not name.startswith("build/")]
    assert not missing, f"README.md names what is not there: {missing}"


def test_every_folder_of_the_product_is_in_the_readme():
    folders = {"core", "proto", "kernels", "model", "worker", "server", "cli", "web", "tests"}
    unnamed = [folder for folder in sorted(folders) if f"{folder}/" not in sources.text(README)]
    assert not unnamed, f"README.md does not say what these are for: {unnamed}"
