"""Waiting until a mount shows what was put into its bucket: objects arrive there later than in the API."""

import time
from pathlib import Path

from configs.manifest import Manifest

_POLL_S = 0.2


def wait_until_visible(root: Path, root_prefix: str, manifest: Manifest, timeout_s: float) -> str:
    """Look until every object of a dataset is there with its size.

    Args:
        root: the mount point.
        root_prefix: the key prefix that the mount point stands for.
        manifest: what must be seen.
        timeout_s: how long to look.

    Returns:
        An empty string, or what was still missing when the time was over.
    """
    waiting = {root / item.key.removeprefix(root_prefix): item.size_bytes for item in manifest.objects}
    deadline_s = time.monotonic() + timeout_s
    while True:
        waiting = {
            path: size_bytes for path, size_bytes in waiting.items() if not _is_there(path, size_bytes)
        }
        if not waiting:
            return ""
        if time.monotonic() > deadline_s:
            first = next(iter(waiting))
            return (
                f"{len(waiting)} of {len(manifest.objects)} objects of dataset {manifest.dataset} did not "
                f"appear on the mount within {timeout_s:g} s, such as {first}"
            )
        time.sleep(_POLL_S)


def _is_there(path: Path, size_bytes: int) -> bool:
    try:
        return path.stat().st_size == size_bytes
    except OSError:
        return False
