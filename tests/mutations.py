"""Put known defects into a copy of the sources, one at a time, and see which test notices.

    python tests/mutations.py                  # all of mutations.toml
    python tests/mutations.py weights start    # those whose name has one of these words

Each line says what was put in, where such a defect was seen, and which test failed; that test is
then run on the sources as they are, where it must pass.  Ends with 1 if a defect went unnoticed.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

import compiled
from compiled import ROOT

TABLE = Path(__file__).with_suffix(".toml")
LIMIT = 300  # seconds
NOT_COMPILED = 71  # not an exit code of pytest
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
GUARD = '''
"""Make sure that the copy is what is tested, and note which tests fail."""

import os
from pathlib import Path

import pytest
from hypothesis import Phase, settings


def pytest_configure():
    import cofactor

    # a failing example will do, it need not be the simplest
    settings.register_profile("quick", phases=[Phase.explicit, Phase.generate])
    settings.load_profile("quick")
    if not Path(cofactor.__file__).is_relative_to(Path(__file__).parent):
        pytest.exit(f"tested {cofactor.__file__} instead of the copy", returncode=70)


def pytest_runtest_logreport(report):
    if report.failed:
        with open(os.environ["MUTATION_FAILURES"], "a") as file:
            print(report.nodeid, file=file)
'''


@dataclass(frozen=True)
class Mutation:
    """One defect: ``old`` becomes ``new`` in a file of the package; ``tests`` should notice."""

    name: str
    seen: str
    """In which peer, or what of our own it concerns."""
    file: str
    old: str
    new: str
    tests: str
    """Arguments of pytest."""
    hangs: bool = False
    """Whether running into the time limit counts as noticed."""

    @property
    def native(self) -> bool:
        """Whether the kernels have to be compiled again."""
        return self.file.endswith((".c", ".h"))

    def check(self) -> None:
        """Stop if the text to be replaced is not there exactly once."""
        text = (ROOT / "src" / "cofactor" / self.file).read_text()
        if (count := text.count(self.old)) != 1:
            sys.exit(
                f"{self.name!r}: the text to be replaced is {count} times in {self.file}, but must "
                f"be there once; bring {TABLE.name} up to date:\n{self.old}"
            )


@dataclass(frozen=True)
class Outcome:
    """How a run of pytest ended."""

    code: int | None
    """None: it ran into the time limit."""
    failed: list[str]
    output: str


class Workshop:
    """A folder with a copy of the sources, and kernels compiled from it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.source = folder, folder / "src" / "cofactor"
        (folder / "mutation_guard.py").write_text(GUARD)
        shutil.copy(ROOT / "CMakeLists.txt", folder)

    def restore(self) -> None:
        """Copy the sources as they are, and the libraries compiled from them."""
        shutil.rmtree(self.folder / "src", ignore_errors=True)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src", self.folder / "src", ignore=ignored)

    def mutate(self, mutation: Mutation) -> None:
        """Put in a defect."""
        self.restore()
        path = self.source / mutation.file
        path.write_text(path.read_text().replace(mutation.old, mutation.new))

    def compile(self) -> str | None:
        """Compile the C of the copy; return what was printed if that fails.

        Compiles all of it: a file that was put back is older than what was compiled from it.
        """
        folder, build = str(self.folder), str(self.folder / "build")
        environment = {**os.environ, "CC": compiled.compiler()}
        for arguments in (
            ["-S", folder, "-B", build, "-DCOFACTOR_INPLACE=ON"],
            ["--build", build, "--clean-first", "--parallel", "2"],
        ):
            code, output = _run([compiled.cmake() or "cmake", *arguments], environment, LIMIT)
            if code != 0:
                return output
        return None

    def test(self, mutation: Mutation) -> Outcome:
        """Put in a defect, and see which test fails."""
        self.mutate(mutation)
        if mutation.native and (complaint := self.compile()):
            return Outcome(NOT_COMPILED, [], complaint)
        return self.run(["-x", *shlex.split(mutation.tests)])

    def run(self, arguments: list[str], *, limit: int = LIMIT) -> Outcome:
        """Run tests on the copy."""
        noted = self.folder / "failures"
        noted.write_text("")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.folder / "src"), str(self.folder)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MUTATION_FAILURES": str(noted),
        }
        code, output = _run([*PYTEST, "-p", "mutation_guard", *arguments], environment, limit)
        return Outcome(code, noted.read_text().splitlines(), output)


def _run(command: list[str], environment: dict[str, str], limit: int) -> tuple[int | None, str]:
    """Return the exit code (None at the time limit) and what was printed."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        text=True,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # tests start further processes
        return None, process.communicate()[0]
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, output


def verdict(mutation: Mutation, outcome: Outcome) -> tuple[bool, str]:
    """Return whether the tests noticed, and a sentence on that."""
    if outcome.code is None:
        return mutation.hangs, "KILLED by the time limit" if mutation.hangs else "TIMED OUT"
    if outcome.code == 1 and outcome.failed:
        return True, f"KILLED by {outcome.failed[0]}"
    if outcome.code == 0:
        return False, "SURVIVED"
    if outcome.code == NOT_COMPILED:
        return False, f"BROKEN, it does not compile:\n{outcome.output[-2000:]}"
    return False, f"BROKEN, pytest ended with {outcome.code}:\n{outcome.output[-2000:]}"


def fail_anyway(workshop: Workshop, tests: list[str]) -> list[str]:
    """Return which of the tests fail on the sources as they are."""
    if not tests:
        return []
    workshop.restore()
    outcome = workshop.run(tests, limit=LIMIT + 10 * len(tests))
    return outcome.failed if outcome.code in (0, 1) else tests


def choose(words: list[str]) -> list[Mutation]:
    """Return the mutations whose names have one of the words, or all."""
    table = [Mutation(**row) for row in tomllib.loads(TABLE.read_text())["mutation"]]
    chosen = [m for m in table if not words or any(word in m.name for word in words)]
    if not chosen:
        sys.exit(f"No mutation has {' or '.join(words)} in its name; see {TABLE.name}.")
    for mutation in chosen:
        mutation.check()
    return chosen


def main(words: list[str]) -> int:
    unnoticed, killers = 0, []
    chosen = choose(words)
    width = max(len(m.name) for m in chosen), max(len(m.seen) for m in chosen)
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        workshop = Workshop(Path(folder).resolve())
        for mutation in chosen:
            outcome = workshop.test(mutation)
            noticed, said = verdict(mutation, outcome)
            unnoticed += not noticed
            killers += outcome.failed[:1] if noticed else []
            print(f"{mutation.name:{width[0]}}  {mutation.seen:{width[1]}}  {said}", flush=True)
        wrong = fail_anyway(workshop, sorted({*killers}))
    for test in wrong:
        print(f"proves nothing, it fails without a defect, too: {test}")
    print(f"{len(chosen)} defects, {unnoticed} unnoticed")
    return int(bool(unnoticed or wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
