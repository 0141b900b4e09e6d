"""What is installed is what was locked: by version and hash, everywhere."""

import re
import tomllib
from pathlib import Path

import pytest

from configs.errors import UserError
from deployments.locked import FOLDER, LOCKS, locked_packages

ROOT = FOLDER.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HASH = "0" * 64


def names(requirements: list[str]) -> set[str]:
    found = {re.split(r"[^A-Za-z0-9._-]", one, maxsplit=1)[0] for one in requirements}
    return {re.sub(r"[._]", "-", one).lower() for one in found}


def locked_names(lock: str) -> set[str]:
    return {one.name for one in locked_packages(FOLDER / f"{lock}.txt")}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_of_a_lock_is_a_version_with_hashes_and_names_no_host(lock: str) -> None:
    path = FOLDER / f"{lock}.txt"
    packages = locked_packages(path)  # refuses everything else
    assert len(packages) == path.read_text(encoding="utf-8").count("==") - sum(
        one.marker.count("==") for one in packages
    )
    assert {one.name for one in packages} >= {"boto3", "pydantic"}
    assert "://" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "line",
    [
        "a==1.0",
        f"a>=1.0 --hash=sha256:{HASH}",
        f"a @ https://example.com/a.whl --hash=sha256:{HASH}",
        "a==1.0 --hash=md5:00000000000000000000000000000000",
        "--extra-index-url https://example.com/simple",
    ],
)
def test_a_line_that_locks_less_is_refused_with_its_file(tmp_path: Path, line: str) -> None:
    path = tmp_path / "some.txt"
    path.write_text(f"b==2 \\\n    --hash=sha256:{HASH}\n{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"some\.txt: .* is not a package with its version and sha256 hashes"):
        locked_packages(path)


def test_locks_have_all_that_the_project_names() -> None:
    groups = PROJECT["dependency-groups"]
    runtime = names(PROJECT["project"]["dependencies"]) | names(groups["build"])
    assert names(PROJECT["build-system"]["requires"]) == names(groups["build"])
    assert runtime <= locked_names("runtime")
    assert names(groups["dev"]) <= locked_names("dev")
    assert names(groups["lambda"]) <= locked_names("lambda")


def test_a_smaller_lock_has_the_versions_of_the_larger_one() -> None:
    functions, runtime, dev = (
        set(locked_packages(FOLDER / f"{lock}.txt")) for lock in ("lambda", "runtime", "dev")
    )
    assert functions < runtime < dev


def test_pip_installs_nothing_without_hashes_but_this_project_itself() -> None:
    folders = ("Makefile", ".ci/*", "deployments/**/*", "flows/*.py", "tasks/**/*.py", "configs/**/*.py")
    files = [path for pattern in folders for path in ROOT.glob(pattern) if path.is_file()]
    texts = {path: path.read_text(encoding="utf-8") for path in files if path.suffix != ".pyc"}
    calls = [
        (path.name, line.strip())
        for path, text in texts.items()
        for line in text.splitlines()
        if re.search(r"-m\W+pip\W+install|^\W*pip3? install|uv pip install|uv run|pipx|easy_install", line)
    ]
    options = "--quiet --disable-pip-version-check"
    assert [line for name, line in calls if name == "Makefile"] == [
        f"$(BIN)/python -m pip install {options} --require-hashes -r requirements/$(1).txt",
        f"$(BIN)/python -m pip install {options} --no-deps --no-build-isolation --editable .",
    ]
    # The other one has its options in lists (tests/deployments/test_lambda_package.py runs it).
    assert {name for name, _ in calls} == {"Makefile", "lambda_package.py"}
    assert '"--require-hashes"' in texts[ROOT / "deployments" / "lambda_package.py"]
    assert "make setup" in texts[ROOT / "deployments" / "cloudformation" / "runner.yaml"]
