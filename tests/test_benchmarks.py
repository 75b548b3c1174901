"""The parts of the benchmarks that have rules of their own."""

import math

from benchmarks.ours import BelowTarget


def test_below_target():
    rule = BelowTarget(2.0)
    assert rule.check([3.0, 2.5]) is None
    assert rule.check([3.0, math.nan]) is None
    stop = rule.check([3.0, 2.0])
    assert stop.converged
    assert str(stop) == "Reached the target objective 2 after 2 iterations."
