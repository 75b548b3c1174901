"""Vectors on disk: computed once, bounded, and never trusted."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cofactor import TopicModel, load_model
from cofactor.io import npy
from cofactor.io.untrusted import sha256
from cofactor.text import CachedEncoder, EncoderCacheError, encoder_cache, encoders
from static_models import subject_vectors, write_static
from subjects import LABELS, NOISE, SOME, SUBJECTS, TEXTS, UNSEEN


class Counting:
    """An encoder that notes what it was asked."""

    def __init__(self, width=3):
        self.asked, self.width = [], width

    def encode(self, texts):
        self.asked += texts
        return np.array([[len(text), text.count("a"), 1, 2][: self.width] for text in texts], float)

    def took(self):
        """Return the texts that were encoded since the last call, without the probes."""
        found = [text for text in self.asked if text not in encoders.PROBES]
        self.asked = []
        return found


def segments(folder):
    return sorted(folder.glob("*/*.npz"))


def test_texts_are_encoded_once(tmp_path):
    encoder = Counting()
    first = CachedEncoder(encoder, tmp_path).encode(["a", "b", "a", ""])
    assert encoder.took() == ["a", "b", ""]
    assert_array_equal(first, encoder.encode(["a", "b", "a", ""]))
    encoder.took()
    again = CachedEncoder(encoder, tmp_path).encode(["c", "b", "a"])
    assert encoder.took() == ["c"]
    assert_array_equal(again, encoder.encode(["c", "b", "a"]))
    assert again.dtype == np.float32


def test_encoders_do_not_share_vectors(tmp_path):
    CachedEncoder(Counting(), tmp_path).encode(["a"])
    other = Counting(2)
    assert CachedEncoder(other, tmp_path).encode(["a"]).shape == (1, 2)
    assert other.took() == ["a"]


def test_any_text_is_a_key(tmp_path):
    texts = ["\ud800", "a\0b", "é", "e\u0301", "x" * 10**6]
    encoder = Counting()
    CachedEncoder(encoder, tmp_path).encode(texts)
    encoder.took()
    assert len(CachedEncoder(encoder, tmp_path).encode(texts)) == 5
    assert encoder.took() == []


def test_the_size_is_bounded(tmp_path):
    encoder = Counting()
    cached = CachedEncoder(encoder, tmp_path, max_bytes=3000)
    for i in range(20):
        cached.encode([f"text {i}"])
        os.utime(segments(tmp_path)[0])
        assert sum(one.stat().st_size for one in segments(tmp_path)) <= 3000
    encoder.took()
    assert cached.encode(["text 19"]).shape == (1, 3)
    assert encoder.took() == []
    assert cached.encode([f"text {i}" for i in range(20)]).shape == (20, 3)  # others are computed
    assert len(encoder.took()) > 10


def test_segments_that_another_process_removed_are_computed_again(tmp_path):
    encoder = Counting()
    cached = CachedEncoder(encoder, tmp_path)
    cached.encode(["a"])
    cached.encode(["b"])
    for one in segments(tmp_path):
        one.unlink()
    encoder.took()
    assert_array_equal(cached.encode(["a", "b"]), encoder.encode(["a", "b"]))
    assert encoder.took()[:2] == ["a", "b"]


@pytest.mark.parametrize("moment", ["read", "stat"])
def test_segments_may_vanish_at_any_moment(tmp_path, monkeypatch, moment):
    encoder, vanished = Counting(), []
    CachedEncoder(encoder, tmp_path).encode(["a"])
    CachedEncoder(encoder, tmp_path).encode(["b"])
    first = segments(tmp_path)[0]

    def vanish(path):
        if path == first and not vanished:
            vanished.append(path)
            path.unlink()

    if moment == "read":
        read = encoder_cache.read_file
        monkeypatch.setattr(
            encoder_cache, "read_file", lambda path, most: [vanish(path), read(path, most)][1]
        )
    else:
        names = encoder_cache._Store._names
        monkeypatch.setattr(
            encoder_cache._Store,
            "_names",
            lambda self: [names(self), vanish(first) if len(segments(tmp_path)) > 2 else None][0],
        )
    cached = CachedEncoder(encoder, tmp_path)
    assert_array_equal(cached.encode(["a", "b", "c"]), encoder.encode(["a", "b", "c"]))
    assert vanished


def test_many_wide_vectors_are_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(encoder_cache, "MAX_SEGMENT_BYTES", 6000)
    texts, encoder = [f"text {i}" for i in range(200)], Counting()
    found = CachedEncoder(encoder, tmp_path).encode(texts)
    assert len(segments(tmp_path)) > 1
    assert max(path.stat().st_size for path in segments(tmp_path)) <= 6000
    encoder.took()
    assert_array_equal(CachedEncoder(encoder, tmp_path).encode(texts), found)
    assert encoder.took() == []


def test_copies_and_pickles_work(tmp_path):
    cached = CachedEncoder("no such encoder", tmp_path)
    for other in (copy.deepcopy(cached), pickle.loads(pickle.dumps(cached))):
        assert (other.encoder, other.folder) == ("no such encoder", tmp_path)


def _damaged(data):
    digests, vectors = np.zeros((1, 32), np.uint8), np.ones((1, 3), np.float32)
    return {
        "flipped": bytes([*data[:-300], data[-300] ^ 1, *data[-299:]]),
        "cut": data[:-10],
        "empty": b"",
        "no archive": b"x" * 100,
        "nan": npy.pack({"digests": digests, "vectors": vectors * np.nan}),
        "width": npy.pack({"digests": digests, "vectors": np.ones((1, 9), np.float32)}),
        "dtype": npy.pack({"digests": digests, "vectors": np.ones((1, 3))}),
        "digests": npy.pack({"digests": digests[:, :5], "vectors": vectors}),
        "rows": npy.pack({"digests": digests, "vectors": np.ones((4, 3), np.float32)}),
        "array": npy.pack({"digests": digests}),
        "more": npy.pack({"digests": digests, "vectors": vectors, "code": vectors}),
    }


@pytest.mark.parametrize("kind", _damaged(b"x" * 400))
@pytest.mark.parametrize("signed", [False, True])
def test_damaged_segments_are_refused_in_one_sentence(tmp_path, kind, signed):
    CachedEncoder(Counting(), tmp_path).encode(["a"])
    (path,) = segments(tmp_path)
    data = _damaged(path.read_bytes())[kind]
    if signed:  # by someone who knows how segments are named
        path.unlink()
        path = path.with_name(f"{sha256(data)[:32]}.npz")
    path.write_bytes(data)
    with pytest.raises(EncoderCacheError, match="delete its folder") as error:
        CachedEncoder(Counting(), tmp_path).encode(["a"])
    assert "\n" not in str(error.value)


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path), os.mkdir])
def test_links_pipes_and_folders_are_refused(tmp_path, make):
    CachedEncoder(Counting(), tmp_path).encode(["a"])
    (path,) = segments(tmp_path)
    path.unlink()
    make(path)
    with pytest.raises(EncoderCacheError, match="not a plain file"):
        CachedEncoder(Counting(), tmp_path).encode(["a"])


def test_other_files_do_not_matter(tmp_path):
    encoder = Counting()
    CachedEncoder(encoder, tmp_path).encode(["a"])
    folder = segments(tmp_path)[0].parent
    (folder / "notes.txt").write_text("mine")
    (folder / "x.npz").write_text("mine")
    encoder.took()
    CachedEncoder(encoder, tmp_path).encode(["a"])
    assert encoder.took() == []


def test_an_interrupted_encoding_continues(tmp_path, monkeypatch):
    monkeypatch.setattr(encoders, "TEXTS_TOGETHER", 10)

    class Interrupted(Counting):
        def encode(self, texts):
            if TEXTS[30] in texts and not self.patient:
                raise KeyboardInterrupt
            return super().encode(texts)

    encoder = Interrupted()
    encoder.patient = False
    model = TopicModel(4, encoder=CachedEncoder(encoder, tmp_path), random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(TEXTS, SOME)
    assert not hasattr(model, "estimator_")
    encoder.patient = True
    encoder.took()
    encoders.encode_texts(CachedEncoder(encoder, tmp_path), TEXTS)
    assert encoder.took() == TEXTS[30:]


KILLED = """
import sys, numpy as np
from cofactor.text import CachedEncoder
def encode(texts):
    return np.array([[len(text), hash(text) % 7 * 0 + 1.0] for text in texts])
