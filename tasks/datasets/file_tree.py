"""A tree of files as experiment E3 (express-cli-sync) moved it: access logs of a content delivery network.

The experiment published a count and a mean, no distribution. Ours, stated so that others can repeat it:

* 40 % of the files are small, 600 to 1,448 bytes, evenly: an hour of an edge location with hardly a request;
* the others are log-normal with a sigma of 1.2, scaled so that the mean of all files is exactly `mean_size`
  (354,541 bytes give a median of about 290 kB for them, and a largest of about 28 MB of 12,086).

The sizes are quantiles of that distribution, not draws from it: a tree of `scale: 0.02` has the shape of the
whole, where 242 draws would now and then lack the tail that half of the bytes are in. The seed says which
file has which size, and what is in it: random bytes, since the logs were compressed already.
"""

import hashlib
import os
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Final

import numpy as np
from pydantic import ValidationError

from configs.datasets import FileTree
from configs.errors import UserError
from configs.manifest import DatasetObject, LocalTree
from tasks.datasets.blobs import blob_bytes
from tasks.datasets.plan import Item, Payload, Plan, fingerprint_of
from tasks.kernel.folders import sizes_in

_SMALL_SHARE: Final = 0.4
_SMALL_BYTES: Final = (600, 1448)
_SIGMA: Final = 1.2
_MANIFEST: Final = "tree.json"
_FILES: Final = "files"


def plan_tree(config: FileTree) -> Plan:
    """Plan every file of a tree."""
    sizes = tree_sizes(config)
    items = tuple(
        Item(name, name, partial(_payload, config, name, size_bytes))
        for name, size_bytes in zip(_names(config), sizes, strict=True)
    )
    return Plan("random bytes", fingerprint_of(config), config.seed, items, largest_bytes=max(sizes))


def tree_sizes(config: FileTree) -> list[int]:
    """The size in bytes of every file, in the order of their names; their mean is `mean_size`, rounded down.

    A tree of so small a mean that the small files exceed it has files of `mean_size` alone.
    """
    count, total_bytes = config.scaled_files, config.scaled_files * int(config.mean_size)
    small = round(count * _SMALL_SHARE)
    low, high = _SMALL_BYTES
    small_sizes = [round(low + (high - low) * (index + 0.5) / small) for index in range(small)]
    rest_bytes = total_bytes - sum(small_sizes)
    if rest_bytes < (count - small) * high:
        return [int(config.mean_size)] * count
    normal = NormalDist()
    weights = np.array(
        [np.exp(_SIGMA * normal.inv_cdf((index + 0.5) / (count - small))) for index in range(count - small)]
    )
    large_sizes = [int(size) for size in weights * (rest_bytes / weights.sum())]
    large_sizes[-1] += rest_bytes - sum(large_sizes)
    sizes = small_sizes + large_sizes
    random.Random(config.seed).shuffle(sizes)  # noqa: S311 - repeatable, not secret
    return sizes


def local_tree(
    config: FileTree, folder: Path, *, progress: Callable[[int, int], None] | None = None
) -> LocalTree:
    """Make sure that a tree lies below `folder`; one that is there and whole is only looked at.

    Args:
        config: What it consists of.
        folder: Where trees lie, each below a folder named by its fingerprint.
        progress: Is told the files done and their total after each.

    Raises:
        UserError: It cannot be written, as on a full disk.
    """
    place = folder / fingerprint_of(config)[:16]
    return _whole_tree(place) or _make(config, place, progress)


def _whole_tree(place: Path) -> LocalTree | None:
    try:
        tree = LocalTree.model_validate_json((place / _MANIFEST).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    if tree.folder != place / _FILES:
        return None
    return tree if sizes_in(tree.folder) == {item.key: item.size_bytes for item in tree.objects} else None


def _make(config: FileTree, place: Path, progress: Callable[[int, int], None] | None) -> LocalTree:
    """The manifest comes last, so that a tree that was not finished is made again."""
    plan = plan_tree(config)
    objects = []
    try:
        if place.exists():
            shutil.rmtree(place)
        for done, item in enumerate(plan.items, start=1):
            body = item.make().body
            path = place / _FILES / item.name
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_to_the_disk(path, body)
            objects.append(
                DatasetObject(key=item.name, size_bytes=len(body), sha256=hashlib.sha256(body).hexdigest())
            )
            if progress is not None:
                progress(done, len(plan.items))
        tree = LocalTree(folder=place / _FILES, objects=tuple(objects))
        (place / _MANIFEST).write_text(tree.model_dump_json(), encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{place}: a file tree of {config.scaled_files * int(config.mean_size):,} bytes cannot be made "
            f"there ({error.strerror}): write scratch: FOLDER into the suite, on a disk with free space"
        ) from error
    return tree


def _write_to_the_disk(path: Path, body: bytes) -> None:
    """Write a file that the system does not still write while the first blocks are measured."""
    with path.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())


def _names(config: FileTree) -> list[str]:
    """Names as CloudFront gives its logs: the distribution, the hour, eight random digits."""
    names = []
    for index in range(config.scaled_files):
        unique = hashlib.sha256(f"{config.seed}/{index}".encode()).hexdigest()[:8]
        day, hour = divmod(index, 24)
        names.append(f"logs/E1EXAMPLE.2023-12-{day % 31 + 1:02d}-{hour:02d}.{unique}.gz")
    return sorted(names)


def _payload(config: FileTree, name: str, size_bytes: int) -> Payload:
    return Payload(blob_bytes(config.seed, name, size_bytes))
