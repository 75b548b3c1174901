"""Model folders: what comes back, what is refused, and what a killed save leaves."""

import hashlib
import json
import os
import shutil
import stat
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import cofactor
from cofactor import (
    NMF,
    Factors,
    ModelFormatError,
    SSNMFClassifier,
    SSNMFRegressor,
    TopicModel,
    load_model,
    noise,
    priors,
)
from cofactor.io import atomic, manifests, npy
from cofactor.io.json_text import to_json_file
from cofactor.io.models import manifest, read_facts
from cofactor.text import WordVectorizer

GOLDEN = Path(__file__).parent / "golden"
TEXTS = [
    "the goalie saved the puck", "a late goal won the hockey game", "puck and goal",
    "the orbit of the moon", "a rocket to the moon", "rocket fuel and orbit",
]  # fmt: skip
LABELS = ["sport", "", "", "space", "", ""]


@pytest.fixture(scope="module")
def model():
    return TopicModel(2, random_state=0).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).poisson(2.0, (12, 7)).astype(float)


@pytest.fixture
def folder(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def same(one, other):
    """Whether two topic models are equal in all that they know and say."""
    texts = [*TEXTS, "", "puck moon"]
    return (
        one.topics() == other.topics()
        and one.documents() == other.documents()
        and one.classes() == other.classes()
        and np.array_equal(one.predict_proba(texts), other.predict_proba(texts))
        and np.array_equal(one.estimator_.representation_, other.estimator_.representation_)
        and repr(one) == repr(other)
    )


def resign(folder, change):
    """Change the manifest and make it look untouched."""
    path = folder / "manifest.json"
    content = json.loads(path.read_bytes())
    change(content)
    content = manifests.signed(content)
    path.write_bytes(to_json_file(content))


def rewrite(folder, name, change):
    """Change a JSON file and make the manifest agree."""
    content = json.loads((folder / name).read_bytes())
    change(content)
    replace(folder, name, to_json_file(content))


def replace(folder, name, data):
    (folder / name).write_bytes(data)

    def declare(content):
        sha256 = hashlib.sha256(data).hexdigest()
        content["files"][name] = {"bytes": len(data), "sha256": sha256}

    resign(folder, declare)


# --- there and back ------------------------------------------------------------------------------


def test_a_folder_has_what_is_documented(folder):
    names = {path.name for path in folder.iterdir()}
    assert names == {*manifest.FILES, "manifest.json", "README.md"}
    assert sorted(os.listdir(folder.parent)) == ["model"]
    with np.load(folder / "factors.npz", allow_pickle=False) as found:
        assert found["model.estimator_.components_"].shape == (2, 12)
    content = json.loads((folder / "manifest.json").read_text())
    assert content["schema"] == manifest.SCHEMA
    assert content["seed"] == 0
    assert content["data"]["targets"] == ["space", "sport"]
    assert content["shape"] == {"topics": 2, "features": 12, "samples": 6, "targets": 2}
    assert content["versions"]["numpy"] == np.__version__


def test_topic_models_come_back_equal(model, folder):
    again = load_model(folder)
    assert same(model, again)
    assert again.get_params() == model.get_params()
    assert again.estimator_.history_ == model.estimator_.history_
    text = "moon puck rocket unseen"
    assert np.array_equal(again.explain(text).class_parts, model.explain(text).class_parts)
    again.save(folder)
    assert same(model, load_model(folder))


def test_a_refit_from_the_folder_gives_the_same_bits(folder, model):
    again = load_model(folder)
    again.set_params(random_state=again.seed_).fit(TEXTS, LABELS)
    assert again.fingerprint_ == model.fingerprint_
    assert np.array_equal(again.estimator_.components_, model.estimator_.components_)


def test_notes_are_kept(model, folder):
    assert read_facts(folder)["notes"] == {}
    model.save(folder, notes={"text": "body", "labels": ["team", 3, None]})
    facts = read_facts(folder)
    assert facts["notes"] == {"text": "body", "labels": ["team", 3, None]}
    assert facts["data"]["fingerprint"] == model.fingerprint_
    assert facts["timings"].keys() == {"vectorise", "fit", "describe"}
    with pytest.raises(TypeError, match="JSON"):
        model.save(folder, notes={"a": object()})
    assert same(load_model(folder), model)
    with pytest.raises(ModelFormatError, match="does not exist"):
        read_facts(folder / "nothing")


ESTIMATORS = {
    "nmf": (NMF(3, random_state=0), None),
    "float labels": (SSNMFClassifier(3, random_state=0), np.array([0.0, 1.0, np.nan] * 4)),
    "strings": (SSNMFClassifier(3, random_state=0), np.array(["ä", "", "b"] * 4)),
    "objects": (SSNMFClassifier(3, random_state=0), np.array(["ä", None, "b"] * 4, dtype=object)),
    "integers": (SSNMFClassifier(3, random_state=0), np.array([7, -1, 9] * 4, dtype=np.int32)),
    "booleans": (SSNMFClassifier(3, random_state=0), np.array([True, False, True] * 4)),
    "no label": (SSNMFClassifier(3, random_state=0), np.array([""] * 12)),
    "several": (SSNMFClassifier(3, random_state=0), np.eye(3)[[0, 1, 2] * 4]),
    "numbers": (SSNMFRegressor(3, random_state=0), np.linspace(-1.5, 2, 12)),
    "columns": (SSNMFRegressor(3, random_state=0), np.linspace(-1, 2, 24).reshape(12, 2)),
    "noise": (
        SSNMFRegressor(
            3, data_loss=noise.Poisson(), target_loss=noise.Gaussian(0.3), random_state=0
        ),
        np.linspace(0, 2, 12),
    ),
    "losses": (
        SSNMFClassifier(
            3, data_loss=cofactor.divergences.Frobenius, target_loss="frobenius", random_state=1
        ),
        np.array([0, 1, -1] * 4),
    ),
    "priors": (
        NMF(
            3,
            priors={
                "samples": [priors.L1(0.1), priors.L2(0.2)],
                "features": priors.Gamma(np.full((7, 3), 1.5), 0.5),
            },
            random_state=0,
        ),
        None,
    ),
    "given start": (NMF(2, init=Factors(np.ones((12, 2)), np.arange(1.0, 15).reshape(7, 2))), None),
    "random state": (NMF(2, random_state=np.random.RandomState(3)), None),
    "numpy numbers": (NMF(np.int64(2), tol=np.float64(1e-3), random_state=np.int64(3)), None),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_come_back_equal(name, dtype, X, tmp_path):
    estimator, y = ESTIMATORS[name]
    estimator.fit(X.astype(dtype), y)
    cofactor.save(estimator, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert type(again) is type(estimator)
    assert again.components_.dtype == dtype
    for attribute in ("components_", "representation_", "target_components_"):
        if hasattr(estimator, attribute):
            assert np.array_equal(getattr(again, attribute), getattr(estimator, attribute))
    new = np.random.default_rng(1).poisson(2.0, (5, 7)).astype(dtype)
    assert np.array_equal(again.transform(new), estimator.transform(new))
    if hasattr(estimator, "target_components_"):
        expected = estimator.predict(new)
        assert np.array_equal(again.predict(new), expected)
        assert again.predict(new).dtype.kind == expected.dtype.kind
    public = {n for n in vars(estimator) if n.endswith("_")}
    assert {n for n in vars(again) if n.endswith("_")} == public
    assert again.history_ == estimator.history_


def test_feature_names_come_back(X, tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abcdefg"))
    estimator = NMF(2, random_state=0).fit(table)
    cofactor.save(estimator, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.feature_names_in_.tolist() == list("abcdefg")
    assert np.array_equal(again.transform(table), estimator.transform(table))


VECTORIZERS = [
    WordVectorizer(ngram_range=(1, 2), stop_words=["the"], min_df=1, max_features=9),
    TfidfVectorizer(stop_words="english", sublinear_tf=True),
    TfidfVectorizer(use_idf=False),
    CountVectorizer(dtype=np.float64),
    CountVectorizer(vocabulary=["moon", "puck", "goal", "rocket", "orbit"]),
]


@pytest.mark.parametrize("vectorizer", VECTORIZERS, ids=str)
def test_vectorizers_come_back_equal(vectorizer, tmp_path):
    model = TopicModel(2, vectorizer=vectorizer, random_state=0).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    assert same(model, load_model(tmp_path / "model"))


@pytest.mark.parametrize(
    "text", ["Ünïcode कहानी 中文", "\ud800", "</script>|`\n#", "a\x00b", '"\\']
)
def test_strange_strings_come_back(text, tmp_path):
    texts = [f"{text} moon", "puck goal", "moon rocket"]
    labels = np.array([text, "b", None], dtype=object)
    model = TopicModel(2, random_state=0).fit(texts, labels)
    model.topic_names_[0] = text
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.predict(texts).tolist() == model.predict(texts).tolist()
    assert again.topic_names_ == model.topic_names_
    assert "<script>" not in (tmp_path / "model" / "README.md").read_text()


# --- what cannot be saved ------------------------------------------------------------------------


def test_only_fitted_models_of_ours_can_be_saved(tmp_path, X):
    with pytest.raises(NotFittedError):
        cofactor.save(NMF(), tmp_path / "model")
    with pytest.raises(TypeError, match="TfidfVectorizer; what can be saved is NMF"):
        cofactor.save(TfidfVectorizer(), tmp_path / "model")
    model = TopicModel(2, vectorizer=CountVectorizer(tokenizer=str.split, token_pattern=None))
    with pytest.raises(TypeError, match=r"tokenizer is <method 'split'.*cannot hold"):
        model.fit(TEXTS).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_other_folders_and_files_are_not_overwritten(model, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(FileExistsError, match="choose another"):
            model.save(path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_files_that_others_put_into_a_model_stay(model, folder):
    (folder / "report.html").write_text("mine")
    (folder / "figures").mkdir()
    model.save(folder)
    assert (folder / "report.html").read_text() == "mine"
    assert (folder / "figures").is_dir()
    assert sorted(os.listdir(folder.parent)) == ["model"]


def test_a_failed_save_leaves_the_old_model(model, folder, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic, "write_flushed", full)
    with pytest.raises(OSError, match="No space"):
        model.save(folder)
    assert same(load_model(folder), model)
    assert sorted(os.listdir(folder.parent)) == ["model"]


def test_without_an_exchange_the_old_model_is_found(model, folder, monkeypatch):
    monkeypatch.setattr(atomic, "_swap", lambda one, other: False)
    (folder / "report.html").write_text("mine")
    model.save(folder)
    assert same(load_model(folder), model)
    assert (folder / "report.html").exists()
    assert sorted(os.listdir(folder.parent)) == ["model"]
    folder.rename(folder.with_name(".model.previous"))  # as if killed between the two renames
    assert same(load_model(folder), model)


def test_leftovers_of_killed_saves_go_after_a_day(model, folder):
    for name, age in (("old", 2 * atomic.STALE), ("new", 60)):
        left = folder.with_name(f".model.saving-{name}")
        left.mkdir()
        (left / "config.json").write_text("{}")
        os.utime(left, (time.time() - age, time.time() - age))
    model.save(folder)
    assert sorted(os.listdir(folder.parent)) == [".model.saving-new", "model"]


# --- what is refused -----------------------------------------------------------------------------


def refuse(folder, match):
    with pytest.raises(ModelFormatError, match=match) as caught:
        load_model(folder)
    message = str(caught.value)
    assert message.endswith(".")
    assert str(folder) in message


def test_places_without_a_model(tmp_path):
    refuse(tmp_path / "nothing", "does not exist")
    refuse(tmp_path, "has no manifest.json")
    (tmp_path / "file").write_text("x")
    refuse(tmp_path / "file", "is a file")
    with pytest.raises(ModelFormatError):
        load_model("a\x00b")


@pytest.mark.parametrize("name", [*manifest.FILES, "manifest.json"])
def test_missing_empty_cut_and_longer_files(folder, name):
    content = (folder / name).read_bytes()
    for data in (b"", content[:-2], content[: len(content) // 2], content + b" x"):
        (folder / name).write_bytes(data)
        refuse(folder, name)
    (folder / name).unlink()
    refuse(folder, name)


@pytest.mark.parametrize("name", [*manifest.FILES, "manifest.json"])
def test_links_and_pipes_are_not_followed(folder, name, tmp_path):
    moved = tmp_path / "elsewhere"
    (folder / name).rename(moved)
    (folder / name).symlink_to(moved)
    refuse(folder, "not a plain file")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    refuse(folder, "not a plain file")
    (folder / name).unlink()
    (folder / name).mkdir()
    refuse(folder, "not a plain file")


def test_a_sparse_file_of_a_terabyte(folder):
    with open(folder / "factors.npz", "r+b") as file:
        file.truncate(2**40)
    refuse(folder, "factors.npz has 1099511627776 bytes, more than")
    with open(folder / "manifest.json", "r+b") as file:
        file.truncate(2**40)
    refuse(folder, "manifest.json has 1099511627776 bytes, more than")


def test_huge_declared_shapes(folder):
    def grow(content):
        content["arrays"]["model.estimator_.components_"]["shape"] = [2**31, 2**31]

    resign(folder, grow)
    refuse(folder, r"declares the shape \(2147483648, 2147483648\), more than the \d+ bytes")


@pytest.mark.parametrize("shape", [[3, 8], [-2, -12], [2.0, 12], [True, 24], "ab", [[2], 12], [24]])
def test_wrong_declared_shapes(folder, shape):
    def change(content):
        content["arrays"]["model.estimator_.components_"]["shape"] = shape

    resign(folder, change)
    refuse(folder, "components_")


def test_a_newer_schema_asks_for_an_upgrade(folder):
    resign(folder, lambda content: content.update(schema=2))
    refuse(folder, "schema 2, written by a newer cofactor.*upgrade")


def test_swapped_arrays(folder):
    with np.load(folder / "factors.npz") as found:
        held = {name: found[name] for name in found.files}
    one, other = "model.document_topics_", "model.estimator_.representation_"
    held[one], held[other] = held[other], held[one]
    replace(folder, "factors.npz", npy.pack(held))
    refuse(folder, "npy has other values than when it was saved")


def test_pickles_are_refused(folder):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    with zipfile.ZipFile(folder / "factors.npz") as archive:
        names = archive.namelist()
    with zipfile.ZipFile(folder / "factors.npz", "w") as archive:
        for name in names:
            with archive.open(name, "w") as member:
                np.lib.format.write_array(member, np.array([Trap()] * 12), allow_pickle=True)
    replace(folder, "factors.npz", (folder / "factors.npz").read_bytes())
    refuse(folder, r"factors.npz")


def test_deflated_bombs_are_refused(folder):
    with zipfile.ZipFile(folder / "factors.npz") as archive:
        names = archive.namelist()
    with zipfile.ZipFile(folder / "factors.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, bytes(2**26))
    replace(folder, "factors.npz", (folder / "factors.npz").read_bytes())
    refuse(folder, "factors.npz|declares")


def test_members_outside_the_archive_are_refused(folder):
    with zipfile.ZipFile(folder / "factors.npz", "a") as archive:
        archive.writestr("../../escape.npy", b"x")
    replace(folder, "factors.npz", (folder / "factors.npz").read_bytes())
    refuse(folder, "does not hold the arrays")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda c: c.update(type="os.system"), "unknown type 'os.system'"),
        (lambda c: c.update(__class__="x"), "TopicModel has no '__class__'"),
        (lambda c: c["estimator_"].update(transform=1), "has no 'transform'"),
        (lambda c: c.update(estimator_=None), "estimator_ is no estimator"),
        (lambda c: c.update(topic_names_=["a"]), "topic_names_"),
        (lambda c: c["parameters"]["items"].update(n_components=-1), "n_components"),
        (lambda c: c["parameters"]["items"].update(other=1), "no parameter"),
        (lambda c: c["estimator_"]["_units"].update(data="x"), "_units.*exponent"),
        (lambda c: c["estimator_"].update(_has_head=False), "_has_head"),
        (lambda c: c["estimator_"].pop("components_"), "it has no components_"),
        (lambda c: c["estimator_"].update(n_features_in_=13), "components_ has shape"),
        (lambda c: c["estimator_"].update(components_=[[1.0]]), "components_"),
        (lambda c: c.update(coherence_=c["document_topics_"]), "names another array"),
        (lambda c: c.clear(), "no type"),
    ],
)
def test_signed_nonsense(folder, change, match):
    rewrite(folder, "config.json", change)
    refuse(folder, match)


def test_words_and_classes_must_fit_the_factors(folder):
    rewrite(folder, "vocabulary.json", lambda c: c["items"].pop())
    refuse(folder, "11|12")


def test_repeated_words(folder):
    rewrite(folder, "vocabulary.json", lambda c: c["items"].__setitem__(0, c["items"][1]))
    refuse(folder, "a word occurs twice")


@pytest.mark.parametrize(
    "data", [b"[" * 10**5, b"1" * 10**5, b'{"a": NaN}', b'{"a": 1, "a": 1}', b"\xff", b"null", b"7"]
)
@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "classes.json"])
def test_hostile_json(folder, name, data):
    replace(folder, name, data)
    refuse(folder, ".")
    (folder / "manifest.json").write_bytes(data)
    refuse(folder, "manifest.json")


# --- mutations -----------------------------------------------------------------------------------


def mutate(data, random):
    """Flip, cut, repeat, insert or exchange bytes."""
    place = int(random.integers(len(data)))
    other = int(random.integers(len(data)))
    low, high = min(place, other), max(place, other)
    digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
    kind = random.integers(7 if digits else 5)
    if kind == 0:
        return (
            data[:place] + bytes([data[place] ^ (1 << int(random.integers(8)))]) + data[place + 1 :]
        )
    if kind == 1:
        return data[:place]
    if kind == 2:
        return data[:low] + data[high:]
    if kind == 3:
        return data[:high] + data[low:high] + data[high:]
    if kind == 4:
        return data[:place] + random.bytes(int(random.integers(1, 9))) + data[place:]
    if kind == 5:
        place = digits[int(random.integers(len(digits)))]
        return data[:place] + b"%d" % random.integers(10**6) + data[place + 1 :]
    return data[:place] + random.bytes(min(16, len(data) - place)) + data[place + 16 :]


def test_ten_thousand_mutated_copies(model, tmp_path):
    resource = pytest.importorskip("resource")
    fast = Path("/dev/shm")
    home = fast / f"cofactor-{os.getpid()}" if os.access(fast, os.W_OK) else tmp_path / "fast"
    try:
        model.save(home)
        originals = {path.name: path.read_bytes() for path in home.iterdir()}
        names, random, refused = [*manifest.FILES, "manifest.json"], np.random.default_rng(0), 0
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(10_000):
            name = names[i % len(names)] if i % 50 else "README.md"
            data = mutate(originals[name], random)
            if name.endswith("npz") and i % 2:  # look past the digest of the whole file
                replace(home, name, data)
            else:
                (home / name).write_bytes(data)
            try:
                again = load_model(home)
            except ModelFormatError:
                refused += 1
            else:
                assert same(model, again)
            (home / name).write_bytes(originals[name])
            (home / "manifest.json").write_bytes(originals["manifest.json"])
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    finally:
        shutil.rmtree(home, ignore_errors=True)
    assert refused > 9000
    assert grown < 64 * 1024  # kilobytes


def test_a_save_that_is_killed_leaves_the_old_model_or_the_new(run_script, tmp_path):
    """In one process that forks, so that scikit-learn is imported once and not 31 times."""
    code = """
        import os, random, signal, sys, time
        import numpy as np
        from cofactor import NMF, load_model, save

        path = sys.argv[1]
        X = np.random.default_rng(0).random((400, 200))
        models = [NMF(k, max_iter=2, tol=0, random_state=0).fit(X) for k in (3, 5)]
        start = time.perf_counter()
        save(models[0], path)
        took = time.perf_counter() - start
        random.seed(0)
        seen = []
        while len(seen) < 30 or (len(set(seen)) < 2 and len(seen) < 300):
            child = os.fork()
            if not child:
                for turn in range(10**6):
                    save(models[(len(seen) + turn) % 2], path)
            time.sleep(random.uniform(0.1, 5.0) * took)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            again = load_model(path)
            one = models[again.n_components == 5]
            assert np.array_equal(again.components_, one.components_)
            seen.append(again.n_components)
        save(models[1], path)
        assert load_model(path).n_components == 5
        print(len(seen) >= 30, sorted(set(seen)))
    """
    assert run_script(code, tmp_path / "model").strip() == "True [3, 5]"


def test_readers_never_see_half_a_save(run_script, tmp_path):
    code = """
        import os, signal, sys, time
        import numpy as np
        from cofactor import NMF, load_model, save

        path = sys.argv[1]
        X = np.random.default_rng(0).random((40, 20))
        models = [NMF(k, random_state=0).fit(X) for k in (2, 3)]
        save(models[0], path)
        child = os.fork()
        if not child:
            for turn in range(10**6):
                save(models[turn % 2], path)
        try:
            end = time.monotonic() + 2
            seen = {load_model(path).n_components for _ in iter(lambda: time.monotonic() < end, 0)}
        finally:
            os.kill(child, signal.SIGKILL)
        print(sorted(seen))
    """
    assert run_script(code, tmp_path / "model").strip() == "[2, 3]"


def test_permissions_follow_the_umask(model, tmp_path):
    old = os.umask(0o027)
    try:
        model.save(tmp_path / "model")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o750


# --- golden models -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("schema-*")), ids=lambda path: path.name)
def test_golden_models_load_and_predict_as_ever(path):
    expected = json.loads((path / "expected.json").read_text())
    again = load_model(path)
    assert type(again).__name__ == expected["model"]
    documents = again.documents(expected["texts"])
    assert documents.column("prediction") == expected["predictions"]
    np.testing.assert_allclose(documents.column("confidence"), expected["confidences"], rtol=1e-8)
    assert [list(topic.words) for topic in again.topics(3)] == expected["words"]


def test_there_is_a_golden_model_of_this_schema():
    assert (GOLDEN / f"schema-{manifest.SCHEMA}" / "manifest.json").exists()
