"""The one error for folders of blocks that cannot be used."""


class RowBlocksError(ValueError):
    """A folder of row blocks is missing, damaged, or of another kind."""
