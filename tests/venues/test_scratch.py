"""The scratch folder holds what is moved for as long as a block runs, and nobody else's files are touched."""

import stat
from pathlib import Path

import pytest

from configs.errors import UserError
from tasks.venues.scratch import (
    folder_of_block,
    remove_left_overs,
    remove_run,
    scratch_folder,
    trees_folder,
)

RUN_ID = "20260101T020000Z-00000000"


def test_a_block_has_a_folder_of_its_own_that_is_gone_afterwards_whatever_happened(tmp_path: Path) -> None:
    scratch = scratch_folder(tmp_path / "s")
    folders = []

    def interrupted() -> None:
        with folder_of_block(scratch, RUN_ID, "c/w/000") as folder:
            (folder / "deep").mkdir()
            (folder / "deep" / "file").write_bytes(b"x")
            folders.append(folder)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not folders[0].exists()


def test_what_a_killed_run_left_is_removed_and_trees_stay(tmp_path: Path) -> None:
    scratch = scratch_folder(tmp_path / "s")
    left = scratch / "runs" / RUN_ID / "c" / "file"
    tree = trees_folder(scratch) / "abc" / "file"
    for file in (left, tree):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x")
    remove_left_overs(scratch)
    assert (left.exists(), tree.exists()) == (False, True)


def test_what_others_keep_in_the_folder_is_never_touched(tmp_path: Path) -> None:
    theirs = [tmp_path / "s" / "runs" / "my-experiment", tmp_path / "s" / "runs" / RUN_ID]
    scratch = scratch_folder(tmp_path / "s")
    kept = [*theirs, scratch / "runs" / "my-experiment"]
    for folder in kept:
        folder.mkdir(parents=True)
        (folder / "precious").write_bytes(b"x")
    remove_left_overs(scratch)
    remove_run(scratch, RUN_ID)
    assert all((folder / "precious").exists() for folder in kept)


def test_a_link_among_the_left_overs_is_not_followed(tmp_path: Path) -> None:
    scratch = scratch_folder(tmp_path / "s")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_bytes(b"x")
    (scratch / "runs" / RUN_ID).symlink_to(outside)
    remove_left_overs(scratch)
    assert (outside / "kept").exists()


def test_nobody_else_can_look_into_it(tmp_path: Path) -> None:
    scratch = scratch_folder(tmp_path / "s")
    assert stat.S_IMODE(scratch.stat().st_mode) == 0o700


def test_a_place_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(
        UserError, match=r"file/s: files that are moved cannot lie there .*: write scratch: F"
    ):
        scratch_folder(tmp_path / "file" / "s")
