"""Ctrl-C around the iterations of a fit: the old model, or a whole new one; never half of one."""

import copy
import itertools
import os
import threading
import time
import warnings

import numpy as np
import pytest

from cofactor import TopicModel, load_model
from cofactor.engine.solvers.coordinate import CoordinateDescent
from cofactor.estimators.base import FitInterruptedWarning
from cofactor.report import evaluation, refits
from cofactor.report.material import read_material
from cofactor.text.describe import summaries
from cofactor.text.describe.compare import repeat_fit
from cofactor.text.fitting import finish_fit
from cofactor.text.vectorizer.word_vectorizer import WordVectorizer
from commands import cofactor, make_rows, write_table

ROWS = make_rows(60)
TEXTS, LABELS = [row[1] for row in ROWS], [row[2] for row in ROWS]


def make(**settings):
    return TopicModel(3, random_state=0, **settings)


@pytest.fixture
def interrupt(monkeypatch):
    """A function that lets the first calls of another one be interrupted."""

    def arrange(home, name, times=1, after=0):
        whole, calls = getattr(home, name), []

        def interrupted(*arguments, **options):
            calls.append(name)
            if after < len(calls) <= after + times:
                raise KeyboardInterrupt
            return whole(*arguments, **options)

        monkeypatch.setattr(home, name, interrupted)
        return calls

    return arrange


BEFORE = {
    "words": (WordVectorizer, "fit_transform"),
    "start": ("cofactor.estimators.setup", "class_start"),
    "first iteration": (CoordinateDescent, "step"),
}


def place(case):
    from importlib import import_module

    home, name = BEFORE[case]
    return (import_module(home) if isinstance(home, str) else home), name


@pytest.mark.parametrize("case", BEFORE)
def test_before_the_iterations_nothing_changes(interrupt, case):
    model = make().fit(TEXTS, LABELS)
    before = copy.copy(vars(model))
    interrupt(*place(case))
    with pytest.raises(KeyboardInterrupt):
        model.fit(TEXTS[::-1], LABELS[::-1])
    assert vars(model) == before
    fresh = make()
    interrupt(*place(case))
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(TEXTS, LABELS)
    assert not hasattr(fresh, "estimator_")


@pytest.mark.parametrize("case", BEFORE)
def test_the_command_ends_cleanly_before_the_iterations(interrupt, tmp_path, case):
    path = write_table(tmp_path / "a.csv", ROWS)
    interrupt(*place(case))
    done = cofactor(
        "fit", path, "--text", "body", "--label", "team", "-k", 3, "-o", tmp_path / "m", code=130
    )
    assert done.stderr.endswith("Interrupted; no file was changed.\n")
    assert done.stdout == ""
    assert os.listdir(tmp_path) == ["a.csv"]


def test_after_the_iterations_the_model_is_completed(interrupt):
    calls = interrupt(summaries, "npmi_coherence")
    with pytest.warns(FitInterruptedWarning, match="the model is complete"):
        model = make().fit(TEXTS, LABELS)
    assert len(calls) == 2
    whole = make().fit(TEXTS, LABELS)
    assert np.array_equal(model.document_topics_, whole.document_topics_)
    assert np.array_equal(model.coherence_, whole.coherence_)
    assert np.array_equal(model.topic_words_, whole.topic_words_)
    assert model.documents(TEXTS) == whole.documents(TEXTS)


def test_an_interrupted_fit_shows_words(interrupt):
    interrupt(CoordinateDescent, "step", after=2)
    with pytest.warns(FitInterruptedWarning):
        model = make().fit(TEXTS, LABELS)
    assert model.n_iter_ == 2
    assert (model.topic_words_[:, 0] >= 0).any()
    assert all(len(topic.words) == 10 for topic in model.topics())


def test_a_second_interrupt_after_the_iterations_gives_up(interrupt):
    interrupt(summaries, "npmi_coherence", times=2)
    model = make()
    with pytest.warns(FitInterruptedWarning), pytest.raises(KeyboardInterrupt):
        model.fit(TEXTS, LABELS)
    assert not hasattr(model, "estimator_")


