"""Run the app's tests in a browser against the installed wheel, not the checkout.

    .venv/bin/python .ci/app_wheel.py [arguments of pytest]

Builds the wheel, installs it with its extra "app" into a new virtual environment, and lets the
tests start the command there. Needs Chromium and the extra "browser", and takes two minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
TESTS = ("tests/app/test_browser.py", "tests/app/test_kills.py")
WHERE = "import cofactor, pathlib; print(pathlib.Path(cofactor.__file__).resolve())"


def run(*command: str | Path, **options: object) -> None:
    print("$", *command, flush=True)
    subprocess.run([*map(str, command)], check=True, **options)  # type: ignore[call-overload]


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder / "dist", HOME)
        (wheel,) = (folder / "dist").glob("cofactor-*.whl")
        run(python, "-m", "pip", "install", "--quiet", f"{wheel}[app]", cwd=folder)
        command = [python, "-I", "-c", WHERE]  # isolated: without PYTHONPATH
        where = subprocess.check_output(command, text=True, cwd=folder).strip()
        if not Path(where).is_relative_to(folder / "venv"):
            raise SystemExit(f"The tests would run {where}, not the wheel.")
        print(f"Testing {where}", flush=True)
        command = [sys.executable, "-m", "pytest", "-n", "0", *TESTS, *sys.argv[1:]]
        own = os.environ | {"COFACTOR_APP_PYTHON": str(python)}
        return subprocess.call(command, cwd=HOME, env=own)


if __name__ == "__main__":
    sys.exit(main())
