"""Runs the `cofactor` command: ``python -m cofactor`` or the script ``cofactor``."""

import sys


def main() -> None:
    """Run the command. Ctrl-C ends it with code 130, even while modules are being imported."""
    try:
        from cofactor.cli import main as command

        command(prog_name="cofactor")
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    finally:
        # If Ctrl-C interrupts exec(), which many imports call, CPython takes it for unhandled and
        # kills the process at its end. The next exec() corrects that.
        exec("")


if __name__ == "__main__":
    main()
