"""Print a pip constraint for the lowest version of every dependency that pyproject.toml declares."""

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

for requirement in [*PROJECT["dependencies"], *sum(PROJECT["optional-dependencies"].values(), [])]:
    if found := re.fullmatch(r"([\w-]+)>=([\w.]+)", requirement):
        print("{}=={}".format(*found.groups()))
