"""Writing a model folder: whole or not at all, also when the process is killed."""

import os
import stat
import time

import pytest

from cofactor import load_model
from cofactor.io import atomic, platform
from model_folders import same


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
    with pytest.raises(OSError, match="There is no room"):
        model.save(folder)
    assert same(load_model(folder), model)
    assert sorted(os.listdir(folder.parent)) == ["model"]


def test_without_an_exchange_the_old_model_is_found(model, folder, monkeypatch):
    monkeypatch.setattr(platform.HERE, "swap", lambda one, other: False)
    (folder / "report.html").write_text("mine")
    model.save(folder)
    assert same(load_model(folder), model)
    assert (folder / "report.html").exists()
    assert sorted(os.listdir(folder.parent)) == ["model"]
    folder.rename(folder.with_name(".model.previous"))  # as if killed between the two renames
    assert same(load_model(folder), model)


def test_leftovers_of_killed_saves_go_after_a_day(model, folder):
    for name, age in (("old", 2 * atomic.STALE_SECONDS), ("new", 60)):
        left = folder.with_name(f".model.saving-{name}")
        left.mkdir()
        (left / "config.json").write_text("{}")
        os.utime(left, (time.time() - age, time.time() - age))
    model.save(folder)
    assert sorted(os.listdir(folder.parent)) == [".model.saving-new", "model"]


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
