"""Run all benchmarks; the exit status says whether every demand was met."""

from __future__ import annotations

import sys

from benchmarks import few_labels, measuring, quick

if __name__ == "__main__":
    sys.exit(measuring.main(__doc__, {"quick": quick, "few_labels": few_labels}))
