"""Identifiers as they look in CloudTrail events, drawn from one seeded generator.

Only `random()`, `getrandbits` and what rests on them alone (`choice`, `choices`, `randrange`) are used:
they give the same on every Python since 3.11 and on every machine. Rejected: distributions such as
`lognormvariate`, whose last digit is the C library's.
"""

import random
from collections.abc import Sequence
from typing import Final, TypeAlias, TypeVar
from uuid import UUID

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = dict[str, Json]
_T = TypeVar("_T")

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_ALPHANUMERIC: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_BASE64: Final = _ALPHANUMERIC + "+/"


class Draw:
    """Draws values; the same seed gives the same values in the same order."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # noqa: S311  reproducible data, not secrets

    def one_of(self, values: Sequence[_T]) -> _T:
        """One of the values, each as likely as the others."""
        return self._random.choice(values)

    def weighted(self, values: Sequence[_T], cumulative: Sequence[int]) -> _T:
        """One of the values, by cumulative weights."""
        return self._random.choices(values, cum_weights=cumulative)[0]

    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` − 1."""
        return self._random.randrange(limit)

    def long_tailed(self, least_bits: int, most_bits: int) -> int:
        """A whole number ≥ 1 with a long tail: every number of bits is as likely as the others."""
        return self._random.getrandbits(least_bits + self.below(most_bits - least_bits + 1)) + 1

    def chance(self, percent: int) -> bool:
        """True in `percent` of 100 draws."""
        return self.below(100) < percent

    def hexadecimal(self, digits: int) -> str:
        """So many hexadecimal digits, as in resource ids."""
        return f"{self._random.getrandbits(4 * digits):0{digits}x}"

    def uuid(self) -> str:
        """A version 4 UUID."""
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def upper(self, length: int) -> str:
        """Capitals and digits, as in access key and principal ids."""
        return "".join(self._random.choices(_UPPER, k=length))

    def alphanumeric(self, length: int) -> str:
        """Letters and digits, as at the end of a log's name."""
        return "".join(self._random.choices(_ALPHANUMERIC, k=length))

    def base64(self, length: int) -> str:
        """Base64 characters, as in session tokens and S3's extended request ids."""
        return "".join(self._random.choices(_BASE64, k=length))

    def address(self) -> str:
        """An IPv4 address out of those kept for documentation (RFC 5737)."""
        network = self.one_of(("192.0.2", "198.51.100", "203.0.113"))
        return f"{network}.{1 + self.below(254)}"
