"""Keys of odd characters and of the longest length, by every access path."""

import typing
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from configs.access_paths import AccessPathConfig, AwsCli, Boto3Api, MountIo, Obstore, S5cmd, TransferManager
from configs.targets import BucketTarget, MountTarget
from tasks.access.protocol import AccessPath, FilePath, FileTransfer, ObjectPath, Upload
from tasks.access.registry import access_path
from tasks.lab.state import LabState

NAMES = (
    "a b  c",
    " begins and ends ",
    "100%41%2F%zz",
    "a+b&c=d;e",
    'it\'s "quoted" <b>',
    unicodedata.normalize("NFC", "é漢😀"),
    unicodedata.normalize("NFD", "é"),
    "#hash!$(x)`y`|z~",
    "-rf",
    "deep/er/.hidden",
)
LONGEST_KEY = 1024


def prefix_of(config: AccessPathConfig) -> str:
    return f"s3bench/odd-keys-{config.kind}/"


def keys_below(prefix: str) -> list[str]:
    """One of them is as long as S3 lets a key be, of names as long as a file system lets them be."""
    parts = "/".join(["n" * 250] * 4)
    return [*(prefix + name for name in NAMES), (prefix + parts)[:LONGEST_KEY].ljust(LONGEST_KEY, "n")]


@pytest.fixture
def connected(
    lab: LabState, enter_lab: Callable[[bool], None], connect: Callable[[AccessPath], None]
) -> Callable[[AccessPathConfig], AccessPath]:
    def connected(config: AccessPathConfig) -> AccessPath:
        enter_lab(False)
        if isinstance(config, MountIo) and lab.mount_path is None:
            pytest.skip(lab.mount_problem)
        target = (
            MountTarget(shows="bucket", path=lab.mount_path)
            if isinstance(config, MountIo)
            else BucketTarget(bucket=lab.bucket, endpoint_url=lab.endpoint_url, region=lab.region)
        )
        path = access_path(config, target)
        connect(path)
        return path

    return connected


@pytest.mark.parametrize("config", [Boto3Api(), Obstore(), MountIo()], ids=lambda config: config.kind)
def test_objects_of_odd_keys_are_written_listed_read_and_deleted(
    config: AccessPathConfig, connected: Callable[[AccessPathConfig], AccessPath]
) -> None:
    path = typing.cast("ObjectPath", connected(config))
    keys = keys_below(prefix_of(config))
    for key in keys:
        path.ready_for_writes(f"{key.rpartition('/')[0]}/")
        path.write(Upload(key, key.encode()))
    assert sorted(path.list_keys(prefix_of(config))) == sorted(keys)
    assert path.sizes_below(prefix_of(config)) == {key: len(key.encode()) for key in keys}
    assert {key: bytes(path.read(key)[0]) for key in keys} == {key: key.encode() for key in keys}
    path.delete(keys)
    assert path.list_keys(prefix_of(config)) == []
    path.close()


@pytest.mark.parametrize(
    "config",
    [TransferManager(), *(pytest.param(one, marks=pytest.mark.slow) for one in (S5cmd(), AwsCli()))],
    ids=lambda config: config.kind,
)
def test_files_of_odd_keys_go_and_come_back(
    config: AccessPathConfig, connected: Callable[[AccessPathConfig], AccessPath], tmp_path: Path
) -> None:
    path = typing.cast("FilePath", connected(config))
    keys = keys_below(prefix_of(config))
    for place, key in enumerate(keys):
        (tmp_path / f"{place}.there").write_text(key, encoding="utf-8")
        path.ready()
        path.upload(FileTransfer(key, tmp_path / f"{place}.there"))
    assert sorted(path.list_keys(prefix_of(config))) == sorted(keys)
    for place, key in enumerate(keys):
        path.ready()
        path.download(FileTransfer(key, tmp_path / f"{place}.back"))
        assert (tmp_path / f"{place}.back").read_text(encoding="utf-8") == key
    path.delete(keys)
    assert path.list_keys(prefix_of(config)) == []
    path.close()


@pytest.mark.parametrize(("characters", "error"), [(256, "EIO"), (1025, "ENAMETOOLONG")])
def test_a_name_that_a_mount_cannot_have_is_an_error_of_its_operation(
    connected: Callable[[AccessPathConfig], AccessPath], characters: int, error: str
) -> None:
    """The lab keeps objects as files, whose names end at 255 bytes; Linux ends names at 1,024."""
    path = typing.cast("ObjectPath", connected(MountIo()))
    with pytest.raises(OSError, match="n" * characters) as raised:
        path.write(Upload("n" * characters, b"x"))
    assert path.failure(raised.value).error == error
    path.close()
