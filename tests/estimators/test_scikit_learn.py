"""Estimators in scikit-learn's ecosystem: clone, pickle, tables, metadata routing."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from cofactor import NMF, Factors, SSNMFClassifier, SSNMFRegressor, noise
from cofactor.priors import L1
from fits import arrays, assert_same_bits, differ, every_kind, make

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@every_kind
def test_clone_and_parameters(X, classes, kind):
    start = Factors(np.ones((60, 3)), np.ones((12, 3)))
    model = kind(3, init=start, priors={"samples": L1(0.1)}, data_loss=noise.Poisson(), tol=1e-3)
    copied = clone(model)
    assert copied.get_params().keys() == model.get_params().keys()
    assert copied.priors == model.priors
    assert not hasattr(clone(model.fit(X, classes)), "components_")
    copied.set_params(n_components=5, init="random")
    assert (copied.n_components, copied.init) == (5, "random")
    with pytest.raises(ValueError, match=r"rank.*n_components"):
        copied.set_params(rank=3)


@every_kind
def test_fit_does_not_touch_parameters(X, classes, kind):
    model = kind(3)
    before = dict(model.get_params())
    assert model.fit(X, classes) is model
    assert model.get_params() == before


@every_kind
def test_pickle_round_trip(X, classes, kind):
    model = make(kind).fit(X, classes)
    again = pickle.loads(pickle.dumps(model))
    assert_same_bits(again, model)
    assert_array_equal(again.transform(X), model.transform(X))
    if kind is not NMF:
        assert_array_equal(again.predict(X), model.predict(X))


@every_kind
def test_representations_for_people(X, classes, kind):
    model = make(kind, n_components=4).fit(X, classes)
    assert kind.__name__ in repr(model)
    assert "n_components=4" in repr(model)
    assert kind.__name__ in model._repr_html_()


@every_kind
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_output_as_tables(X, classes, kind, library):
    frame = pd.DataFrame(X, columns=[f"word{j}" for j in range(12)], index=np.arange(60) + 100)
    model = make(kind).set_output(transform=library).fit(frame, classes)
    assert_array_equal(model.feature_names_in_, frame.columns)
    assert model.n_features_in_ == 12
    names = [f"{kind.__name__.lower()}{t}" for t in range(3)]
    assert_array_equal(model.get_feature_names_out(), names)
    table = model.transform(frame)
    assert type(table).__module__.startswith(library)
    assert list(table.columns) == names
    assert_array_equal(table.to_numpy(), make(kind).fit(X, classes).transform(X))
    if library == "pandas":
        assert_array_equal(table.index, frame.index)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[frame.columns[::-1]])


@every_kind
def test_dtype_is_kept(X, classes, kind):
    for dtype in (np.float32, np.float64):
        model = make(kind).fit(X.astype(dtype), classes)
        assert {array.dtype for array in arrays(model).values()} == {np.dtype(dtype)}
        assert model.transform(X.astype(dtype)).dtype == dtype


@every_kind
def test_inverse_transform_is_the_model_of_the_data(X, classes, kind):
    model = make(kind, max_iter=100).fit(X, classes)
    fitted = model.inverse_transform(model.transform(X))
    assert_allclose(fitted, model.transform(X) @ model.components_)
    assert np.linalg.norm(fitted - X) < 0.5 * np.linalg.norm(X)


REQUESTED = {"sample_weight": 60, "data_weights": (60, 12), "target_weights": 60}


@pytest.mark.parametrize("name", REQUESTED)
@pytest.mark.parametrize("kind", [SSNMFClassifier, SSNMFRegressor])
def test_weights_are_routed_through_a_pipeline(X, classes, kind, name):
    weights = np.random.default_rng(6).random(REQUESTED[name]) + 0.1
    direct = make(kind).fit(X, classes, **{name: weights})
    with config_context(enable_metadata_routing=True):
        model = make(kind).set_fit_request(**{name: True})
        pipeline = make_pipeline(FunctionTransformer(), model).fit(X, classes, **{name: weights})
        assert_same_bits(pipeline[-1], direct)
        silent = make_pipeline(FunctionTransformer(), make(kind))
        with pytest.raises(Exception, match=f"{name}.*not explicitly set|{name}"):
            silent.fit(X, classes, **{name: weights})
    assert differ(direct, make(kind).fit(X, classes))


@pytest.mark.parametrize("name", REQUESTED)
def test_weights_are_routed_through_a_search(X, classes, name):
    seen = []

    class Recorder(SSNMFClassifier):
        def fit(self, X, y, *, sample_weight=None, data_weights=None, target_weights=None):
            weights = {
                "sample_weight": sample_weight,
                "data_weights": data_weights,
                "target_weights": target_weights,
            }
            seen.append(
                (X.shape[0], {k: None if w is None else w.shape for k, w in weights.items()})
            )
            return super().fit(X, y, **weights)

    weights = np.random.default_rng(7).random(REQUESTED[name]) + 0.1
    with config_context(enable_metadata_routing=True):
        model = Recorder(random_state=0, max_iter=3, tol=0).set_fit_request(**{name: True})
        if name == "sample_weight":
            model.set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"n_components": [3, 4]}, cv=2)
        search.fit(X, classes, **{name: weights})
    assert len(seen) == 5
    for rows, shapes in seen:
        assert shapes.pop(name)[0] == rows
        assert set(shapes.values()) == {None}
    assert search.best_estimator_.components_.shape[1] == 12


def test_weights_reach_transform_and_predict_by_routing(X, classes):
    weights = np.random.default_rng(8).random((60, 12)) + 0.1
    model = make(SSNMFClassifier).fit(X, classes)
    with config_context(enable_metadata_routing=True):
        inner = make(SSNMFClassifier).set_predict_request(data_weights=True)
        inner.set_fit_request(data_weights=False)
        pipeline = make_pipeline(FunctionTransformer(), inner).fit(X, classes)
        found = pipeline.predict(X, data_weights=weights)
    assert_array_equal(found, model.predict(X, data_weights=weights))
