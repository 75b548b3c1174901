"""Markers that are set by rule, and fixtures that several files share."""

import ast
import importlib.util
import inspect
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import compiled

# How long an example takes depends on the machine and its load, which is not what tests are about.
settings.register_profile("cofactor", deadline=None)
settings.load_profile("cofactor")

# A module, a fixture and a helper of commands.py: a test that names one of them starts a process.
PROCESSES = frozenset({"subprocess", "run_script", "process"})
# What a test mentions that needs permissions, links, pipes or signals that Windows lacks.
POSIX = re.compile(
    r"mkfifo|symlink_to|chmod|umask|fork|killpg|SIG(INT|KILL)|cached_script|/(proc|dev)/"
)
SLOW = frozenset({"quick", "newsgroups"})  # fixtures that take seconds
CLUSTER = Path(__file__).parent / "distributed"

if sys.platform == "win32":  # they import modules that Windows lacks
    collect_ignore = ["cli/test_hostile.py", "cli/test_refusals.py", "test_fuzz.py"]

pytest.register_assert_rewrite("complaints", "encoded", "fits", "model_folders", "strategies")


def pytest_addoption(parser):
    parser.addoption("--windows", action="store_true", help="run on a Windows that is simulated")


def pytest_configure(config):
    """Refuse to test libraries that are older than their sources; choose the system."""
    package = importlib.util.find_spec("cofactor")
    if package and compiled.are_stale(Path(package.origin).parent / "engine/kernels/native"):
        raise pytest.UsageError("The kernels' C is newer than what was compiled: run make native.")
    if config.getoption("--windows"):
        from cofactor.io import platform
        from windows import SimulatedWindows

        platform.HERE = SimulatedWindows()


def pytest_collection_modifyitems(config, items):
    """Mark tests that need a cluster, a browser or further processes, and some slow ones."""
    thin_out(config, items, os.environ.get("COFACTOR_CASES"))
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        if CLUSTER in item.path.parents:
            item.add_marker("cluster")
        if "browser" in item.fixturenames:
            item.add_marker("browser")
        if SLOW & set(item.fixturenames):
            item.add_marker("slow")
        if item.originalname in names_with_processes(item.path):
            item.add_marker("subprocess")
        if on_windows(config) and POSIX.search(inspect.getsource(item.function)):
            item.add_marker(pytest.mark.skip(reason="needs a POSIX system"))


def on_windows(config):
    return sys.platform == "win32" or config.getoption("--windows")


def thin_out(config, items, most):
    """Leave out cases of functions that have more than ``most``; those that stay are spread."""
    if most is None:
        return
    cases = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    kept = set()
    for found in cases.values():
        steps = range(min(int(most), len(found)))
        kept |= {found[i * (len(found) - 1) // max(len(steps) - 1, 1)] for i in steps}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


@cache
def names_with_processes(path):
    """The functions of a file that start a process, themselves or through others of the file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = {f.name: names_in(f) for f in tree.body if isinstance(f, ast.FunctionDef)}
    found, size = set(PROCESSES), 0
    while len(found) > size:
        size = len(found)
        found |= {name for name, names in functions.items() if names & found}
    return found


def names_in(function):
    """The names that a function uses, and those of its arguments, which may be fixtures."""
    nodes = list(ast.walk(function))
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return arguments | {node.id for node in nodes if isinstance(node, ast.Name)}


@pytest.fixture(scope="session", autouse=True)
def _heed_interrupts():
    """A run in the background is started to ignore Ctrl-C, and its children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run_script(tmp_path):
    """A function that runs Python code in a fresh process and returns what it prints."""

    def run(code, *arguments, timeout=120):
        import cofactor

        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(code))
        paths = [str(Path(cofactor.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        done = subprocess.run(
            [sys.executable, str(script), *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def newsgroups():
    """The paper's 20 Newsgroups: (X_train, y_train, X_test, y_test), tf-idf and class numbers."""
    home = os.environ.get("COFACTOR_DATA_HOME")
    if not home:
        pytest.skip("set COFACTOR_DATA_HOME to the folder of scikit-learn's 20 Newsgroups files")
    from cofactor.experiments.documents import find_stop_words
    from cofactor.experiments.newsgroups import splits
    from cofactor.io.errors import InputError

    try:
        posts = splits.balanced(splits.fetch_posts(Path(home)), seed=0)
    except InputError as error:
        pytest.skip(str(error))
    n = len(posts.texts)
    data = splits.split(posts, int(0.8 * n), n, find_stop_words(None, Path(home)).words)
    number = {name: c for c, name in enumerate(splits.CLASSES)}
    y, y_test = (np.array([number[name] for name in each]) for each in (data.y, data.y_test))
    return data.X, y, data.X_test, y_test
