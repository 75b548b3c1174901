"""Install a wheel or the source archive into an empty environment, and test what is installed.

    .venv/bin/python .ci/test_wheel.py dist/*.whl        # takes the one for this machine
    .venv/bin/python .ci/test_wheel.py dist/*.tar.gz
    .venv/bin/python .ci/test_wheel.py --app dist/*.whl  # the app's tests in Chromium as well
    .venv/bin/python .ci/test_wheel.py dist/*.whl -- tests/io tests/text

First without any extra: `doctor` and the commands of the README. Then with all extras and the tools
of the tests: the quick tests. The checkout gives the tests only; that it gives no code is checked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ",".join(PROJECT["optional-dependencies"])
QUICK = "not (subprocess or cluster or browser or slow or conformance)"
APP = ("tests/app/test_browser.py", "tests/app/test_kills.py")
WHERE = "import cofactor, pathlib; print(pathlib.Path(cofactor.__file__).resolve())"


def main(arguments: list[str]) -> int:
    files, _, chosen = " ".join(arguments).partition(" -- ")
    app, given = "--app" in files, [Path(one) for one in files.split() if one != "--app"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        venv.create(folder / "venv", with_pip=True)
        scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        python = scripts / "python"
        run(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
        package = choose(given, python, folder)
        run(python, "-m", "pip", "install", "--quiet", f"{package}[report]", cwd=folder)
        check_place(python, folder)
        run(scripts / "cofactor", "doctor", cwd=folder)
        for command in readme_commands():
            run(scripts / "cofactor", *command, cwd=folder)
        tools = ["--quiet", f"{package}[{EXTRAS}]", "--group", f"{ROOT / 'pyproject.toml'}:test"]
        run(python, "-m", "pip", "install", *tools, cwd=folder)
        check_place(python, folder)
        fewer = os.environ | {"COFACTOR_EXAMPLES": "10", "COFACTOR_CASES": "4"}
        tests = [
            "-n",
            "2",
            "--dist",
            "worksteal",
            "-m",
            QUICK,
            *(chosen.split() or ["tests"]),
            "-q",
        ]
        run(python, "-m", "pytest", *tests, cwd=ROOT, env=fewer)
        if app:
            own = os.environ | {"COFACTOR_APP_PYTHON": str(python)}
            run(sys.executable, "-m", "pytest", "-n", "0", *APP, cwd=ROOT, env=own)
    print(f"{package.name} passed.")
    return 0


def run(*command: str | Path, **options: object) -> None:
    print("$", *command, flush=True)
    subprocess.run([*map(str, command)], check=True, **options)  # type: ignore[call-overload]


def choose(given: list[Path], python: Path, folder: Path) -> Path:
    """Return the file that this machine can install; pip chooses among several."""
    if len(given) == 1:
        return given[0].resolve()
    links = ["--no-deps", "--no-index", "--pre", "--find-links", given[0].resolve().parent]
    binary = ["--only-binary", ":all:", "--dest", folder / "chosen"]
    run(python, "-m", "pip", "download", "--quiet", *links, *binary, "cofactor")
    (chosen,) = (folder / "chosen").iterdir()
    return chosen


def check_place(python: Path, folder: Path) -> None:
    """Stop unless that Python imports the installed package."""
    command = [python, "-I", "-c", WHERE]  # isolated: without PYTHONPATH
    where = subprocess.check_output(command, text=True, cwd=folder).strip()
    if not Path(where).is_relative_to(folder / "venv"):
        raise SystemExit(f"The tests would run {where}, not the installed package.")
    print(f"Testing {where}", flush=True)


def readme_commands() -> list[list[str]]:
    """Return the commands of the README's first shell block."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```shell\n(.*?)```", text, re.DOTALL)
    lines = found[1].splitlines() if found else []
    return [line.split("#")[0].split()[1:] for line in lines if line.startswith("cofactor ")]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
