"""Reads check the checksum of an object that has one, within the clock, unless told otherwise: all told."""

import base64
import zlib
from typing import TYPE_CHECKING

import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import FlexibleChecksumError

from configs.access_paths import Boto3Api
from tasks.access.boto3_api import Boto3ApiPath

if TYPE_CHECKING:
    from conftest import SlowServer

BODY = b'<?xml version="1.0"?><ListBucketResult></ListBucketResult>'
CRC32 = base64.b64encode(zlib.crc32(BODY).to_bytes(4, "big")).decode()
OF_OUR_UPLOADS = {"x-amz-checksum-crc32": CRC32, "x-amz-checksum-type": "FULL_OBJECT"}
OF_A_MULTIPART_UPLOAD = {"x-amz-checksum-crc32": f"{CRC32}-2", "x-amz-checksum-type": "COMPOSITE"}
OF_ANOTHER_BODY = {"x-amz-checksum-crc32": base64.b64encode(bytes(4)).decode()}


def connected(server: "SlowServer", **settings: object) -> tuple[Boto3ApiPath, list[bool]]:
    """A client, and whether each of its reads asks for a checksum."""
    path = Boto3ApiPath(Boto3Api.model_validate(settings | {"max_attempts": 1}), server.target)
    path.connect(1)
    asks: list[bool] = []

    def look(request: AWSPreparedRequest, **_: object) -> None:
        asks.append("x-amz-checksum-mode" in request.headers)

    path._client.meta.events.register("before-send.s3.GetObject", look)
    return path, asks


def told_of_a_read(path: Boto3ApiPath, server: "SlowServer", headers: dict[str, str]) -> str:
    server.more_headers = headers
    body, native = path.read("k")
    path.answer(native)
    assert body == BODY
    return path.proof()["read_checksum"]


def test_reads_check_the_checksum_of_an_object_that_has_one_and_tell_so(server: "SlowServer") -> None:
    path, asks = connected(server)
    assert path.proof()["download_checksums"] == "when_supported"
    assert "read_checksum" not in path.proof()  # nothing was read
    assert told_of_a_read(path, server, OF_OUR_UPLOADS) == "crc32, checked within the read"
    assert told_of_a_read(path, server, OF_A_MULTIPART_UPLOAD) == "crc32, not checked"
    assert told_of_a_read(path, server, {}) == "none"
    server.more_headers = OF_ANOTHER_BODY
    with pytest.raises(FlexibleChecksumError) as raised:
        path.read("k")
    assert path.failure(raised.value).error == "FlexibleChecksumError"
    assert asks == [True] * 4
    path.close()


def test_reads_that_are_told_so_neither_ask_for_a_checksum_nor_check_one(server: "SlowServer") -> None:
    path, asks = connected(server, download_checksums="when_required")
    assert path.proof()["download_checksums"] == "when_required"
    assert told_of_a_read(path, server, OF_ANOTHER_BODY) == "crc32, not checked"
    assert asks == [False]
    path.close()
