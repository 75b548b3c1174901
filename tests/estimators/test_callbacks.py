"""Callbacks: scikit-learn's protocol, our three callbacks, and fits that are cut short."""

import json
import os
import signal
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import callback as of_sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from cofactor import NMF, SSNMFClassifier, SSNMFRegressor
from cofactor.callbacks import Checkpoint, CheckpointError, EarlyStop, ProgressBar, ReportIterations
from cofactor.estimators.base import FitInterruptedWarning
from cofactor.io.errors import InputError

KINDS = [NMF, SSNMFClassifier, SSNMFRegressor]
every_kind = pytest.mark.parametrize("kind", KINDS)


def make(kind, **parameters):
    given = {"n_components": 3, "max_iter": 6, "tol": 0, "random_state": 0, "solver": "mu"}
    return kind(**{**given, **parameters})


class Recorder:
    """Remembers what it was told; what it answers is up to ``answer``."""

    def __init__(self, answer=lambda count: False):
        self.answer, self.events, self.fitted, self.count = answer, [], [], 0

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name, context.task_id))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name, context.task_id))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.events.append(("end", context.task_name, context.task_id))
        if context.task_name == "iteration":
            self.count += 1
            self.fitted.append(fitted_estimator)
            return self.answer(self.count)
        return False


class Propagated(Recorder):
    """A callback that meta-estimators hand on."""

    max_propagation_depth = None


# --- the protocol --------------------------------------------------------------------------------


@every_kind
def test_every_task_that_begins_ends(X, classes, kind):
    recorder = Recorder()
    make(kind).set_callbacks(recorder).fit(X, classes)
    iterations = [(event, "iteration", i) for i in range(6) for event in ("begin", "end")]
    assert recorder.events == [
        ("setup", "fit", 0),
        ("begin", "fit", 0),
        *iterations,
        ("end", "fit", 0),
        ("teardown", "fit", 0),
    ]


@every_kind
def test_callbacks_do_not_change_the_fit(X, classes, kind):
    watched = make(kind).set_callbacks(Recorder()).fit(X, classes)
    plain = make(kind).fit(X, classes)
    assert_array_equal(watched.components_, plain.components_)
    assert watched.history_ == plain.history_
    assert hasattr(clone(watched), "_skl_callbacks")
    assert not hasattr(watched.set_callbacks(), "_skl_callbacks")


@every_kind
@pytest.mark.parametrize("head", ["joint", "refit"])
def test_callbacks_see_the_model_as_if_the_fit_had_stopped(X, classes, kind, head):
    recorder = Recorder()
    parameters = {} if kind is NMF else {"head": head}
    make(kind, **parameters).set_callbacks(recorder).fit(X, classes)
    for i, model in enumerate(recorder.fitted, start=1):
        expected = make(kind, max_iter=i, **parameters).fit(X, classes)
        assert model.n_iter_ == i
        assert model.history_ == expected.history_
        assert_array_equal(model.components_, expected.components_)
        assert_array_equal(model.representation_, expected.representation_)
        assert model.representation_.flags.c_contiguous
        assert expected.representation_.flags.c_contiguous
        assert_array_equal(model.transform(X), expected.transform(X))
        if kind is not NMF:
            assert_array_equal(model.predict(X), expected.predict(X))
            assert_array_equal(model.target_components_, expected.target_components_)


def test_at_the_end_callbacks_see_the_model_that_the_user_gets(X, classes):
    class AtTheEnd(Recorder):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            if context.task_name != "iteration":
                self.fitted.append(fitted_estimator)
            return False

    last = AtTheEnd()
    model = make(SSNMFClassifier).set_callbacks(last).fit(X, classes)
    assert last.fitted[-1].fitted is model.fitted
    assert last.fitted[-1].stop_reason_ == model.stop_reason_ != ""


@every_kind
def test_a_callback_can_stop_the_fit(X, classes, kind):
    model = make(kind).set_callbacks(Recorder(lambda count: count == 4)).fit(X, classes)
    assert model.n_iter_ == 4
    assert model.stop_reason_ == "A callback stopped the fit after 4 iterations."
    assert_array_equal(model.components_, make(kind, max_iter=4).fit(X, classes).components_)


