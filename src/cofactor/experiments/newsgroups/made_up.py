"""A small made-up corpus with the classes and groups of the newsgroups."""

from __future__ import annotations

import numpy as np

from cofactor.experiments.made_up import document, shuffled
from cofactor.experiments.newsgroups.corpus import CLASSES, Posts


def made_posts(seed: int, per_group: int = 16) -> Posts:
    """Return posts made of words of their group, words of their class and common words."""
    random = np.random.default_rng(seed)
    members = [(label, group) for label, groups in CLASSES.items() for group in groups.values()]
    kinds = [member for member in members for _ in range(per_group)]
    subjects = sorted({name for member in members for name in member})
    texts = [document(kind, subjects, random) for kind in kinds]
    order = shuffled(texts, random)
    labels, groups = (np.array(each) for each in zip(*kinds, strict=True))
    return Posts([texts[i] for i in order], labels[order], groups[order])
