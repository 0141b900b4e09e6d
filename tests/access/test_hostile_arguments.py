"""Programs and mounts take odd names for names: nothing is an option, a pattern, or another folder."""

import random
import typing
from collections.abc import Callable
from pathlib import Path

import pytest

from configs.access_paths import AwsCli, S5cmd
from configs.base import PREFIX_PATTERN, is_prefix
from configs.targets import BucketTarget
from tasks.access.programs import find_program, why_not_found
from tasks.access.protocol import AccessPath, TreePath, TreeTransfer
from tasks.access.registry import access_path
from tasks.lab.local_lab import running_lab
from tasks.lab.mounting import is_mounted
from tasks.lab.rclone import mount_obstacle
from tasks.lab.state import LabState

ODD = "-rf/--endpoint-url=x/!_.()=+@,:-"
TREE = {"-rf": b"1", "--recursive/*": b"22", "a?[b]{c}": b"333", "~/$HOME": b"4444"}


@pytest.mark.parametrize("config", [S5cmd(), pytest.param(AwsCli(), marks=pytest.mark.slow)], ids=str)
def test_an_odd_prefix_is_that_prefix_and_no_other(
    config: S5cmd | AwsCli,
    lab: LabState,
    enter_lab: Callable[[bool], None],
    connect: Callable[[AccessPath], None],
    tmp_path: Path,
) -> None:
    enter_lab(False)
    prefix = f"{ODD}/{config.kind}"
    assert is_prefix(prefix)
    target = BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region, prefix=prefix)
    path = typing.cast("TreePath", access_path(config, target))
    connect(path)
    for name, content in TREE.items():
        (tmp_path / "-tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "-tree" / name).write_bytes(content)
    path.upload_tree(TreeTransfer(f"{prefix}/-x/", tmp_path / "-tree"))
    path.upload_tree(TreeTransfer(f"{prefix}/-xy/", tmp_path / "-tree"))
    path.download_tree(TreeTransfer(f"{prefix}/-x/", tmp_path / "-back"))
    came = {str(file.relative_to(tmp_path / "-back")): file for file in (tmp_path / "-back").rglob("*")}
    assert {name: file.read_bytes() for name, file in came.items() if file.is_file()} == TREE
    path.delete(path.list_keys(f"{prefix}/"))
    path.close()


def test_no_prefix_holds_what_a_program_reads_as_a_pattern() -> None:
    drawn = random.Random(1)
    signs = "*?[]{}\\'\"$`;&|<>#% \n\0\x1b\u202e~^"
    for sign in signs:
        text = f"a{sign}b/{drawn.randrange(10)}"
        assert not is_prefix(text), text
        assert sign not in PREFIX_PATTERN.replace("\\", "").partition("[")[2].partition("]")[0]


@pytest.mark.parametrize(
    "name", ["-rf", "--help", "~nobody-here/x", "~nobody-here", "/", "a b", "$(true)", "x" * 5000]
)
def test_a_program_of_an_odd_name_is_not_found(name: str) -> None:
    assert find_program(name) is None
    assert why_not_found(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["-rf", "a:b", "it's a $(touch x) %41 [1]*", "é=1,2"])
def test_a_lab_in_a_folder_with_an_odd_name_is_up_and_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with running_lab(Path(name)) as state:
        assert state.endpoint_url.startswith("http://127.0.0.1:")
        if not mount_obstacle():
            assert state.mount_path is not None
            assert state.mount_path.is_relative_to(tmp_path / name)
            (state.mount_path / "-file").write_bytes(b"x")
            assert [file.name for file in state.mount_path.iterdir()] == ["-file"]
            assert is_mounted(state.mount_path)
    assert state.mount_path is None or not is_mounted(state.mount_path)
    assert [file.name for file in tmp_path.iterdir()] == [name]
