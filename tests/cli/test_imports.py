"""scikit-learn is imported without what no command needs."""

import os
import subprocess
import sys

import pytest

from cofactor.cli._shared.imports import SELDOM, Postponed, postponed


def run(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_a_fit_loads_what_it_needs(home, tmp_path):
    code = (
        "import sys; from cofactor.cli import main; main(sys.argv[1:], standalone_mode=False);"
        f"print(sorted({set(SELDOM)} & sys.modules.keys()))"
    )
    table, model = str(home / "posts.csv"), str(tmp_path / "model")
    assert run(code, "fit", table, "--text", "body", "-k", "2", "-o", model) == "[]"


def test_what_was_left_out_is_there_when_it_is_used():
    code = (
        "from cofactor.cli._shared.imports import import_sklearn; import_sklearn()\n"
        "import pandas, scipy.stats, sklearn.utils.fixes as fixes\n"
        "from sklearn.preprocessing import _data\n"
        "assert _data.stats.norm is scipy.stats.norm and fixes.pd.DataFrame is pandas.DataFrame\n"
        "print(fixes._mode([3, 1, 3])[0], pandas.Series([1, 2]).sum())"
    )
    assert run(code) == "[3] 3"


def test_a_postponed_module_is_imported_by_its_first_use(tmp_path, monkeypatch):
    (tmp_path / "seldom_used.py").write_text("value = 5\n")
    monkeypatch.syspath_prepend(tmp_path)
    with postponed("seldom_used"):
        import seldom_used

        assert isinstance(seldom_used, Postponed)
        from seldom_used import value

        assert value == 5
        assert not isinstance(sys.modules["seldom_used"], Postponed)
    assert sys.modules.pop("seldom_used").value == 5
    with postponed("seldom_used"):
        pass
    assert "seldom_used" not in sys.modules
    assert seldom_used.value == 5
    with pytest.raises(AttributeError, match="nothing"):
        _ = seldom_used.nothing
    del sys.modules["seldom_used"]


def test_what_is_not_installed_is_missed_as_ever():
    with postponed("no_such_module"), pytest.raises(ImportError):
        import no_such_module  # noqa: F401


def test_modules_that_are_there_stay():
    with postponed("json"):
        assert not isinstance(sys.modules["json"], Postponed)
    assert "json" in sys.modules
