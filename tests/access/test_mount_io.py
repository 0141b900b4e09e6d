"""What a mount tells of itself, and what Mountpoint for Amazon S3 refuses is told with its reason."""

import errno
from pathlib import Path

import pytest

from configs.access_paths import MountIo
from configs.base import Size
from configs.block import BlockSpec
from configs.errors import UserError
from configs.run_record import RunIdentity
from configs.suite import Cell, Configuration
from configs.targets import MountTarget
from configs.workloads import BlobWrite
from tasks.access import mount_io
from tasks.access.mount_io import Mounted, MountIoPath
from tasks.access.protocol import Upload
from tasks.kernel.errors import LabelError
from tasks.lab.state import LabState
from tasks.venues.block import run_block


def connected(lab: LabState, config: MountIo) -> MountIoPath:
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    access = MountIoPath(config, MountTarget(shows="b", path=lab.mount_path, fstype="fuse.rclone"))
    access.connect(1)
    return access


@pytest.mark.parametrize(
    ("config", "told"), [(MountIo(), "the whole file"), (MountIo(read_size=Size(4096)), "4096 bytes")]
)
def test_the_proof_names_the_mount_and_the_read_size(lab: LabState, config: MountIo, told: str) -> None:
    proof = connected(lab, config).proof()
    assert (proof["mount_type"], proof["read_size"]) == ("fuse.rclone", told)
    assert "fuse" in proof["mount_options"] or "user_id=" in proof["mount_options"]


def test_a_file_is_whole_whatever_the_read_size(lab: LabState) -> None:
    access, payload = connected(lab, MountIo(read_size=Size(4096))), bytes(range(256)) * 40
    prefix = "s3bench/mount-io/"
    access.ready_for_writes(prefix)
    access.write(Upload(f"{prefix}k", payload))
    assert access.read(f"{prefix}k") == (payload, None)
    access.delete([f"{prefix}k"])
    access.close()


@pytest.fixture
def mountpoint(tmp_path: Path) -> MountIoPath:
    """As on a mount of Mountpoint for Amazon S3 without flags, as its kernel entry shows it."""
    access = MountIoPath(MountIo(), MountTarget(shows="b", path=tmp_path))
    access._mounted = Mounted("fuse", "mountpoint-s3", "rw,nosuid,nodev,noatime,user_id=0,group_id=0")
    return access


def test_what_mountpoint_does_not_delete_is_told_with_the_flag(
    mountpoint: MountIoPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(UserError, match=r"what was written stays there: .*--allow-overwrite and --allow-del"):
        mountpoint.delete(["k"])


def test_what_mountpoint_does_not_overwrite_is_a_failure_that_says_why(mountpoint: MountIoPath) -> None:
    failure = mountpoint.failure(PermissionError(errno.EPERM, "Operation not permitted"))
    assert failure.error == "EPERM"
    assert "--allow-overwrite" in failure.message


def test_other_refusals_are_left_as_they_are(mountpoint: MountIoPath) -> None:
    assert "Mountpoint" not in mountpoint.failure(PermissionError(errno.EACCES, "Permission denied")).message
    mountpoint._mounted = Mounted("nfs4", "127.0.0.1:/", "rw")
    assert "Mountpoint" not in mountpoint.failure(PermissionError(errno.EPERM, "no")).message


@pytest.mark.parametrize(
    ("source", "who_has_the_data"),
    [
        ("mountpoint-s3", "the bucket has the data when fsync returns"),
        ("127.0.0.1:/", "fsync returns when the mount has the data, the bucket may get it later"),
    ],
)
def test_a_block_of_writes_tells_who_has_the_data_by_what_is_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, who_has_the_data: str
) -> None:
    monkeypatch.setattr(mount_io, "mounted_at", lambda _: Mounted("fuse", source, "rw"))
    target = MountTarget(shows="b", path=tmp_path)
    spec = BlockSpec(
        run=RunIdentity(run_id="20260101T020000Z-00000000", dt="2026-01-01"),
        cell=Cell(
            config_id="c",
            workload_id="w",
            configuration=Configuration(access_path=MountIo(), target="t"),
            workload=BlobWrite(size=64),
            target=target,
        ),
        block=0,
        iterations=2,
        warmup=0,
        seed=1,
        write_prefix="p/",
    )
    outcome = run_block(spec)
    assert (outcome.status, outcome.reason) == ("measured", "")
    assert outcome.cache_state == f"a new file each time; {who_has_the_data}"


def test_a_link_that_leads_out_of_the_mount_is_written_to_by_nobody(
    mountpoint: MountIoPath, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (tmp_path / "s3bench").mkdir()
    (tmp_path / "s3bench" / "runs").symlink_to(outside)
    with pytest.raises(LabelError, match=r"a link leads from .*: remove it, or give another prefix"):
        mountpoint.ready_for_writes("s3bench/runs/20260101T020000Z-00000000/c/w/000/")
    assert list(outside.iterdir()) == []
