"""The `cofactor` command: one file per subcommand.

``cofactor --help`` should answer at once, so numerical libraries are imported inside the commands.
"""

import click

from cofactor._version import __version__
from cofactor.cli.demo import demo
from cofactor.cli.reproduce import reproduce

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Topics that explain the data and predict the labels."""


main.add_command(demo)
main.add_command(reproduce)
