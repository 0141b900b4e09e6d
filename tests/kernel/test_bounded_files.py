"""File operations by a process of their own do what plain ones do, and end in time."""

import errno
import os
import signal
import time
from pathlib import Path

import pytest

from tasks.kernel import bounded_files
from tasks.kernel.bounded_files import BoundedFiles


def test_a_file_is_written_with_its_folder_seen_and_removed(tmp_path: Path) -> None:
    one, other = tmp_path / "a folder" / 'ünï\n"x".bin', tmp_path / "b"
    with BoundedFiles(10) as files:
        files.write(one, bytes(300_000))
        files.write_whole(other, b"abc")
        assert files.sizes([one, other, tmp_path / "none", tmp_path]) == [300_000, 3, None, None]
        files.unlink(other)
        files.look(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["a folder"]
        files.remove_tree(one.parent, tmp_path)
        files.remove_tree(one.parent, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_no_text_are_taken_as_they_are(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\xfe")
    (tmp_path / name).write_bytes(b"abcd")
    with BoundedFiles(10) as files:
        assert files.sizes([tmp_path / name]) == [4]


def test_more_files_than_one_call_looks_at_are_all_seen_in_their_order(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(450)]
    for number, path in enumerate(paths):
        path.write_bytes(bytes(number))
    with BoundedFiles(10) as files:
        assert files.sizes(paths) == list(range(450))


def test_an_error_of_the_file_system_is_the_one_that_a_plain_call_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with BoundedFiles(10) as files:
        with pytest.raises(FileNotFoundError, match="none"):
            files.unlink(tmp_path / "none")
        with pytest.raises(NotADirectoryError):
            files.look(tmp_path / "file")


def test_a_link_is_not_followed_out_of_a_folder_that_is_removed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_bytes(b"abc")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to(outside)
    (tmp_path / "alias").symlink_to(outside)
    with BoundedFiles(10) as files:
        files.remove_tree(tmp_path / "inside", tmp_path)
        with pytest.raises(OSError, match="symbolic link"):
            files.remove_tree(tmp_path / "alias", tmp_path)
    assert (outside / "kept").read_bytes() == b"abc"


def test_a_link_on_the_way_to_a_folder_that_is_removed_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside" / "run").mkdir(parents=True)
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "runs").symlink_to(tmp_path / "outside")
    (tmp_path / "link to root").symlink_to(tmp_path / "root")
    with BoundedFiles(10) as files, pytest.raises(OSError, match="a link leads out of"):
        files.remove_tree(tmp_path / "root" / "runs" / "run", tmp_path / "root")
    assert (tmp_path / "outside" / "run").is_dir()
    (tmp_path / "root" / "a" / "b").mkdir(parents=True)
    with BoundedFiles(10) as files:
        files.remove_tree(tmp_path / "link to root" / "a" / "b", tmp_path / "link to root")
    assert list((tmp_path / "root" / "a").iterdir()) == [], (
        "how the root itself is reached is the user's choice"
    )


def test_a_call_that_does_not_end_is_a_time_out_and_the_next_one_is_answered(tmp_path: Path) -> None:
    with BoundedFiles(0.3) as files:
        files.look(tmp_path)
        assert files._process is not None
        first = files._process.pid
        os.kill(first, signal.SIGSTOP)
        began_s = time.monotonic()
        with pytest.raises(TimeoutError, match=r"no answer within 0.3 s") as raised:
            files.look(tmp_path)
        assert time.monotonic() - began_s < 3
        assert raised.value.errno == errno.ETIMEDOUT
        assert raised.value.filename == str(tmp_path)
    with BoundedFiles(10) as files:
        files.look(tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_a_payload_that_nobody_takes_is_a_time_out(tmp_path: Path) -> None:
    with BoundedFiles(0.5) as files:
        files.look(tmp_path)
        assert files._process is not None
        os.kill(files._process.pid, signal.SIGSTOP)
        with pytest.raises(TimeoutError):
            files.write(tmp_path / "large", bytes(10_000_000))
    assert not (tmp_path / "large").exists()


def test_a_process_that_dies_is_told_and_replaced(tmp_path: Path) -> None:
    with BoundedFiles(10) as files:
        files.look(tmp_path)
        assert files._process is not None
        os.kill(files._process.pid, signal.SIGKILL)
        with pytest.raises(OSError, match="the process that asked has died"):
            files.look(tmp_path)
        files.look(tmp_path)


def test_nothing_is_left_running(tmp_path: Path) -> None:
    with BoundedFiles(10) as files:
        files.look(tmp_path)
        process = files._process
    assert process is not None
    assert process.returncode == -signal.SIGKILL
    assert bounded_files.end_or_leave(process, 0.1)
