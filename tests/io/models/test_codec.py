"""Model folders that are signed but make no sense are refused."""

import pytest

from model_folders import refuse, replace, rewrite


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda c: c.update(type="os.system"), "unknown type 'os.system'"),
        (lambda c: c.update(__class__="x"), "TopicModel has no '__class__'"),
        (lambda c: c["estimator_"].update(transform=1), "has no 'transform'"),
        (lambda c: c.update(estimator_=None), "estimator_ is not an estimator"),
        (lambda c: c.update(topic_names_=["a"]), "topic_names_"),
        (lambda c: c["parameters"]["items"].update(n_components=-1), "n_components"),
        (lambda c: c["parameters"]["items"].update(other=1), "no parameter"),
        (lambda c: c["estimator_"]["_units"].update(data="x"), "_units.*data is not a number"),
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
