"""From what the kernel recorded to the rows of the samples table.

Nothing goes through Python objects: integer columns are the kernel's own memory with a bitmap for the
nulls, and constant columns repeat one small piece. A million samples therefore fit a process of less
than 300 MiB, the kernel's arrays included.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from configs.run_record import RunIdentity
from tasks.kernel.samples import INTEGER_COLUMNS, NULL, OPERATIONS, SampleColumns
from tasks.results.schema import SAMPLES

_PIECE_ROWS: Final = 16_384
"""Rows that one piece of a constant or a label column stands for."""


def samples_table(
    run: RunIdentity, config_id: str, workload_id: str, blocks: Sequence[tuple[int, SampleColumns]]
) -> pa.Table:
    """All samples of one cell, as rows of `SAMPLES`, block after block in the order given.

    The table shares the memory of the blocks' arrays: Python refuses to append to them while it lives.

    Args:
        run: The run that measured them.
        config_id: The cell's configuration.
        workload_id: The cell's workload.
        blocks: The number of each block, and what it recorded.

    Raises:
        ValueError: if the columns of a block differ in length.
    """
    constants = {"run_id": run.run_id, "config_id": config_id, "workload_id": workload_id}
    for _, columns in blocks:
        _refuse_ragged(columns)
    tables = [
        _block_table({**constants, "block": number}, columns) for number, columns in blocks if len(columns)
    ]
    return pa.concat_tables(tables) if tables else SAMPLES.empty_table()


def skipped_table(  # noqa: PLR0913 - the three ids of a cell, and the three things to say of it
    run: RunIdentity,
    config_id: str,
    workload_id: str,
    reason: str,
    *,
    outcome: Literal["skipped", "error"] = "skipped",
    error: str | None = None,
) -> pa.Table:
    """The one row of a cell that was skipped, or that failed as a whole.

    Args:
        run: The run that did not measure it.
        config_id: The cell's configuration.
        workload_id: The cell's workload.
        reason: What is shown as the message.
        outcome: `skipped`, or `error` for a cell that failed.
        error: The kind of the failure, short and stable; none for a skipped cell.
    """
    row = {
        "run_id": run.run_id,
        "config_id": config_id,
        "workload_id": workload_id,
        "outcome": outcome,
        "warmup": False,
        "error": error,
        "message": reason,
    }
    return pa.Table.from_pylist([row], schema=SAMPLES)


def _block_table(constants: dict[str, str | int], columns: SampleColumns) -> pa.Table:
    rows, failures = len(columns), columns.failures
    values = {name: _integers(columns, name) for name in INTEGER_COLUMNS}
    values["started_at"] = pc.divide(values["started_us"], 1000)
    values["warmup"] = pa.array(np.frombuffer(columns.warmup, dtype=np.int8) != 0)
    values["operation"] = _labels(np.frombuffer(columns.operation, dtype=np.int8), OPERATIONS)
    values["object_key"] = _labels(np.frombuffer(columns.object_key, dtype=np.int32), columns.keys)
    values["outcome"] = _sparse(rows, "ok", dict.fromkeys(failures, "error"))
    values["error"] = _sparse(rows, None, {row: failure.error for row, failure in failures.items()})
    values["message"] = _sparse(rows, None, {row: failure.message for row, failure in failures.items()})
    # No claim about caches: the kernel records none.
    for name, constant in {**constants, "cold": None}.items():
        values[name] = _constant(constant, rows, SAMPLES.field(name).type)
    return pa.table([values[field.name].cast(field.type) for field in SAMPLES], schema=SAMPLES)


def _refuse_ragged(columns: SampleColumns) -> None:
    lengths = {name: len(column) for name, column in columns.integers.items()}
    lengths |= {"warmup": len(columns.warmup), "object_key": len(columns.object_key)}
    unlike = {name: length for name, length in lengths.items() if length != len(columns)}
    if unlike:
        raise ValueError(f"a block of {len(columns)} samples has columns of other lengths: {unlike}")


def _integers(columns: SampleColumns, name: str) -> pa.Array | pa.ChunkedArray:
    """The kernel's own memory, with a bitmap for the nulls; null alone where no operation has the column."""
    if name not in columns.integers:
        return _constant(None, len(columns), pa.int64())
    values = np.frombuffer(columns.integers[name], dtype=np.int64)
    return pa.array(values, mask=values == NULL)


def _constant(value: str | int | None, rows: int, kind: pa.DataType) -> pa.ChunkedArray:
    """One value for every row, at the memory of one piece."""
    piece = pa.repeat(pa.scalar(value, kind), min(rows, _PIECE_ROWS))
    whole, rest = divmod(rows, _PIECE_ROWS)
    return pa.chunked_array([*[piece] * whole, piece.slice(0, rest)], kind)


def _labels(
    indices: npt.NDArray[np.int8] | npt.NDArray[np.int32], names: Sequence[str]
) -> pa.Array | pa.ChunkedArray:
    """The name of each index, null for a negative one."""
    first = int(indices[0])
    if (indices == first).all():
        return _constant(names[first] if first >= 0 else None, len(indices), pa.string())
    dictionary = pa.array(names, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=indices < 0), dictionary).cast(pa.string())


def _sparse(rows: int, usual: str | None, exceptions: Mapping[int, str]) -> pa.Array | pa.ChunkedArray:
    """The usual value for every row but the exceptions."""
    if not exceptions:
        return _constant(usual, rows, pa.string())
    values = np.full(rows, usual, dtype=object)
    values[list(exceptions)] = list(exceptions.values())
    return pa.array(values, pa.string())
