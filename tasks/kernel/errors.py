"""How a cell can end without measurements, other than by a failed operation."""


class UnsupportedError(Exception):
    """A cell that cannot be measured here, or not fairly: it is recorded as skipped with this reason."""


class LabelError(Exception):
    """What really ran is not what the configuration's label says: the cell fails with this message."""
