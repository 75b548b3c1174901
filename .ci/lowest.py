"""Print a pip constraint for the lowest version of each dependency that pyproject.toml declares."""

import re
import tomllib
from itertools import chain
from pathlib import Path

ALL = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = ALL["project"]
EXTRAS = PROJECT["optional-dependencies"].values()

for requirement in chain(PROJECT["dependencies"], *EXTRAS, ALL["dependency-groups"]["test"]):
    if found := re.fullmatch(r"([\w-]+)>=([\w.]+)", requirement):
        print("{}=={}".format(*found.groups()))
