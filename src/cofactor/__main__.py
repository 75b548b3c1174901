"""Runs the `cofactor` command: ``python -m cofactor`` or the script ``cofactor``."""

import sys


def main() -> None:
    """Run the command. Ctrl-C ends it with code 130, even while modules are being imported."""
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


if __name__ == "__main__":
    main()
