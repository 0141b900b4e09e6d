"""CloudTrail log objects: which keys are logs, and whether what they hold is a whole log.

Layout and pitfalls follow the AWS CloudTrail User Guide ("Finding your CloudTrail log files", "CloudTrail
log file examples"). A log is `{"Records": [ … ]}`, gzipped once; digests lie beside the logs and have no
`Records`.
"""

import gzip
import io
import json
import re
import zlib
from typing import Final

from tasks.datasets.plan import LeftOutError

_LAYOUT: Final = re.compile(
    r"(?:.*/)?(?P<layout>AWSLogs/(?:o-[a-z0-9]{10,32}/)?[0-9]{12}/"
    r"(?P<kind>CloudTrail(?:-Digest|-Insight|-NetworkActivity|-Aggregated)?)/"
    r"[a-z0-9-]+/[0-9]{4}/[0-9]{2}/[0-9]{2}/(?P<name>[^/]+\.json\.gz))",
    re.DOTALL,
)
"""Everything from the last `AWSLogs/` on; an organisation trail has its id before the account."""

_FILE_NAME: Final = re.compile(
    r"[0-9]{12}_CloudTrail_[a-z0-9-]+_[0-9]{8}T[0-9]{4}Z_?[A-Za-z0-9]{8,}\.json\.gz",
)
"""Logs of the first years have no `_` before their random part, and another length of it."""

_GZIP_MAGIC: Final = b"\x1f\x8b"

MOST_UNZIPPED_BYTES: Final = 2**30
"""CloudTrail closes a log at 50 MB of gzip, which is some 600 MB of JSON; a few kB of gzip can be many GB."""
_PIECE_BYTES: Final = 2**20

NO_LOG_NAME: Final = "not named and placed like a CloudTrail log"


def layout_of(key: str) -> str:
    """The part of a log's key that CloudTrail itself chose: from `AWSLogs/` on.

    Raises:
        LeftOutError: the key is that of a digest, of another kind of file, or of no CloudTrail file.
    """
    match = _LAYOUT.fullmatch(key)
    if match is None:
        raise LeftOutError(NO_LOG_NAME)
    if match["kind"] != "CloudTrail":
        raise LeftOutError(f"{match['kind']} file, not a log")
    if _FILE_NAME.fullmatch(match["name"]) is None:
        raise LeftOutError(NO_LOG_NAME)
    return match["layout"]


def records_in(payload: bytes) -> int:
    """Count the records of a log from its gzipped bytes.

    A log that was gzipped twice is refused, because whoever reads it gunzips it once, as CloudTrail's
    own logs need; the bytes are never changed here.

    Raises:
        LeftOutError: the bytes are no whole gzip stream, no JSON, or JSON without a list of `Records`, or
            they unzip to more than CloudTrail ever writes.
    """
    if not payload.startswith(_GZIP_MAGIC):
        raise LeftOutError("not gzip")
    try:
        text = _unzipped(payload)
    except (EOFError, OSError, zlib.error):
        # EOFError: cut off. BadGzipFile (an OSError): wrong checksum or length. zlib.error: damaged body.
        raise LeftOutError("damaged or cut-off gzip") from None
    if text.startswith(_GZIP_MAGIC):
        raise LeftOutError("gzipped twice")
    try:
        log = json.loads(text)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested without end
        raise LeftOutError("bad JSON") from None
    records = log.get("Records") if isinstance(log, dict) else None
    if not isinstance(records, list):
        raise LeftOutError("JSON without a list of Records")
    return len(records)


def _unzipped(payload: bytes) -> bytes:
    """What `gzip.decompress` gives, but never more than is held without harm."""
    pieces, size_bytes = [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(payload)) as stream:
        while piece := stream.read(_PIECE_BYTES):
            size_bytes += len(piece)
            if size_bytes > MOST_UNZIPPED_BYTES:
                raise LeftOutError("unzips to more than any CloudTrail log")
            pieces.append(piece)
    return b"".join(pieces)
