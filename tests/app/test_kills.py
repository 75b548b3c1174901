"""The app killed at random moments while scripts label: nothing acknowledged is lost."""

import http.client
import os
import random
import signal
import threading

import pytest
from sklearn.metrics import cohen_kappa_score

import cofactor
from app_corpus import make_texts
from app_processes import Client, start_app
from cofactor.app.decisions import DecisionLog, Reviewed
from cofactor.app.text_queue import each_key
from commands import write_table

ROUNDS = int(os.environ.get("COFACTOR_KILLS", 2))


@pytest.mark.slow
def test_nothing_acknowledged_is_lost(tmp_path):
    texts, truth = make_texts(600, seed=1)
    table = write_table(tmp_path / "posts.csv", [[str(i), t, ""] for i, t in enumerate(texts)])
    keys, draw, acknowledged = list(each_key(texts)), random.Random(0), {}
    for turn in range(ROUNDS):
        process = start_app(table)
        client = Client(process)
        for name in () if turn else ("space", "sport", "food"):
            client.change("make-class", tab="t", name=name)
        kill = threading.Timer(draw.uniform(0.2, 3), process.send_signal, [signal.SIGKILL])
        kill.start()
        while True:
            place = draw.randrange(len(texts))
            try:
                client.change("label", tab="t", document=place, labels=[truth[place]])
            except (OSError, http.client.HTTPException):
                break
            acknowledged[keys[place]] = (truth[place],)
        process.communicate()
        kill.join()
        reviewed = Reviewed()
        reviewed.apply(DecisionLog(tmp_path / "model.decisions.jsonl").read())
        found = {key: review.labels for key, review in reviewed.reviews.items()}
        assert {key: found.get(key) for key in acknowledged} == acknowledged
        assert len(found) - len(acknowledged) <= turn + 1  # the decisions in flight
        cofactor.load_model(tmp_path / "model")


class Person:
    """Labels what the app shows, in a process that may be killed at any moment."""

    def __init__(self, table, name, labels):
        self.table, self.name, self.labels = table, name, labels
        self.acknowledged = {}
        self.start()

    def start(self):
        options = ("--annotator", self.name, "--overlap", "0.3")
        self.process = start_app(self.table, "--label", "team", *options)
        self.client = Client(self.process)

    def label_one(self):
        """Label the next text; return False if there is none for this person."""
        shown = self.client.read("next", tab=self.name)["document"]
        if shown is None:
            return False
        place = shown["document"]
        self.client.change(
            "label", tab=self.name, document=place, labels=[self.labels[place]], create=True
        )
        self.acknowledged[place] = self.labels[place]
        return True

    def is_killed(self, seconds):
        """Kill the process while it works, and start it again."""
        kill = threading.Timer(seconds, self.process.send_signal, [signal.SIGKILL])
        kill.start()
        try:
            while self.label_one() or kill.is_alive():
                pass
        except (OSError, http.client.HTTPException):
            pass
        kill.join()
        self.process.communicate()
        self.start()


def naive_alpha(pairs):
    """Krippendorff's alpha of nominal labels by two people, by all pairs of values."""
    values = [value for pair in pairs for value in pair]
    observed = sum(one != other for one, other in pairs) / len(pairs)
    differ = sum(one != other for one in values for other in values)
    return 1 - observed / (differ / (len(values) * (len(values) - 1)))


@pytest.mark.slow
def test_two_people_and_two_processes_lose_nothing(tmp_path):
    texts, truth = make_texts(100, seed=2)
    other = [truth[(place + 1) % 100] if place % 4 == 0 else truth[place] for place in range(100)]
    table = write_table(tmp_path / "posts.csv", [[str(i), t, ""] for i, t in enumerate(texts)])
    people, draw = [Person(table, "Ada", truth), Person(table, "Bo", other)], random.Random(0)
    for turn in range(ROUNDS):
        people[1 - turn % 2].label_one()
        people[turn % 2].is_killed(draw.uniform(0, 0.15))
    while any([one.label_one() for one in people]):  # noqa: C419
        pass
    agreement = people[0].client.read("progress")["agreement"]
    for one in people:
        one.process.send_signal(signal.SIGINT)
        one.process.communicate(timeout=60)

    reviewed, keys = Reviewed(), list(each_key(texts))
    reviewed.apply(DecisionLog(tmp_path / "model.decisions.jsonl").read())
    logged = {
        name: {
            place: one.labels[0]
            for place, key in enumerate(keys)
            for who, one in reviewed.opinions[key].items()
            if who == name
        }
        for name in ("Ada", "Bo")
    }
    for one in people:
        assert one.acknowledged.items() <= logged[one.name].items()
    assert logged["Ada"].keys() | logged["Bo"].keys() == {*range(100)}
    both = sorted(logged["Ada"].keys() & logged["Bo"].keys())
    assert 15 <= len(both) <= 45
    pairs = [(logged["Ada"][place], logged["Bo"][place]) for place in both]
    (pair,) = agreement["pairs"]
    assert agreement["texts"] == pair["texts"] == len(both)
    expected = cohen_kappa_score(*zip(*pairs, strict=True))
    assert pair["kappa"] == pytest.approx(expected, abs=1e-12)
    assert agreement["alpha"] == pytest.approx(naive_alpha(pairs), abs=1e-12)