@every_kind
def test_an_error_in_a_callback_is_the_users_to_see(X, classes, kind):
    def fail(count):
        raise RuntimeError("disk full")

    recorder = Recorder(fail)
    with pytest.raises(RuntimeError, match="disk full"):
        make(kind).set_callbacks(recorder).fit(X, classes)
    assert recorder.events[-1][0] == "teardown"


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="callbacks must be instances"):
        NMF().set_callbacks(print)


@every_kind
def test_callbacks_of_a_pipeline_reach_the_estimator(X, classes, kind):
    recorder = Propagated()
    pipeline = make_pipeline(FunctionTransformer(), make(kind))
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=".*FunctionTransformer does not support callbacks"
        )
        pipeline.set_callbacks(recorder).fit(X, classes)
    assert recorder.count == 6
    assert [event for event in recorder.events if event[1] == "fit" and event[0] != "setup"][
        -2:
    ] == [("end", "fit", 0), ("teardown", "fit", 0)]
    begun = [event[1:] for event in recorder.events if event[0] == "begin"]
    ended = [event[1:] for event in recorder.events if event[0] == "end"]
    assert sorted(map(str, begun)) == sorted(map(str, ended))
    assert not hasattr(pipeline[-1], "_skl_callbacks")


@every_kind
def test_callbacks_of_a_step_work_in_a_pipeline(X, classes, kind):
    recorder = Recorder()
    make_pipeline(FunctionTransformer(), make(kind).set_callbacks(recorder)).fit(X, classes)
    assert recorder.count == 6


@every_kind
def test_progress_bar_of_scikit_learn(X, classes, kind, capfd):
    make(kind).set_callbacks(of_sklearn.ProgressBar()).fit(X, classes)
    shown = "".join(capfd.readouterr())
    assert kind.__name__ in shown
    assert "100%" in shown


@pytest.mark.parametrize(
    ("kind", "scoring"), [(SSNMFClassifier, "accuracy"), (SSNMFRegressor, "r2")]
)
def test_scoring_monitor_of_scikit_learn(X, classes, kind, scoring):
    monitor = of_sklearn.ScoringMonitor(scoring=scoring)
    model = make(kind, head="joint").set_callbacks(monitor).fit(X, classes)
    scores = [row[scoring] for row in monitor.get_logs().data]
    assert len(scores) >= 6
    assert model.score(X, classes) == pytest.approx(scores[-1])


# --- ours ----------------------------------------------------------------------------------------


@every_kind
def test_progress_bar_writes_to_standard_error_only(X, classes, kind, capfd):
    model = make(kind).set_callbacks(ProgressBar()).fit(X, classes)
    out, err = capfd.readouterr()
    assert out == ""
    assert "6/6" in err
    assert f"{model.history_['objective'][-1]:.6g}" in err
    model.fit(X, classes)  # the same bar serves the next fit
    assert "6/6" in capfd.readouterr().err


