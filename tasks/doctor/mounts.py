"""One mount of this host: what is mounted there, how it reads, and whether it can be written."""

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from configs.access_paths import MountIo
from configs.targets import MountTarget
from tasks.access.efs_state import STATE_FOLDER
from tasks.access.mount_io import MountIoPath
from tasks.doctor.findings import Finding
from tasks.kernel.bounded_files import BoundedFiles
from tasks.kernel.errors import LabelError

_LIMIT_S: Final = 15.0
"""A network file system whose server is gone lets whoever asks it wait for ever."""
_NUMBERS: Final = re.compile(r"\d+")
_BROKEN_EFS_UTILS: Final[dict[tuple[int, ...], str]] = {
    (3, 0, 0): "its proxy may crash at direct reads",
    (3, 1, 1): "it finds no credentials of web identities",
}
"""Release notes of aws/efs-utils 3.0.1 and 3.1.2, which mend this."""


def checks_of_mount(
    target: MountTarget,
    prefix: str,
    *,
    writes: bool,
    limit_s: float = _LIMIT_S,
    efs_state: Path = STATE_FOLDER,
) -> Iterator[Finding]:
    """What the kernel and efs-utils tell of a mount, as its access path proves it; nothing is written.

    Args:
        target: the mount.
        prefix: of the bucket that it shows, where a run would write.
        writes: whether any cell writes to it.
        limit_s: how long it may take to answer, in seconds.
        efs_state: where efs-utils keeps its records.
    """
    if problem := _why_no_answer(target, limit_s):
        yield Finding("wrong", "mounted", problem, "see whether its server is reached, and mount it again")
        return
    asked = _proof_of(target, efs_state)
    if isinstance(asked, str):
        yield Finding("wrong", "mounted", asked)
        return
    what = f"{asked['mount_type']}, {asked['mount_source']} ({asked['mount_options']})"
    yield Finding("right", "mounted", what)
    if target.file_system_id is not None:
        yield from _s3_files(asked)
    if writes:
        yield _writing(target, prefix)


def _why_no_answer(target: MountTarget, limit_s: float) -> str:
    """Of a mount that keeps whoever asks it waiting; empty of all others, of which its proof tells."""
    if target.path is None:
        return ""
    try:
        with BoundedFiles(limit_s) as files:
            files.look(target.path)
    except OSError as error:
        if error.errno == errno.ETIMEDOUT:
            return f"{target.path} does not answer within {limit_s:g} s"
    return ""


def _proof_of(target: MountTarget, efs_state: Path) -> dict[str, str] | str:
    """What is proved of a mount, or why it is not what its target says."""
    try:
        path = MountIoPath(MountIo(), target, efs_state)
        path.connect(concurrency=1)
    except LabelError as reason:
        return str(reason)
    return path.proof()


def _s3_files(proof: dict[str, str]) -> Iterator[Finding]:
    what = f"{proof['file_system_id']}, access point {proof['access_point']}"
    yield Finding("right", "S3 Files", what)
    if proof["direct_s3_reads"] == "off":
        what = "off (nodirects3read): every read goes through the file system"
        yield Finding(
            "warning", "direct reads", what, "mount it without nodirects3read, if that is not meant"
        )
    else:
        what = "on; a mount that may not read the bucket goes without them, and says nothing"
        fix = "let its own credentials s3:GetObject, s3:GetObjectVersion and s3:ListBucket"
        yield Finding("right", "direct reads", f"{what}: {fix}")
    yield _efs_utils(proof["efs_utils"])


def _efs_utils(version: str) -> Finding:
    numbers = tuple(int(number) for number in _NUMBERS.findall(version)[:3])
    if not numbers:
        return Finding("unknown", "efs-utils", "its version is not told", "see `mount.s3files --version`")
    if problem := _BROKEN_EFS_UTILS.get(numbers):
        return Finding(
            "warning", "efs-utils", f"{version}: {problem}", "upgrade amazon-efs-utils, mount again"
        )
    return Finding("right", "efs-utils", version)


def _writing(target: MountTarget, prefix: str) -> Finding:
    """By what the kernel tells of the nearest folder that is there: a run would make the rest."""
    folder = target.path_of(prefix)
    there = next(one for one in (folder, *folder.parents) if one.exists())
    if os.access(there, os.W_OK):
        return Finding("right", "writes", f"allowed at {there}, as far as the kernel tells")
    is_read_only = bool(os.statvfs(there).f_flag & os.ST_RDONLY)
    what = "it is mounted read-only" if is_read_only else f"this user may not write at {there}"
    fix = "mount it with writes allowed" if is_read_only else "give this user the right to write there"
    return Finding("wrong", "writes", f"{what}, and the suite writes there", fix)
