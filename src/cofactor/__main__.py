"""``python -m cofactor`` is the ``cofactor`` command."""

from cofactor.cli import main

if __name__ == "__main__":
    main(prog_name="cofactor")
