"""S3 Files is metered as Amazon's page says: by minimums, in steps, data and metadata apart."""

import pytest

from tasks.stats import s3_files
from tasks.stats.cost import RequestCounts

KIB = 1024


@pytest.mark.parametrize(
    ("size_bytes", "data_bytes"),
    [(1, 32 * KIB), (32 * KIB, 32 * KIB), (32 * KIB + 1, 33 * KIB), (64 * KIB, 64 * KIB)],
)
def test_a_small_file_is_read_from_the_file_system_by_at_least_32_kib_in_steps_of_1_kib(
    size_bytes: int, data_bytes: int
) -> None:
    assert s3_files.reads(10, size_bytes) == RequestCounts(file_read_bytes=10 * (data_bytes + 4 * KIB))


@pytest.mark.parametrize("size_bytes", [128 * KIB, 16 * 1024 * KIB])
def test_a_file_from_128_kib_on_is_read_from_the_bucket_and_only_its_metadata_from_the_file_system(
    size_bytes: int,
) -> None:
    assert s3_files.reads(10, size_bytes) == RequestCounts(get=10, file_read_bytes=10 * 4 * KIB)


def test_a_write_is_charged_for_its_data_its_creation_and_fsync_and_again_when_it_is_exported() -> None:
    assert s3_files.writes(3, 16 * 1024 * KIB) == RequestCounts(
        put=3,
        file_write_bytes=3 * (16 * 1024 + 4 + 4) * KIB,
        file_read_bytes=3 * (16 * 1024 + 4) * KIB,
    )


def test_an_import_writes_metadata_and_of_small_files_the_data_which_then_lies_there() -> None:
    assert s3_files.imports(5, 1000) == RequestCounts(
        get=5, file_write_bytes=5 * (32 + 4) * KIB, file_stored_bytes=5 * 10 * KIB
    )
    assert s3_files.imports(5, 128 * KIB) == RequestCounts(file_write_bytes=5 * 4 * KIB)


def test_listing_a_folder_reads_and_unlinking_a_file_writes_metadata() -> None:
    assert s3_files.listings(7) == RequestCounts(file_read_bytes=7 * 4 * KIB)
    assert s3_files.deletions(7) == RequestCounts(file_write_bytes=7 * 4 * KIB)