cached = CachedEncoder(encode, sys.argv[1])
for i in range(10**6):
    cached.encode([f"text {i} {j}" for j in range(20)])
    print(i, flush=True)
"""


@pytest.mark.slow
def test_a_process_may_be_killed_at_any_time(tmp_path):
    for round in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE
        )
        process.stdout.readline()
        time.sleep(0.01 * round)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        for path in tmp_path.glob("*/[0-9a-f]*.npz"):  # each segment is whole
            assert f"{sha256(path.read_bytes())[:32]}.npz" == path.name
    CachedEncoder(Counting(2), tmp_path).encode(["a"])


def test_models_name_the_encoder_behind_a_cache(tmp_path):
    vectors = subject_vectors(map(str.split, SUBJECTS.values()), NOISE.split(), 6)
    folder = write_static(tmp_path / "static", vectors)
    cached = CachedEncoder(folder, tmp_path / "cache")
    model = TopicModel(4, encoder=cached, random_state=0).fit(TEXTS, SOME)
    plain = TopicModel(4, encoder=folder, random_state=0).fit(TEXTS, SOME)
    assert_array_equal(model.predict_proba(UNSEEN), plain.predict_proba(UNSEEN))
    words = model.explain("rocket to the moon").words
    assert words[:2] == ["moon", "rocket"]  # words have parts
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.encoder == folder
    assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    other = load_model(tmp_path / "model", encoder=cached)
    assert other.encoder is cached
    assert model.score(TEXTS, LABELS) > 0.9
