"""What samples and features are called on a page: documents and words, or cells and genes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Nouns:
    """The words of a page for its samples and features.

    Parameters
    ----------
    sample, samples, feature, features : str
        What one and several are called.
    name : str
        The word before the name of a sample.
    data : str
        What samples are made of.
    everything : str
        All samples together, of which a topic has a share.
    weights : str
        The values of the matrix that is factorised.
    baseline : str
        What the simple methods see.
    order : str
        How the first features of a topic are chosen, in a word.
    first : str
        The same in a sentence.
    """

    sample: str = "document"
    samples: str = "documents"
    feature: str = "word"
    features: str = "words"
    name: str = "id"
    data: str = "texts"
    everything: str = "the corpus"
    weights: str = "the documents’ tf-idf weights"
    baseline: str = "the same tf-idf"
    order: str = "coherent"
    first: str = "The first words belong to the topic and occur together in its documents."

    def count(self, n: int) -> str:
        """Return a number of samples.

        Examples
        --------
        >>> Nouns().count(1), Nouns().count(2000)
        ('1 document', '2,000 documents')
        """
        return f"{n:,} {self.sample if n == 1 else self.samples}"

    def heading(self, name: str) -> str:
        """Return the heading of a column, given its name for texts.

        Examples
        --------
        >>> CELLS.heading("documents"), CELLS.heading("words 1"), CELLS.heading("recall")
        ('cells', 'genes 1', 'recall')
        """
        own = {"document": self.sample, "documents": self.samples, "word": self.feature}
        own["words"] = self.features
        return " ".join(own.get(word, word) for word in name.split(" "))


TEXTS = Nouns()
CELLS = Nouns(
    sample="cell",
    samples="cells",
    feature="gene",
    features="genes",
    name="cell",
    data="counts",
    everything="all cells",
    weights="the cells’ counts",
    baseline="logarithms of counts per 10,000, scaled to rows of length one, of the same genes",
    order="specific",
    first="The first genes are those that are most specific to the topic.",
)
