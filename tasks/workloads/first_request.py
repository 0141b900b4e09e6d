"""The first request of a client: what a short-lived process pays before it is in its stride."""

from typing import cast

from configs.block import BlockSpec
from configs.workloads import FirstRequest
from tasks.access.protocol import ObjectPath, RenewablePath
from tasks.kernel.loop import LoopCost, measure
from tasks.kernel.samples import SampleColumns
from tasks.kernel.start import CommonStart
from tasks.workloads.blob import BlobRead


def measure_first_requests(
    spec: BlockSpec, access: ObjectPath, samples: SampleColumns, start: CommonStart | None = None
) -> LoopCost:
    """One block of reads, each by a client that has sent nothing before."""
    if not isinstance(spec.cell.workload, FirstRequest):
        raise TypeError(spec.cell.workload.kind)  # the registry lets no other kind through
    reads = FirstRead(cast("RenewablePath", access), spec, samples)
    return measure(reads, samples, spec.iterations, spec.warmup, deadline_ns=spec.deadline_ns, start=start)


class FirstRead(BlobRead):
    """Timed: one whole read with a fresh client, which opens a connection, and a session if it needs one.

    The client is made before the clock, as a script makes one before its first request; its credentials are
    there already. The stages are recorded as far as the client shows them: connecting, TLS and session happen
    before the first byte, so that they are part of `ttfb_ns`, and all of it is part of the total. Verified as
    any read is.
    """

    name = "first_read"

    def __init__(self, access: RenewablePath, spec: BlockSpec, samples: SampleColumns) -> None:
        super().__init__(access, spec.objects, samples)
        self._renewed = access

    def prepare(self, seq: int) -> str:
        """Throw the last client away, make another one, and choose the object."""
        self._renewed.renew()
        return super().prepare(seq)