def test_the_command_keeps_a_completed_model(interrupt, tmp_path):
    path = write_table(tmp_path / "a.csv", ROWS)
    interrupt(summaries, "npmi_coherence")
    done = cofactor(
        "fit", path, "--text", "body", "--label", "team", "-k", 3, "-o", tmp_path / "m", code=130
    )
    assert "the model is complete" in done.stderr
    assert "Wrote the model" in done.stderr
    assert load_model(tmp_path / "m").predict(["rocket moon"]).tolist() == ["space"]


def test_choosing_topics_for_seeds_is_given_up(interrupt):
    interrupt(CoordinateDescent, "step")
    model = make(seeds={"kitchen": ["oven", "butter"]})
    with pytest.raises(KeyboardInterrupt):
        model.fit(TEXTS, LABELS)
    assert not hasattr(model, "estimator_")


def test_fits_for_a_comparison_are_given_up(interrupt):
    model = make().fit(TEXTS, LABELS)
    interrupt(CoordinateDescent, "step", after=2)
    with pytest.raises(KeyboardInterrupt):
        evaluation.evaluate(read_material(model, TEXTS, LABELS, None))
    interrupt(CoordinateDescent, "step", after=2)
    with pytest.raises(KeyboardInterrupt):
        repeat_fit(model, lambda again: again.fit(TEXTS, LABELS))


@pytest.mark.slow
def test_fits_side_by_side_are_given_up_together(monkeypatch):
    model = make(n_jobs=2, head="refit").fit(TEXTS, LABELS)  # whose report refits every fold
    whole, made = CoordinateDescent.step, []

    def endless(solver, objective, state, threads):
        made.append(threading.current_thread())
        while len(set(made)) < 2:  # both are under way
            time.sleep(0.001)
        if made[0] is threading.current_thread():
            raise KeyboardInterrupt
        return whole(solver, objective, state, threads)

    monkeypatch.setattr(CoordinateDescent, "step", endless)
    model.__dict__.update(tol=0.0, max_iter=5000)
    with pytest.raises(KeyboardInterrupt):
        evaluation.evaluate(read_material(model, TEXTS, LABELS, None))
    assert len(made) < 1000  # the other fit was told


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_that_fails_beside_others_says_why(monkeypatch, n_jobs):
    model, whole = make(n_jobs=n_jobs).fit(TEXTS, LABELS), refits.fit_estimator
    count = itertools.count()

    def failing(*given, **settings):
        if next(count) == 1:
            raise ValueError("the second fit went wrong")
        return whole(*given, **settings)

    monkeypatch.setattr(refits, "fit_estimator", failing)
    model.__dict__.update(tol=0.0, max_iter=2000)
    with pytest.raises(ValueError, match="the second fit went wrong"):
        evaluation.evaluate(read_material(model, TEXTS, LABELS, None))


@pytest.mark.parametrize("verb", ["report", "verify"])
def test_commands_that_fit_again_end_at_once(interrupt, tmp_path, verb):
    path = write_table(tmp_path / "a.csv", ROWS)
    cofactor(
        "fit", path, "--text", "body", "--label", "team", "-k", 3, "--jobs", 1, "-o", tmp_path / "m"
    )
    (tmp_path / "r.html").write_text("old")
    calls = interrupt(CoordinateDescent, "step", after=2)
    output = ["-o", tmp_path / "r.html", "--force"] if verb == "report" else []
    done = cofactor(verb, tmp_path / "m", *output, code=130)
    assert len(calls) == 3
    assert done.stderr.endswith("Interrupted; no file was changed.\n")
    assert (tmp_path / "r.html").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "m", "r.html"]


def test_a_step_without_interrupt_is_done_once():
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert finish_fit(lambda: seen.append(1) or 7) == 7
    assert seen == [1]
