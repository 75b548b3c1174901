"""The kernels' self-check passes here, and notices a result that is slightly wrong."""

import pytest

from cofactor.engine import self_check


def test_the_kernels_of_this_machine_work():
    self_check.check_kernels()


@pytest.mark.parametrize("fault", [1.00001, 0.0, float("nan")])
def test_a_wrong_result_is_noticed(monkeypatch, fault):
    right = self_check._fitted
    monkeypatch.setattr(self_check, "_fitted", lambda solver: fault * right(solver))
    with pytest.raises(ArithmeticError, match="CoordinateDescent misses a known solution"):
        self_check.check_kernels()
