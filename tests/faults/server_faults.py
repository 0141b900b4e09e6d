"""The faults of an S3 server by their names in FAULTS.md."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.faults.broken_answers import (
    bare_status,
    cut_write,
    error_in_success,
    gateway_page,
    gone,
    late_headers,
    lost_answer,
    lost_write,
    refusal,
    reset_midway,
    short_body,
    shorter_object,
    silence,
    stalled_body,
    trickling_body,
    wrong_bytes,
)
from tests.faults.fault_proxy import Fault, Rule

SERVER_GONE = "connection refused: the server has ended"

_READS = ("GET", "HEAD")
_BODIES = ("GET",)
_WRITES = ("PUT",)


@dataclass(frozen=True)
class Faulty:
    """A fault, the requests that suffer from it, and how many of them; None is all."""

    fault: Fault
    methods: tuple[str, ...]
    times: int | None = None
    query: str = ""
    """What the path of such a request ends with or has behind its question mark."""

    def rule(self, name: str, key: str) -> Rule:
        """For requests that concern one key."""
        return Rule(name, self.fault, self._suffers(key), self.times)

    def _suffers(self, key: str) -> Callable[[str, str], bool]:
        def suffers(method: str, path: str) -> bool:
            name, _, query = path.partition("?")
            return method in self.methods and name.endswith(f"/{key}") and self.query in query

        return suffers


_REFUSALS = {
    "503 SlowDown, always": refusal(503, "SlowDown"),
    "500 InternalError": refusal(500, "InternalError"),
    "403 AccessDenied": refusal(403, "AccessDenied"),
    "400 ExpiredToken": refusal(400, "ExpiredToken"),
    "403 RequestTimeTooSkewed": refusal(403, "RequestTimeTooSkewed", date_off_s=3600),
    "404 NoSuchKey": refusal(404, "NoSuchKey"),
    "301 PermanentRedirect": refusal(301, "PermanentRedirect", x_amz_bucket_region="eu-west-1"),
    "502 with a gateway's HTML page": gateway_page,
    "a status that has no name (520)": bare_status(520),
}

READS = {
    "503 SlowDown, once": Faulty(refusal(503, "SlowDown"), _READS, times=1),
    **{name: Faulty(fault, _READS) for name, fault in _REFUSALS.items()},
    "reset in the middle of the body, once": Faulty(reset_midway, _BODIES, times=1),
    "reset in the middle of the body, always": Faulty(reset_midway, _BODIES),
    "the body ends early": Faulty(short_body, _BODIES),
    "a shorter body that says so": Faulty(shorter_object, _BODIES),
    "other bytes of the right length": Faulty(wrong_bytes, _BODIES),
    "headers that come late": Faulty(late_headers(0.1), _READS),
    "no answer at all": Faulty(silence, _READS),
    "a body that trickles": Faulty(trickling_body(0.05, 4), _BODIES),
    "a body that stalls": Faulty(stalled_body, _BODIES),
    SERVER_GONE: Faulty(gone, _READS),
}

WRITES = {
    "503 SlowDown, once": Faulty(refusal(503, "SlowDown"), _WRITES, times=1),
    **{name: Faulty(_REFUSALS[name], _WRITES) for name in _REFUSALS if not name.startswith("404")},
    "stored, and the answer is lost, once": Faulty(lost_answer, _WRITES, times=1),
    "200, and nothing is stored": Faulty(lost_write, _WRITES),
    "200, and half of the bytes are stored": Faulty(cut_write, _WRITES),
    "no answer at all": Faulty(silence, _WRITES),
}

PARTS = {
    "UploadPart: 503 SlowDown, once": Faulty(refusal(503, "SlowDown"), _WRITES, 1, "partNumber=1"),
    "UploadPart: 503 SlowDown, always": Faulty(refusal(503, "SlowDown"), _WRITES, None, "partNumber=1"),
    "CompleteMultipartUpload: 503 SlowDown": Faulty(refusal(503, "SlowDown"), ("POST",), None, "uploadId="),
    "CompleteMultipartUpload: 200 with an error in its body, once": Faulty(
        error_in_success, ("POST",), 1, "uploadId="
    ),
    "CompleteMultipartUpload: 200 with an error in its body, always": Faulty(
        error_in_success, ("POST",), None, "uploadId="
    ),
}
