"""Run the quick benchmarks; the exit status shows whether every demand was met."""

from __future__ import annotations

import sys

from benchmarks import few_labels, harness, quick

if __name__ == "__main__":
    sys.exit(harness.main(__doc__, {"quick": quick, "few_labels": few_labels}))
