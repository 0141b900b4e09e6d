"""What botocore's events tell of the calls that a transfer manager makes."""

from dataclasses import dataclass, field
from typing import Any

from tasks.access.boto3_stages import retries_without_answer
from tasks.kernel.samples import NULL


@dataclass(slots=True)
class CallsOfTransfer:
    """What botocore's events told of one transfer, from any of its threads."""

    statuses: list[int] = field(default_factory=list)
    """Of each answer."""
    retries: list[int] = field(default_factory=list)
    """botocore's own, for each call."""
    ranges: list[str] = field(default_factory=list)
    """Of each GET that was begun: the transfer manager asks again for a part whose body broke off."""

    def take_get(self, params: dict[str, Any], **_: object) -> None:
        """Note a GET, just before it is sent for the first time."""
        self.ranges.append(params["headers"].get("Range", ""))

    def take_answer(self, parsed: dict[str, Any], **_: object) -> None:
        """Note an answer, also one that refuses."""
        facts = parsed.get("ResponseMetadata", {})
        self.statuses.append(facts.get("HTTPStatusCode", NULL))
        self.retries.append(facts.get("RetryAttempts", 0))

    def take_no_answer(self, context: dict[str, Any], **_: object) -> None:
        """Note a call that ended in an exception of the client."""
        self.retries.append(retries_without_answer(context))

    @property
    def status(self) -> int | None:
        """Of all answers, where they had the same."""
        return self.statuses[0] if len(set(self.statuses)) == 1 else None

    @property
    def all_retries(self) -> int | None:
        """Those of botocore and of the transfer manager; None where no call was seen, as of the CRT."""
        if not self.retries:
            return None
        return sum(self.retries) + len(self.ranges) - len(set(self.ranges))

    def clear(self) -> None:
        """Forget the transfer before."""
        for noted in (self.statuses, self.retries, self.ranges):
            noted.clear()
