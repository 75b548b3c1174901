"""Questions of which only the grammatical words tell the class."""

import numpy as np

THINGS = ["river", "mountain", "lake", "planet", "engine", "bridge", "castle", "forest", "harbor"]
ASKED = {"place": "where is the", "number": "how many are in the", "person": "who was on the"}


def questions(n, seed=0, asked=ASKED):
    """Return n questions and their classes."""
    random, names = np.random.default_rng(seed), list(asked)
    y = [names[i % len(names)] for i in range(n)]
    return [f"{asked[name]} {' '.join(random.choice(THINGS, 3))}" for name in y], y
