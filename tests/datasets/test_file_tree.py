"""The file tree of experiment E3: its mean is exact, its shape that of every scale, its bytes the seed's."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from configs.datasets import FileTree
from configs.errors import UserError
from configs.manifest import LocalTree, Manifest
from tasks.datasets.file_tree import local_tree, plan_tree, tree_sizes

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

E3_FILES = 12_086
E3_MEAN_BYTES = 354_541


def a_tree(**settings: object) -> FileTree:
    return FileTree.model_validate({"files": 10, "mean_size": 4_000, "seed": 5, **settings})


def bytes_below(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MB."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    folder = tmp_path / "disk"
    folder.mkdir()
    if mount is None or umount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small file system can be mounted: {mounted.stderr.decode()}")
    yield folder
    subprocess.run([umount, folder], check=True)


@pytest.mark.parametrize("scale", [1.0, 0.3, 0.02, 0.001])
def test_the_mean_is_exactly_that_of_the_experiment_at_every_scale(scale: float) -> None:
    config = FileTree(scale=scale)
    sizes = tree_sizes(config)
    assert len(sizes) == round(E3_FILES * scale)
    assert sum(sizes) == len(sizes) * E3_MEAN_BYTES
    assert min(sizes) > 0


@pytest.mark.parametrize(
    ("files", "mean_bytes"), [(1, 1), (1, 354_541), (2, 1000), (3, 7), (7, 1449), (50, 100_000)]
)
def test_the_mean_is_exact_for_trees_of_any_size(files: int, mean_bytes: int) -> None:
    sizes = tree_sizes(a_tree(files=files, mean_size=mean_bytes))
    assert (len(sizes), sum(sizes)) == (files, files * mean_bytes)
    assert min(sizes) > 0


def test_the_whole_tree_has_the_distribution_that_is_stated() -> None:
    sizes = np.sort(tree_sizes(FileTree()))
    small, large = sizes[sizes <= 1448], sizes[sizes > 1448]
    assert small.size == round(0.4 * E3_FILES)
    assert small.min() >= 600
    assert small.mean() == pytest.approx(1024, rel=0.001)  # evenly between 600 and 1,448
    assert np.median(large) == pytest.approx(290_000, rel=0.02)
    assert np.log(large).std() == pytest.approx(1.2, rel=0.01)
    assert large.max() == pytest.approx(28e6, rel=0.01)


def test_a_small_scale_has_the_shape_of_the_whole() -> None:
    whole, part = (np.sort(tree_sizes(FileTree(scale=scale))) for scale in (1.0, 0.02))
    for quantile in (0.1, 0.3, 0.5, 0.7, 0.9, 0.95):
        assert np.quantile(part, quantile) == pytest.approx(np.quantile(whole, quantile), rel=0.1)
    of_large = [sizes[sizes > np.quantile(sizes, 0.9)].sum() / sizes.sum() for sizes in (whole, part)]
    assert of_large[0] == pytest.approx(of_large[1], rel=0.05)  # the tail that half of the bytes are in


def test_which_file_has_which_size_is_the_seeds_choice() -> None:
    sizes = tree_sizes(a_tree(files=100, mean_size=10_000))
    assert sizes == tree_sizes(a_tree(files=100, mean_size=10_000))
    others = tree_sizes(a_tree(files=100, mean_size=10_000, seed=6))
    assert sizes != others
    assert sorted(sizes) == sorted(others)
    assert sizes != sorted(sizes)


def test_the_same_seed_gives_the_same_names_and_bytes(tmp_path: Path) -> None:
    first, again, other = (
        local_tree(a_tree(seed=seed), tmp_path / name) for name, seed in (("a", 5), ("b", 5), ("c", 6))
    )
    assert bytes_below(first.folder) == bytes_below(again.folder)
    assert first.objects == again.objects
    assert not set(bytes_below(first.folder).values()) & set(bytes_below(other.folder).values())


def test_the_names_and_bytes_of_a_seed_never_change(tmp_path: Path) -> None:
    """Pins the generator: other bytes for the same configuration need a new FINGERPRINT_VERSION."""
    first = local_tree(a_tree(), tmp_path).objects[0]
    assert (first.key, first.size_bytes) == ("logs/E1EXAMPLE.2023-12-01-00.575671dc.gz", 1130)
    assert first.sha256[:16] == "f94ba79a807bcf7a"


def test_the_manifest_says_what_lies_there(tmp_path: Path) -> None:
    tree = local_tree(a_tree(), tmp_path)
    found = bytes_below(tree.folder)
    assert {item.key: item.sha256 for item in tree.objects} == {
        name: hashlib.sha256(body).hexdigest() for name, body in found.items()
    }
    assert sum(item.size_bytes for item in tree.objects) == sum(map(len, found.values())) == 40_000
    assert len({item.key for item in tree.objects}) == 10


def test_every_file_of_the_whole_tree_has_a_name_of_its_own() -> None:
    names = [item.name for item in plan_tree(FileTree()).items]
    assert len(set(names)) == E3_FILES
    assert names == sorted(names)


def test_a_whole_tree_is_not_made_again(tmp_path: Path) -> None:
    made: list[tuple[int, int]] = []
    first = local_tree(a_tree(), tmp_path, progress=lambda done, total: made.append((done, total)))
    assert made == [(done, 10) for done in range(1, 11)]
    again = local_tree(a_tree(), tmp_path, progress=lambda done, total: made.append((done, total)))
    assert again == first
    assert len(made) == 10


def test_every_file_of_a_new_tree_is_on_the_disk_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: dict[int, int] = {}
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        status = os.fstat(descriptor)
        written[status.st_ino] = status.st_size
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    tree = local_tree(a_tree(), tmp_path)
    statuses = [(tree.folder / item.key).stat() for item in tree.objects]
    assert {status.st_ino: status.st_size for status in statuses} == written


def damage_lost(tree: LocalTree) -> None:
    (tree.folder / tree.objects[2].key).unlink()


def damage_short(tree: LocalTree) -> None:
    (tree.folder / tree.objects[2].key).write_bytes(b"")


def damage_too_many(tree: LocalTree) -> None:
    (tree.folder / "logs" / "left-over").write_bytes(b"x")


def damage_unfinished(tree: LocalTree) -> None:
    (tree.folder.parent / "tree.json").unlink()


def damage_half_a_manifest(tree: LocalTree) -> None:
    manifest = tree.folder.parent / "tree.json"
    manifest.write_bytes(manifest.read_bytes()[:-100])


def damage_moved(tree: LocalTree) -> None:
    manifest = tree.folder.parent / "tree.json"
    manifest.write_text(manifest.read_text().replace(str(tree.folder), "/elsewhere"))


@pytest.mark.parametrize(
    "damage",
    [
        damage_lost,
        damage_short,
        damage_too_many,
        damage_unfinished,
        damage_half_a_manifest,
        damage_moved,
    ],
)
def test_a_tree_that_is_not_whole_is_made_again(tmp_path: Path, damage: Callable[[LocalTree], None]) -> None:
    tree = local_tree(a_tree(), tmp_path)
    before = bytes_below(tree.folder)
    damage(tree)
    assert local_tree(a_tree(), tmp_path) == tree
    assert bytes_below(tree.folder) == before


def test_trees_of_other_settings_lie_beside_each_other(tmp_path: Path) -> None:
    trees = [local_tree(a_tree(seed=seed), tmp_path) for seed in (1, 2)]
    assert trees[0].folder != trees[1].folder
    assert all(len(bytes_below(tree.folder)) == 10 for tree in trees)


def test_a_full_disk_is_told_with_the_remedy_and_leaves_no_whole_tree(
    tmp_path: Path, small_disk: Path
) -> None:
    config = a_tree(files=40, mean_size=100_000)  # 4 MB on a disk of 2 MB
    with pytest.raises(UserError, match=r"No space left on device.*scratch: FOLDER.*disk with free space"):
        local_tree(config, small_disk)
    assert list(small_disk.rglob("tree.json")) == []
    assert len(bytes_below(local_tree(config, tmp_path).folder)) == 40


def test_a_tree_in_the_bucket_is_the_one_on_the_disk(
    prepare: Callable[..., Manifest], s3_client: "S3Client", bucket: str, tmp_path: Path
) -> None:
    manifest = prepare(a_tree())
    tree = local_tree(a_tree(), tmp_path)
    assert [
        (item.key.removeprefix(manifest.prefix), item.size_bytes, item.sha256) for item in manifest.objects
    ] == [(item.key, item.size_bytes, item.sha256) for item in tree.objects]
    for item in manifest.objects:
        body = s3_client.get_object(Bucket=bucket, Key=item.key)["Body"].read()
        assert body == (tree.folder / item.key.removeprefix(manifest.prefix)).read_bytes()
