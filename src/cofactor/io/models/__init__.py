"""Model folders: safe to load, written in one step, readable by people.

Names are imported when first used: reading a manifest needs no estimator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor._lazy import lazy_names

if TYPE_CHECKING:  # type checkers and editors need plain imports
    from cofactor.io.models.codec import ModelFormatError as ModelFormatError
    from cofactor.io.models.folders import read_facts as read_facts
    from cofactor.io.models.save_load import load_model as load_model
    from cofactor.io.models.save_load import save as save
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "codec": ["ModelFormatError"],
            "folders": ["read_facts"],
            "save_load": ["load_model", "save"],
        },
    )
