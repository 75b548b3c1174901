"""Errors and warnings that name parameters, and options in their place."""

import pickle

import pytest

from cofactor.errors import Parameter, ParameterError, ParameterWarning

OPTIONS = {"n_components": "-k", "stop_words": "--stop-words", "y": "the label column"}


@pytest.mark.parametrize(
    ("parameter", "python", "command"),
    [
        (Parameter("n_components"), "n_components", "-k"),
        (Parameter("n_components", 1000), "n_components=1000", "-k 1000"),
        (Parameter("stop_words", None), "stop_words=None", "--stop-words none"),
        (Parameter("n_components", key="a"), "n_components['a']", "-k 'a'"),
        (Parameter("max_df", 0.5), "max_df=0.5", "max_df=0.5"),
        (Parameter("n_components", True), "n_components=True", "-k"),
        (Parameter("y", ["a", "b"]), "y=['a', 'b']", "the label column 'a' the label column 'b'"),
        (Parameter("n_components", {"a": "b c"}), "n_components={'a': 'b c'}", "-k 'a=b c'"),
        (Parameter("n_components", {"a": "\x1b"}), "n_components={'a': '\\x1b'}", "-k 'a=\\x1b'"),
    ],
)
def test_a_parameter_has_two_names(parameter, python, command):
    error = ParameterError(("use ", parameter))
    assert str(error) == f"use {python}."
    assert error.sentence(OPTIONS) == f"use {command}."
    assert error.parameter is parameter


def test_remedies_without_an_option_are_left_out():
    remedies = [("lower ", Parameter("min_df")), ("pass ", Parameter("stop_words", None)), "wait"]
    error = ParameterError("No word is left", remedies)
    assert str(error) == "No word is left; lower min_df, pass stop_words=None, or wait."
    assert error.sentence(OPTIONS) == "No word is left; pass --stop-words none or wait."
    assert ParameterError("No", remedies[:1]).sentence(OPTIONS) == "No; lower min_df."


def test_plain_words_have_no_quotes_in_remedies():
    named, other = Parameter("stop_words", "german"), Parameter("stop_words", "my file")
    error = ParameterError((named, " is wrong"), [("pass ", named), other])
    assert error.sentence(OPTIONS) == (
        "--stop-words 'german' is wrong; pass --stop-words german or --stop-words 'my file'."
    )


def test_a_sentence_begins_with_a_capital_where_an_option_has_a_name_in_words():
    error = ParameterError((Parameter("y"), " has no label"), "Did you mean 'z'?")
    assert str(error) == "y has no label. Did you mean 'z'?"
    assert error.sentence(OPTIONS) == "The label column has no label. Did you mean 'z'?"


@pytest.mark.parametrize("kind", [ParameterError, ParameterWarning])
def test_they_can_be_pickled(kind):
    one = kind((Parameter("y", 3), " is odd"), ["add 1", "leave it out"])
    copy = pickle.loads(pickle.dumps(one))
    assert (type(copy), str(copy)) == (kind, "y=3 is odd; add 1 or leave it out.")


def test_braces_and_names_in_data_stay_as_they_are():
    error = ParameterError((Parameter("y"), " has the class '{y} n_components=3'"))
    assert error.sentence(OPTIONS) == "The label column has the class '{y} n_components=3'."
