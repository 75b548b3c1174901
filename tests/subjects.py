"""A small corpus of three subjects."""

import numpy as np

SUBJECTS = {
    "space": "moon orbit rocket nasa launch shuttle lunar satellite",
    "sport": "puck goal hockey team game season player coach",
    "faith": "god church bible jesus faith prayer gospel sin",
}
NOISE = "people time year way thing world day life"


def make_corpus(n=120, seed=0):
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for i in range(n):
        label = list(SUBJECTS)[i % 3]
        own = random.choice(SUBJECTS[label].split(), 8)
        texts.append(" ".join([*own, *random.choice(NOISE.split(), 4)]))
        labels.append(label)
    return texts, np.array(labels, dtype=object)


TEXTS, LABELS = make_corpus()
SOME = np.where(np.arange(len(LABELS)) < 12, LABELS, "")
UNSEEN = ["rocket to the moon", "the hockey goal", "god and sin", "", "zzz", "moon puck bible"]
