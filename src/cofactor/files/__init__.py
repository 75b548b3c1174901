"""Tables of documents in files: read in one pass, whatever the format; written in one step.

Nothing here needs a numerical library.
"""

from cofactor.files.errors import InputError
from cofactor.files.sources import Source, open_source
from cofactor.files.tables import Documents, read_documents

__all__ = ["Documents", "InputError", "Source", "open_source", "read_documents"]
