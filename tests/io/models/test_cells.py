"""Models of cells in model folders: they come back, and damaged ones are refused."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import cofactor
from cofactor import NMF, load_model
from cofactor.io.models import save_load
from model_folders import refuse

CELLS = np.indices((12, 9)).reshape(2, -1)


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).gamma(2.0, size=(12, 9))
    X[np.indices(X.shape).sum(0) % 4 == 0] = np.nan
    return NMF(2, random_state=0).fit(X)


def test_predictions_come_back_bit_for_bit(model, tmp_path):
    cofactor.save(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert_array_equal(again.predict_cells(*CELLS), model.predict_cells(*CELLS))
    assert again.cells_.strength == model.cells_.strength
    assert again.cells_.expected_rmse == model.cells_.expected_rmse


def test_offsets_alone_of_few_cells_come_back(tmp_path):
    model = NMF(1, random_state=0).fit(np.array([[1.0, np.nan], [np.nan, 2.0]]))
    assert model.cells_.strength == np.inf
    assert np.isnan(model.cells_.expected_rmse)
    cofactor.save(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.cells_.strength == np.inf
    assert np.isnan(again.cells_.expected_rmse)


def test_complete_data_leave_no_model_of_cells(tmp_path):
    model = NMF(1, random_state=0).fit(np.ones((3, 2)))
    cofactor.save(model, tmp_path / "model")
    assert "MissingCells" not in (tmp_path / "model" / "config.json").read_text()
    assert_allclose(load_model(tmp_path / "model").predict_cells([0], [1]), [1.0], rtol=1e-9)


def changed(array, value):
    array = array.copy()
    array.flat[0] = value
    return array


DAMAGES = {
    "offsets of another length": lambda c: {"row_offsets": c.row_offsets[1:]},
    "NaN in offsets": lambda c: {"column_offsets": changed(c.column_offsets, np.nan)},
    "offsets that are a list": lambda c: {"row_offsets": c.row_offsets.tolist()},
    "samples of another length": lambda c: {"samples": c.samples[1:]},
    "features of another width": lambda c: {"features": c.features[:, 1:]},
    "samples without a shape": lambda c: {"samples": c.samples[0]},
    "infinite features": lambda c: {"features": changed(c.features, np.inf)},
    "negative features": lambda c: {"features": changed(c.features, -1.0)},
    "no mean": lambda c: {"mean": None},
    "an infinite mean": lambda c: {"mean": np.inf},
    "a range upside down": lambda c: {"low": c.high + 1.0},
    "a negative range": lambda c: {"low": -1.0},
    "a high of text": lambda c: {"high": "5"},
    "a negative strength": lambda c: {"strength": -1.0},
    "a strength of text": lambda c: {"strength": "strong"},
    "no error": lambda c: {"expected_rmse": None},
}


def saved(model, tmp_path, monkeypatch):
    """Save a model without the checks; it cannot be saved with them."""
    with pytest.raises(ValueError, match="cannot be saved"):
        cofactor.save(model, tmp_path / "model")
    with monkeypatch.context() as patch:
        for name in ("_assemble", "read_manifest"):
            patch.setattr(save_load, name, lambda *given: None)
        cofactor.save(model, tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_models_of_cells_are_refused(name, model, tmp_path, monkeypatch):
    part = DAMAGES[name](model.cells_)
    fitted = model.completed()
    damaged = model.with_fitted(replace(fitted, cells=replace(fitted.cells, **part)))
    name = "samples" if "another length" in name else next(iter(part))  # the first that differs
    refuse(saved(damaged, tmp_path, monkeypatch), name)


@pytest.mark.parametrize("value", [1.0, [1.0]])
def test_other_values_are_no_model_of_cells(value, model, tmp_path, monkeypatch):
    damaged = model.with_fitted(replace(model.completed(), cells=value))
    refuse(saved(damaged, tmp_path, monkeypatch), "cells_ is not a MissingCells")
