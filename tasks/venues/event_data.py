"""What the events of E2 read: written once by `setup`, and told by a manifest beside it.

It goes through PutObject on a mount's function too: seeding through the mount would warm it, and is done only
where the mount shows no bucket. The manifest
lies outside of the objects' folders, whose first look on S3 Files imports all that is in them.
"""

import hashlib
import os
import random
from collections.abc import Callable
from functools import partial

from pydantic import ValidationError

from configs.errors import UserError
from configs.manifest import DatasetObject, Manifest
from configs.targets import MountTarget
from tasks.access import bucket_io
from tasks.access.mount_io import mounted_at
from tasks.access.s3_client import control_client
from tasks.venues.event_models import BlobEvent, FunctionSettings

_DEFAULT_NAME = "default"


def set_up(event: BlobEvent, settings: FunctionSettings) -> Manifest:
    """Write the object of `single` reads, and where it is asked for those of `unique` ones.

    What an earlier setup wrote of the same size and dataset stays: the same name has the same bytes always.

    Raises:
        UserError: if the bucket or the mount refuses something.
    """
    prefix = _prefix(event, settings)
    get, put = _store(settings)
    stored = get(_manifest_key(event, settings))
    objects = {item.key: item for item in _parsed(stored, event).objects} if stored else {}
    names = [f"unique/{number:06d}.bin" for number in range(event.unique_count * event.create_unique)]
    for name in ("single.bin", *names):
        key = f"{prefix}{name}"
        payload = random.Random(key).randbytes(event.size_bytes)  # noqa: S311 - repeatable, not secret
        put(key, payload)
        sha256 = hashlib.sha256(payload).hexdigest()
        objects[key] = DatasetObject(key=key, size_bytes=len(payload), sha256=sha256)
    manifest = Manifest(
        dataset=event.read_dataset or _DEFAULT_NAME,
        prefix=prefix,
        fingerprint=f"{event.size_bytes} bytes by their keys",
        seed=0,
        objects=tuple(objects[key] for key in sorted(objects)),
    )
    put(_manifest_key(event, settings), manifest.model_dump_json(indent=1).encode())
    return manifest


def objects_to_read(event: BlobEvent, settings: FunctionSettings) -> tuple[DatasetObject, ...]:
    """What a read event reads, in this order.

    Raises:
        UserError: if `setup` has not written it, or fewer objects than are to be read once each.
    """
    manifest = _manifest(event, settings)
    wanted = f"{manifest.prefix}{event.read_mode}"
    found = tuple(item for item in manifest.objects if item.key.startswith(wanted))
    if event.read_mode == "unique" and len(found) < event.iterations:
        raise UserError(
            f"read_mode unique reads another object each time, and of {event.iterations} there are "
            f"{len(found)}: send op setup with create_unique true and unique_count {event.iterations}"
        )
    return found


def _manifest(event: BlobEvent, settings: FunctionSettings) -> Manifest:
    """Read on the way that the function has: one in a VPC may reach its mount alone."""
    key, mount = _manifest_key(event, settings), settings.mount_target
    stored = _store(settings)[0](key) if mount is None else _read(mount, key)
    if stored is None:
        raise UserError(
            f"there is no {key}: send op setup with size {event.size}"
            f"{f' and read_dataset {event.read_dataset}' if event.read_dataset else ''}"
        )
    return _parsed(stored, event)


def _store(
    settings: FunctionSettings,
) -> tuple[Callable[[str], bytes | None], Callable[[str, bytes], None]]:
    """How objects are looked for and kept: in the bucket, or on a mount that shows none."""
    mount, target = settings.mount_target, settings.bucket_target
    if mount is not None and not settings.mount_shows_bucket:
        return partial(_read, mount), partial(_write, mount)
    client = control_client(target, os.environ)
    return (
        partial(bucket_io.get_if_there, client, target.bucket),
        partial(bucket_io.put, client, target.bucket),
    )


def _read(mount: MountTarget, key: str) -> bytes | None:
    path = mount.path_of(key)
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}: look at the mount") from error


def _write(mount: MountTarget, key: str, payload: bytes) -> None:
    path = mount.path_of(key)
    if mount.path is None or mounted_at(mount.path) is None:
        raise UserError(f"nothing is mounted at {mount.path}: give the function its file system")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(payload)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}: look at the mount") from error


def _parsed(stored: bytes, event: BlobEvent) -> Manifest:
    try:
        return Manifest.model_validate_json(stored)
    except ValidationError as error:
        raise UserError(
            f"the manifest of size {event.size} is damaged: remove it, and send op setup again"
        ) from error


def _prefix(event: BlobEvent, settings: FunctionSettings) -> str:
    return f"{settings.prefix}/events/{event.read_dataset or _DEFAULT_NAME}/{event.size}/"


def _manifest_key(event: BlobEvent, settings: FunctionSettings) -> str:
    return f"{settings.prefix}/events/{event.read_dataset or _DEFAULT_NAME}.{event.size}.manifest.json"
