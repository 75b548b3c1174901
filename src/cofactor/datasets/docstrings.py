"""A real corpus that every installation has: the docstrings of numpy, scipy and scikit-learn.

One document is the docstring of one public function, class or method. Its label is the subpackage
that defines it. To make the task fair, text that names the subpackage is removed: dotted paths and
names of the three packages (``scipy.stats.norm``, ``np.array``, "SciPy"), example code, and
paragraphs that a subpackage repeats in all its docstrings. Plain words stay: "signal" is a fair
hint, ``scipy.signal`` is not.
"""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

# A fixed list, because a walk over all submodules would import deprecated modules and test helpers.
# It leaves out namespaces with few documents, without a subject (`sklearn.utils`) or with the same
# subject as another one (`scipy.cluster`).
SUBPACKAGES = {
    "numpy.ma": ("numpy.ma",),
    "numpy.polynomial": tuple(
        f"numpy.polynomial.{basis}"
        for basis in ("chebyshev", "hermite", "hermite_e", "laguerre", "legendre", "polynomial")
    ),
    "numpy.random": ("numpy.random",),
    "numpy.strings": ("numpy.strings", "numpy.char"),
    "scipy.interpolate": ("scipy.interpolate",),
    "scipy.linalg": ("scipy.linalg",),
    "scipy.ndimage": ("scipy.ndimage",),
    "scipy.optimize": ("scipy.optimize",),
    "scipy.signal": ("scipy.signal", "scipy.signal.windows"),
    "scipy.sparse": ("scipy.sparse", "scipy.sparse.csgraph", "scipy.sparse.linalg"),
    "scipy.spatial": ("scipy.spatial", "scipy.spatial.distance", "scipy.spatial.transform"),
    "scipy.special": ("scipy.special",),
    "scipy.stats": ("scipy.stats", "scipy.stats.mstats", "scipy.stats.qmc", "scipy.stats.sampling"),
    "sklearn.cluster": ("sklearn.cluster",),
    "sklearn.decomposition": ("sklearn.decomposition",),
    "sklearn.ensemble": ("sklearn.ensemble",),
    "sklearn.linear_model": ("sklearn.linear_model",),
    "sklearn.metrics": ("sklearn.metrics",),
    "sklearn.model_selection": ("sklearn.model_selection",),
    "sklearn.preprocessing": ("sklearn.preprocessing",),
}
"""The classes of the corpus, and the public modules of each."""

BACKGROUND = {"": ("numpy",)}
"""Not a class: documents that a class shares with these modules are left out."""

MIN_DOCSTRING_WORDS = 20
"""Shorter documents do not show their subject."""

MAX_REPEATS = 10
"""A paragraph found in more documents than this is boilerplate."""

_MARKUP = [
    re.compile(pattern, re.MULTILINE | re.IGNORECASE)
    for pattern in (
        r"^ *>>>.*(?:\n(?! *$).*)*",  # an example up to the next blank line: code and its output
        r"\*\*Array API Standard Support\*\*[\s\S]*?(?=See :ref:`dev-arrayapi`|\Z)",
        r"https?://\S+",
        r"``\{'[^{}]*'\}``",  # a set that scipy printed into a docstring: its order is random
        r":\w+:(?=`)|^ *\.\. \w+::.*|\\[a-z]+",  # reST roles and directives, TeX commands
        r"\b(?:numpy|np|scipy|sp|sklearn|scikit-learn)\b(?:\.\w+)*",
    )
]


class Docstring(NamedTuple):
    """One docstring: its qualified name, its class and its text."""

    name: str
    label: str
    text: str


@dataclass(frozen=True)
class Docstrings:
    """Documents with their labels, in a fixed order.

    Attributes
    ----------
    names : list of str
        Qualified names, such as "scipy.stats.norm".
    texts, labels : list of str
        The texts, and the subpackage of each.

    Examples
    --------
    >>> from cofactor.datasets import Docstrings
    >>> len(Docstrings(["numpy.sort"], ["Return a sorted copy."], ["numpy"]))
    1
    """

    names: list[str]
    texts: list[str]
    labels: list[str]

    def __len__(self) -> int:
        return len(self.texts)


def docstring_corpus() -> Docstrings:
    """Collect the docstrings of numpy, scipy and scikit-learn as they are installed.

    Returns
    -------
    Docstrings
        Sorted by qualified name. A text that occurs several times in one class is kept once. A
        text that occurs in several classes, or in `numpy` itself, is left out.

    Examples
    --------
    >>> from cofactor.datasets import docstring_corpus
    >>> corpus = docstring_corpus()
    >>> len(corpus) > 2000, "scipy.stats" in corpus.labels
    (True, True)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of deprecated names
        found = sorted(_docstrings())
    kept = _unambiguous(_without_boilerplate(found))
    return Docstrings(
        names=[document.name for document in kept],
        texts=[document.text for document in kept],
        labels=[document.label for document in kept],
    )


def _docstrings() -> Iterator[Docstring]:
    for label, modules in (SUBPACKAGES | BACKGROUND).items():
        for module in modules:
            for name, thing in _public_callables(module):
                docstring = _attribute(thing, "__doc__")
                if isinstance(docstring, str):
                    yield Docstring(name, label, _without_noise(inspect.cleandoc(docstring)))


def _public_callables(module_name: str) -> Iterator[tuple[str, Any]]:
    """Yield the public functions, classes and methods of a module with their names."""
    module = _import(module_name)
    for name in getattr(module, "__all__", ()):
        thing = _attribute(module, name)
        if callable(thing):
            yield f"{module_name}.{name}", thing
        if inspect.isclass(thing):
            for method in _public_methods(thing):
                yield f"{module_name}.{name}.{method}", _attribute(thing, method)


def _import(name: str) -> Any:
    """Import a module; return None if that fails, since an optional module may raise any error."""
    try:
        return importlib.import_module(name)
    except Exception:
        return None


def _attribute(owner: Any, name: str) -> Any:
    """Return an attribute or None, since experimental and removed names may raise any error."""
    try:
        return getattr(owner, name)
    except Exception:
        return None


def _public_methods(cls: type) -> set[str]:
    """Return the methods that the class's subpackage defines, not those of `str` or `ndarray`."""
    home = _subpackage(cls)
    return {
        name
        for base in cls.__mro__
        if _subpackage(base) == home
        for name in vars(base)
        if not name.startswith("_") and callable(_attribute(cls, name))
    }


def _subpackage(cls: type) -> list[str]:
    return cls.__module__.split(".")[:2]


def _without_noise(text: str) -> str:
    for pattern in _MARKUP:
        text = pattern.sub("", text)
    return text


def _without_boilerplate(documents: Iterable[Docstring]) -> list[Docstring]:
    """Remove paragraphs that many documents repeat."""
    split = [(document, re.split(r"\n\s*\n", document.text)) for document in documents]
    repeats = Counter(part for parts in {tuple(parts) for _, parts in split} for part in set(parts))
    return [
        document._replace(text="\n\n".join(part for part in parts if repeats[part] <= MAX_REPEATS))
        for document, parts in split
    ]


def _unambiguous(documents: Iterable[Docstring]) -> list[Docstring]:
    """Keep the texts that are long enough and found in one class only, each once."""
    firsts: dict[str, Docstring] = {}
    ambiguous = set()
    for document in documents:
        first = firsts.setdefault(document.text, document)
        if first.label != document.label:
            ambiguous.add(document.text)
    return [
        document
        for text, document in firsts.items()
        if text not in ambiguous
        and document.label in SUBPACKAGES
        and len(text.split()) >= MIN_DOCSTRING_WORDS
    ]
