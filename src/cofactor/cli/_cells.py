"""What commands need for single cells: AnnData files, and models that were fitted on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cofactor.cli._command import BadInput, given_options, needing_extra, noted_warnings, refusals
from cofactor.cli._models import OpenedModel
from cofactor.cli._options import CELL_OPTIONS, TableOptions


def is_cell_model(path: Path) -> bool:
    """Return whether a folder holds a model of cells."""
    from cofactor.io.models import ModelFormatError, read_facts

    try:
        return isinstance(read_facts(path)["notes"].get("cells"), dict)
    except ModelFormatError:  # which opening the model explains
        return False


@contextmanager
def single_cells() -> Iterator[Any]:
    """Yield the package for cells; its errors and warnings become sentences."""
    with needing_extra("Single cells", "sc"), refusals(), noted_warnings():
        from cofactor import sc

        sc.cells.anndata()
        yield sc


def load_cell_model(path: Path) -> Any:
    """Load a model of cells."""
    with single_cells() as sc:
        return sc.load(path)


def open_cell_model(path: Path) -> OpenedModel:
    """Load a model of cells with its manifest."""
    from cofactor.io.models import read_facts

    return OpenedModel(path, load_cell_model(path), read_facts(path))


def refuse_text_options(*allowed: str) -> None:
    """Refuse options that only mean something for texts."""
    for name, option in given_options():
        if name not in ("table", "as_json", *CELL_OPTIONS, *allowed):
            raise BadInput(f"{option} is for texts; leave it out for cells.")


def label_of(asked: TableOptions) -> str | None:
    """Return the label column of cells, which have one label each."""
    if len(asked.labels) > 1:
        raise BadInput("--label may be given once for cells, which have one label each.")
    return asked.labels[0] if asked.labels else None


def expected_of_cells(model: Any) -> str:
    """Return a sentence about the score to expect on new cells; "" if nothing is known."""
    expected = getattr(model.estimator, "expected_score_", None)
    return "" if expected is None else f"Expected on new cells like these: {expected}."


def markers_of(model: Any, name: str, genes: int) -> dict[str, Any]:
    """Return the markers of a class, the class most like it, and the markers against that one.

    Each has the shares of the cells that have it, in the class and in the one that comes next.
    """
    found: dict[str, Any] = {"nearest": model.nearest(name) or None}
    for kind, column in (("classes", "genes"), ("nearest", "genes_against")):
        own = [marker for marker in model.markers[kind] if marker.group == name][:genes]
        found[column] = [marker.gene for marker in own]
        found[f"{column}_shares"] = [[marker.share, marker.share_against] for marker in own]
    return found


def shown_markers(found: dict[str, Any], column: str) -> str:
    """Return markers with their shares of cells as text: "CCR7 63/13%"."""
    from cofactor.sc.markers import NO_MARKER

    pairs = zip(found[column], found[f"{column}_shares"], strict=True)
    told = [gene if None in both else f"{gene} {_percents(*both)}" for gene, both in pairs]
    return ", ".join(told) or NO_MARKER


def _percents(share: float, share_against: float) -> str:
    return f"{100 * share:.0f}/{100 * share_against:.0f}%"


def cell_topics(model: Any, genes: int) -> list[dict[str, Any]]:
    """Return the topics of a model of cells, the largest first."""
    links, shares, support = model.shown_links, model.mean_shares, model.topic_support
    best: Any = links.argmax(axis=1) if model.classes else None
    rows: list[dict[str, Any]] = [
        {
            "topic": k,
            "share": float(share),
            "class": model.classes[int(best[k])] if model.classes else None,
            "link": float(links[k, best[k]]) if model.classes else None,
            "labels": None if support is None or not model.classes else int(support[k]),
            "genes": model.marker_genes("topics", str(k), genes),
        }
        for k, share in enumerate(shares)
    ]
    return sorted(rows, key=lambda row: -row["share"])