@every_kind
def test_iterations_are_told_one_by_one(X, classes, kind):
    told = []
    model = make(kind).set_callbacks(ReportIterations(told.append)).fit(X, classes)
    assert told == list(range(1, model.n_iter_ + 1))
    model.fit(X, classes)  # counts anew
    assert told[len(told) // 2] == 1


def test_progress_bar_is_closed_when_the_fit_fails(X, classes, capfd):
    def fail(count):
        raise RuntimeError("disk full")

    bar = ProgressBar()
    with pytest.raises(RuntimeError, match="disk full"):
        make(NMF).set_callbacks(bar, Recorder(fail)).fit(X)
    assert bar._bar is None


def test_early_stop(X, classes):
    scores = iter([1, 2, 3, 3, 3, 9])
    model = make(NMF, max_iter=20)
    model.set_callbacks(EarlyStop(lambda fitted: next(scores), patience=2)).fit(X)
    assert model.n_iter_ == 5
    assert "callback" in model.stop_reason_
    scores = iter([1, 1, 1])
    model.fit(X)  # starts counting anew
    assert model.n_iter_ == 3
    for bad in (0, -1):
        with pytest.raises(ValueError, match=f"patience={bad}.*positive"):
            EarlyStop(len, patience=bad)


def test_early_stop_on_held_out_labels(X, classes):
    def score(fitted):
        return fitted.score(X[30:], classes[30:])

    model = make(SSNMFClassifier, max_iter=50).set_callbacks(EarlyStop(score, patience=3))
    model.fit(X[:30], classes[:30])
    assert model.n_iter_ < 50
    assert model.score(X[30:], classes[30:]) == 1


@every_kind
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_checkpoint_and_resume(X, classes, kind, dtype, tmp_path):
    X, path = X.astype(dtype), tmp_path / "fit.npz"
    parameters = {} if kind is NMF else {"head": "joint", "supervision": 3.0}
    make(kind, **parameters).set_callbacks(Checkpoint(path, every=4)).fit(X, classes)
    assert [file.name for file in tmp_path.iterdir()] == ["fit.npz"]
    start = Checkpoint.load(path)
    stopped = make(kind, max_iter=4, **parameters).fit(X, classes)
    assert_array_equal(start.samples, stopped.representation_)
    assert_array_equal(start.features.T, stopped.components_)
    assert start.samples.dtype == dtype
    resumed = make(kind, init=start, max_iter=2, **parameters).fit(X, classes)
    straight = make(kind, **parameters).fit(X, classes)
    assert_allclose(resumed.components_, straight.components_, rtol=1e-5, atol=1e-6)
    assert_allclose(resumed.history_["objective"], straight.history_["objective"][4:], rtol=1e-5)


def test_a_checkpoint_is_written_whole_or_not_at_all(X, tmp_path, monkeypatch):
    path = tmp_path / "fit.npz"
    make(NMF).set_callbacks(Checkpoint(path, every=2)).fit(X)
    before = path.read_bytes()

    def fail(path, data):
        with open(path, "wb") as file:
            file.write(data[:50])
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match="disk full"):
        make(NMF).set_callbacks(Checkpoint(path, every=2)).fit(X)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["fit.npz"]


@pytest.mark.parametrize("every", [0, -3])
def test_bad_checkpoint(every, tmp_path):
    with pytest.raises(ValueError, match=f"every={every}.*positive"):
        Checkpoint(tmp_path / "fit.npz", every=every)


def test_a_checkpoint_wants_a_folder(X, tmp_path):
    """It says so before the first iteration, not when the first checkpoint is due."""
    model = make(NMF).set_callbacks(Checkpoint(tmp_path / "none" / "fit.npz", every=1000))
    with pytest.raises(InputError, match=r"folder .*none does not exist; create it first"):
        model.fit(X)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize("content", [b"", b"not an archive", "truncated"])
def test_a_spoilt_checkpoint_says_so(X, tmp_path, content):
    path = tmp_path / "fit.npz"
    make(NMF).set_callbacks(Checkpoint(path, every=2)).fit(X)
    path.write_bytes(path.read_bytes()[:300] if content == "truncated" else content)
    with pytest.raises(CheckpointError, match=r"fit\.npz"):
        Checkpoint.load(path)


def save(path, **changes):
    rank = {"samples": np.ones((40, 3)), "features": np.ones((8, 3)), "targets": np.ones((2, 3))}
    np.savez(path, **{name: a for name, a in {**rank, **changes}.items() if a is not None})


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"features": np.full((8, 3), np.nan)}, "features has an entry that is not finite"),
        ({"features": np.full((8, 3), np.inf)}, "features has an entry that is not finite"),
        ({"samples": -np.ones((40, 3))}, "samples has an entry"),
        ({"features": np.ones((8, 2))}, "differ in rank"),
        ({"features": np.ones((8, 3), np.float32)}, "differ in rank or dtype"),
        ({"features": np.ones((8, 3), int)}, "features has dtype int64"),
        ({"features": np.ones(24)}, "features has dtype float64 and shape"),
        ({"features": np.array("x")}, "features.npy"),
        ({"features": None}, "does not hold the arrays features, samples"),
        ({"others": np.ones((2, 3))}, "does not hold the arrays"),
    ],
)
def test_a_crafted_checkpoint_is_refused(tmp_path, changes, match):
    save(tmp_path / "fit.npz", **changes)
    with pytest.raises(CheckpointError, match=match):
        Checkpoint.load(tmp_path / "fit.npz")


def test_checkpoints_of_earlier_versions_can_be_read(tmp_path):
    """They had no digest, and numpy wrote the features in Fortran order."""
    features = np.arange(24.0).reshape(3, 8).T
    save(tmp_path / "fit.npz", features=features)
    assert_array_equal(Checkpoint.load(tmp_path / "fit.npz").features, features)


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "huge", "missing", "deflated"])
def test_only_plain_checkpoints_are_read(tmp_path, kind):
    path = tmp_path / "fit.npz"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "huge":
        with open(path, "wb") as file:
            file.truncate(2**40)
    elif kind == "deflated":
        np.savez_compressed(path, samples=np.ones((4, 3)), features=np.ones((4, 3)))
    with pytest.raises(CheckpointError, match=r"fit\.npz"):
        Checkpoint.load(path)


