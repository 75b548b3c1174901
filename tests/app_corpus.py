"""A small corpus for the tests of the app, and somebody who knows the truth."""

import numpy as np

WORDS = {
    "space": "orbit rocket moon launch shuttle planet satellite telescope crater nasa",
    "sport": "goal hockey puck league referee stadium coach season striker penalty",
    "food": "recipe oven butter sugar flour garlic onion pasta sauce cheese",
}


def make_texts(n=60, seed=0):
    """Texts and their true classes."""
    random, names = np.random.default_rng(seed), list(WORDS)
    truth = [names[i % 3] for i in range(n)]
    return [" ".join(random.choice(WORDS[name].split(), 8)) for name in truth], truth


TEXTS, TRUTH = make_texts()


def answer(session, n, by="me"):
    """Label the next n documents with the truth; return their places."""
    places = []
    for _ in range(n):
        session.refitter.wait(30)
        place = session.next(by)
        session.decide("label", by, place, labels=[TRUTH[place]])
        places.append(place)
    session.refitter.wait(30)
    return places


def make_classes(session):
    """Create the classes of the corpus."""
    for name in ("space", "sport", "food"):
        session.make_class("me", name)
