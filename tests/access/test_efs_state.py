"""What efs-utils recorded is what an S3 Files mount is believed to be; the kernel shows nfs4 alone."""

import json
import os
from pathlib import Path

import pytest

from configs.access_paths import MountIo
from configs.targets import MountTarget
from tasks.access.efs_state import prove_s3_files
from tasks.access.mount_io import MountIoPath
from tasks.kernel.errors import LabelError
from tasks.lab.state import LabState

FILE_SYSTEM = "fs-0123456789abcdef0"
PORT = 20301
OPTIONS = f"rw,noatime,vers=4.2,rsize=1048576,hard,noresvport,proto=tcp,port={PORT},timeo=600,addr=127.0.0.1"


def record(folder: Path, mountpoint: Path, file_system_id: str = FILE_SYSTEM, **changes: object) -> None:
    """Write what the mount helper of efs-utils 3.2.0 leaves behind (its write_tunnel_state_file)."""
    name = f"{file_system_id}.{str(mountpoint).replace(os.sep, '.').lstrip('.')}.{changes.pop('port', PORT)}"
    config = folder / f"stunnel-config.{name}"
    config.write_text(
        f"fips = no\npid = {folder}/{name}+/stunnel.pid\n[efs]\naccept = 127.0.0.1:{PORT}\n"
        f"fs_id = {file_system_id}\nregion = us-east-1\nefs_utils_version = 3.2.0"
    )
    state = {
        "pid": 4242,
        "cmd": ["/usr/bin/efs-proxy", str(config), "--tls"],
        "files": [str(config)],
        "mount_time": 1767225600.5,
        "mountpoint": str(mountpoint),
        "service_type": "s3files",
        "accessPoint": "fsap-0123456789abcdef0",
        "fsId": file_system_id,
        "region": "us-east-1",
        "mountStateDir": f"{name}+",
    }
    (folder / f"{name}+").mkdir()
    (folder / name).write_text(json.dumps(state | changes))


def test_the_record_proves_the_file_system_and_tells_how_it_is_reached(tmp_path: Path) -> None:
    record(tmp_path, Path("/mnt/s3files"))
    assert prove_s3_files(Path("/mnt/s3files"), OPTIONS, FILE_SYSTEM, tmp_path) == {
        "file_system_id": FILE_SYSTEM,
        "access_point": "fsap-0123456789abcdef0",
        "efs_utils": "3.2.0",
        "direct_s3_reads": "on",
    }


def test_a_mount_without_direct_reads_says_so(tmp_path: Path) -> None:
    record(tmp_path, Path("/mnt/s3files"), cmd=["/usr/bin/efs-proxy", "c", "--tls", "--no-direct-s3-read"])
    proof = prove_s3_files(Path("/mnt/s3files"), OPTIONS, FILE_SYSTEM, tmp_path)
    assert proof["direct_s3_reads"] == "off"


def test_another_file_system_at_the_path_fails_with_both_names(tmp_path: Path) -> None:
    record(tmp_path, Path("/mnt/s3files"), "fs-0fedcba9876543210")
    with pytest.raises(LabelError, match=r"is file system fs-0fedcba9876543210 of s3files.*says fs-01234567"):
        prove_s3_files(Path("/mnt/s3files"), OPTIONS, FILE_SYSTEM, tmp_path)


def test_efs_is_not_taken_for_s3_files(tmp_path: Path) -> None:
    record(tmp_path, Path("/mnt/s3files"), service_type="elasticfilesystem")
    with pytest.raises(LabelError, match="of elasticfilesystem"):
        prove_s3_files(Path("/mnt/s3files"), OPTIONS, FILE_SYSTEM, tmp_path)


@pytest.mark.parametrize(
    ("mountpoint", "options"),
    [
        ("/mnt/elsewhere", OPTIONS),
        ("/mnt/s3files", OPTIONS.replace(str(PORT), "20999")),  # the record is of an earlier mount
        ("/mnt/s3files", "rw,relatime,vers=4.2,addr=10.0.0.5"),  # an NFS server of one's own
    ],
)
def test_a_record_of_something_else_proves_nothing(tmp_path: Path, mountpoint: str, options: str) -> None:
    record(tmp_path, Path(mountpoint))
    with pytest.raises(LabelError, match=r"has no record.*mount -t s3files fs-0123456789abcdef0:/"):
        prove_s3_files(Path("/mnt/s3files"), options, FILE_SYSTEM, tmp_path)


def test_a_mount_under_way_or_a_torn_file_is_no_record(tmp_path: Path) -> None:
    record(tmp_path, Path("/mnt/s3files"))
    (file,) = tmp_path.glob(f"{FILE_SYSTEM}.*.{PORT}")
    file.rename(tmp_path / f"~{file.name}")
    (tmp_path / f"{FILE_SYSTEM}.mnt.s3files.{PORT}").write_text('{"pid": 42')
    with pytest.raises(LabelError, match="has no record"):
        prove_s3_files(Path("/mnt/s3files"), OPTIONS, FILE_SYSTEM, tmp_path)


def test_where_efs_utils_is_not_installed_there_is_no_record(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="has no record"):
        prove_s3_files(Path("/mnt/s3files"), OPTIONS, FILE_SYSTEM, tmp_path / "absent")


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_records_that_may_not_be_read_are_told(tmp_path: Path) -> None:
    record(tmp_path, Path("/mnt/s3files"))
    tmp_path.chmod(0)
    try:
        with pytest.raises(LabelError, match="may not be read: run as root"):
            prove_s3_files(Path("/mnt/s3files"), OPTIONS, FILE_SYSTEM, tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_another_mount_is_not_taken_for_s3_files(lab: LabState, tmp_path: Path) -> None:
    if lab.mount_path is None:
        pytest.skip(lab.mount_problem)
    record(tmp_path, lab.mount_path)
    target = MountTarget(shows="b", path=lab.mount_path, file_system_id=FILE_SYSTEM)
    with pytest.raises(LabelError, match="has no record"):  # rclone's mount has no port at 127.0.0.1
        MountIoPath(MountIo(), target, tmp_path).connect(1)
