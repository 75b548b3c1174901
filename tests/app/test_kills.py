"""The app killed at random moments while a script labels: nothing acknowledged is lost."""

import http.client
import json
import os
import random
import re
import signal
import threading

import pytest

import cofactor
from app_corpus import make_texts
from app_processes import start_app
from cofactor.app.decisions import DecisionLog, Reviewed
from cofactor.app.text_queue import each_key
from commands import write_table

ROUNDS = int(os.environ.get("COFACTOR_KILLS", 2))


def start(table):
    """Start the app; return its process, and a function that changes something."""
    process = start_app(table)
    found = filter(None, (re.search(r"//(\S+):(\d+)/\?token=(\S+)", one) for one in process.stderr))
    host, port, token = next(found).groups()
    opened = http.client.HTTPConnection(host, int(port), timeout=30)
    opened.request("GET", f"/?token={token}", headers={"Connection": "close"})
    cookie = opened.getresponse().headers["set-cookie"].partition(";")[0]
    opened.close()
    headers = {
        "Cookie": cookie,
        "Origin": f"http://{host}:{port}",
        "X-Cofactor": token,
        "Content-Type": "application/json",
        "Connection": "close",
    }

    def change(address, **content):
        connection = http.client.HTTPConnection(host, int(port), timeout=30)
        connection.request("POST", f"/api/{address}", json.dumps(content), headers)
        assert connection.getresponse().status == 200
        connection.close()

    return process, change


@pytest.mark.slow
def test_nothing_acknowledged_is_lost(tmp_path):
    texts, truth = make_texts(600, seed=1)
    table = write_table(tmp_path / "posts.csv", [[str(i), t, ""] for i, t in enumerate(texts)])
    keys, draw, acknowledged = list(each_key(texts)), random.Random(0), {}
    for turn in range(ROUNDS):
        process, change = start(table)
        for name in () if turn else ("space", "sport", "food"):
            change("make-class", tab="t", name=name)
        kill = threading.Timer(draw.uniform(0.2, 3), process.send_signal, [signal.SIGKILL])
        kill.start()
        while True:
            place = draw.randrange(len(texts))
            try:
                change("label", tab="t", document=place, labels=[truth[place]])
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
