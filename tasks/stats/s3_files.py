"""What an S3 Files mount asks for when files are moved through it, as Amazon meters it.

Every file is taken to be read whole and at once from the file system, as if no cache of the client's served
it, and every written file to be put into the bucket once. More may come: look-ups, reads in several parts.
"""

from tasks.stats.cost import RequestCounts, load_prices


def lies_there(size_bytes: int) -> bool:
    """Whether a file comes to lie on the file system by being read; larger ones stay in the bucket."""
    return size_bytes < load_prices().s3_files_metering.resident_below_bytes


def reads(files: int, size_bytes: int) -> RequestCounts:
    """Files that are opened and read to the end: from the file system, or from the bucket by a GET each."""
    metadata = RequestCounts(file_read_bytes=files * _metadata_bytes())
    if lies_there(size_bytes):
        return metadata + RequestCounts(file_read_bytes=files * _data_bytes(size_bytes))
    return metadata + RequestCounts(get=files)


def writes(files: int, size_bytes: int) -> RequestCounts:
    """Files that are created, written and fsynced, and then exported: read again, and put into the bucket."""
    data_bytes, metadata_bytes = _data_bytes(size_bytes), _metadata_bytes()
    return RequestCounts(
        put=files,
        file_write_bytes=files * (data_bytes + 2 * metadata_bytes),
        file_read_bytes=files * (data_bytes + metadata_bytes),
    )


def deletions(files: int) -> RequestCounts:
    """Files that are unlinked."""
    return RequestCounts(file_write_bytes=files * _metadata_bytes())


def listings(folders: int) -> RequestCounts:
    """Folders that are listed, their files being known there already."""
    return RequestCounts(file_read_bytes=folders * _metadata_bytes())


def imports(files: int, size_bytes: int) -> RequestCounts:
    """Objects of the bucket that the file system sees for the first time; the small ones are copied."""
    metadata = RequestCounts(file_write_bytes=files * _metadata_bytes())
    if not lies_there(size_bytes):
        return metadata
    return metadata + RequestCounts(
        get=files,
        file_write_bytes=files * _data_bytes(size_bytes),
        file_stored_bytes=files * stored_bytes(size_bytes),
    )


def stored_bytes(size_bytes: int) -> int:
    """What a file counts for while it lies on the file system."""
    return max(size_bytes, load_prices().s3_files_metering.least_file_bytes)


def _data_bytes(size_bytes: int) -> int:
    """What one read or write of a whole file counts for."""
    metering = load_prices().s3_files_metering
    step_bytes = metering.step_bytes
    return max(metering.least_data_bytes, -(-size_bytes // step_bytes) * step_bytes)


def _metadata_bytes() -> int:
    return load_prices().s3_files_metering.metadata_bytes