def test_a_checkpoint_with_other_values_is_refused(X, tmp_path):
    """Even if the archive agrees with itself."""
    path = tmp_path / "fit.npz"
    make(NMF).set_callbacks(Checkpoint(path, every=2)).fit(X)
    with np.load(path) as found:
        arrays = dict(found)
    with zipfile.ZipFile(path) as archive:
        comment = archive.comment
    arrays["features"][0, 0] += 1
    np.savez(path, **arrays)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = comment
    with pytest.raises(CheckpointError, match="changed after writing"):
        Checkpoint.load(path)


# --- interruptions -------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("solver", ["auto", "mu"])
def test_an_interrupted_fit_keeps_the_last_complete_iteration(X, classes, kind, solver):
    def interrupt(count):
        if count == 5:
            raise KeyboardInterrupt
        return False

    model = make(kind, solver=solver, max_iter=50).set_callbacks(Recorder(interrupt))
    with pytest.warns(FitInterruptedWarning, match="iteration 5, the last complete one"):
        assert model.fit(X, classes) is model
    assert model.n_iter_ == 5
    assert "Interrupted" in model.stop_reason_
    assert {len(values) for values in model.history_.values()} == {5}
    expected = make(kind, solver=solver, max_iter=5).fit(X, classes)
    assert_array_equal(model.components_, expected.components_)
    assert_array_equal(model.transform(X), expected.transform(X))
    if kind is not NMF:
        assert_array_equal(model.predict(X), expected.predict(X))


def test_a_fit_interrupted_at_once_keeps_nothing(X, classes):
    class Impatient(Recorder):
        def on_fit_task_begin(self, estimator, context):
            if context.task_name == "iteration":
                raise KeyboardInterrupt

    model = make(SSNMFClassifier).set_callbacks(Impatient())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, classes)
    assert not hasattr(model, "components_")


def test_an_interrupted_head_leaves_that_of_the_joint_fit(X, classes, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    joint = make(SSNMFClassifier, head="joint").fit(X, classes)
    monkeypatch.setattr("cofactor.estimators.base.refit_head", interrupted)
    model = make(SSNMFClassifier)
    with pytest.warns(FitInterruptedWarning, match="head is that of the joint fit"):
        model.fit(X, classes)
    assert_array_equal(model.target_components_, joint.target_components_)
    assert_array_equal(model.predict(X), joint.predict(X))
    assert "joint fit" in model.stop_reason_


LONG_FIT = """
import json, sys, warnings
import numpy as np
from cofactor import {kind}

class Started:
    def setup(self, estimator, context): pass
    def teardown(self, estimator, context): pass
    def on_fit_task_begin(self, estimator, context): pass
    def on_fit_task_end(self, estimator, context):
        if context.task_name == "iteration" and context.task_id == 3:
            print("started", flush=True)

X = np.random.default_rng(0).poisson(0.5, size=(400, 300)).astype(float)
model = {kind}(8, max_iter=10**7, tol=0, n_jobs={jobs}, random_state=0).set_callbacks(Started())
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model.fit(X, np.arange(400) % 3)
print(json.dumps({{
    "iterations": model.n_iter_,
    "recorded": len(model.history_["objective"]),
    "reason": model.stop_reason_,
    "warnings": [warning.category.__name__ for warning in caught],
    "finite": bool(np.isfinite(model.transform(X)).all()),
}}))
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
@pytest.mark.parametrize(("kind", "jobs"), [("NMF", 1), ("SSNMFClassifier", 2)])
def test_control_c_leaves_a_usable_model(kind, jobs):
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_FIT.format(kind=kind, jobs=jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert process.stdout.readline() == "started\n", process.stderr.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    result = json.loads(out)
    assert result["iterations"] >= 4
    assert result["recorded"] == result["iterations"]
    assert f"iteration {result['iterations']}" in result["reason"]
    assert result["warnings"] == ["FitInterruptedWarning"]
    assert result["finite"]
