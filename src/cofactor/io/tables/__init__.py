"""Tables of documents in files: read in one pass, whatever the format; written in one step.

Nothing here needs a numerical library.
"""

from cofactor.io.errors import InputError
from cofactor.io.tables.documents import Documents, read_documents
from cofactor.io.tables.sources import Source, open_source

__all__ = ["Documents", "InputError", "Source", "open_source", "read_documents"]
