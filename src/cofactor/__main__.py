"""Runs the `cofactor` command: ``python -m cofactor`` or the script ``cofactor``."""

import signal
import sys
from typing import Any


def main() -> None:
    """Run the command. Ctrl-C ends it with code 130, even while modules are being imported."""
    sys.excepthook, sys.unraisablehook = _print_error, _raise_again
    try:
        from cofactor.cli import main as command
        from cofactor.io import platform

        platform.HERE.prepare_streams(sys.stdin, sys.stdout, sys.stderr)
        command(prog_name="cofactor")
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    finally:
        # CPython notes a KeyboardInterrupt that leaves exec() as unhandled, even if it is caught
        # later, and then ends the process by SIGINT instead of our exit code. Imports run in
        # exec(), so Ctrl-C during one leaves that note. Another exec() erases it.
        exec("")


def _print_error(kind: Any, error: Any, trace: Any) -> None:
    """Print an error, but not Ctrl-C, which compiled modules print before an ImportError."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def _raise_again(found: Any) -> None:
    """Print an error that could not be raised; let Ctrl-C interrupt the next statement instead."""
    if issubclass(found.exc_type, KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    else:
        sys.__unraisablehook__(found)


if __name__ == "__main__":
    main()
