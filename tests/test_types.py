"""Public names have types: type checkers and editors see classes, not Any."""

import subprocess
import sys

import pytest

CODE = """
import cofactor
from cofactor import NMF, SSNMFClassifier, SSNMFRegressor, TopicModel

reveal_type(NMF().fit([[1.0]]))
reveal_type(SSNMFClassifier().fit([[1.0]], [1]))
reveal_type(SSNMFRegressor().partial_fit([[1.0]], [1.0]))
reveal_type(SSNMFClassifier(5).score([[1.0]], [1]))
reveal_type(TopicModel(3).fit(["a text"]))
reveal_type(cofactor.priors.L1(0.1).value)
NMF(n_topics=3)
"""
EXPECTED = [
    '"cofactor.estimators.nmf.NMF"',
    '"cofactor.estimators.classifier.SSNMFClassifier"',
    '"cofactor.estimators.regressor.SSNMFRegressor"',
    '"float"',
    '"cofactor.text.model.TopicModel"',
    '-> float"',
    'Unexpected keyword argument "n_topics"',
]


@pytest.mark.slow
@pytest.mark.subprocess
def test_a_type_checker_sees_the_public_classes(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(CODE)
    options = ["--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache")]
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    found_lines = found.stdout.splitlines()
    lines = [one for one in found_lines if "Revealed type" in one or "error:" in one]
    assert len(lines) == len(EXPECTED), found.stdout + found.stderr
    for line, expected in zip(lines, EXPECTED, strict=True):
        assert expected in line
