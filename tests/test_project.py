"""The files around the package agree with it: versions, lower bounds, the table of mutations."""

import ast
import re
import runpy
import shlex
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

import mutations
from cofactor import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
USED_AT_RUN_TIME = ("report", "plot", "dask", "app", "sc")
TABLE = tomllib.loads(mutations.TABLE.read_text(encoding="utf-8"))["mutation"]


def test_the_version_is_the_last_release_or_leads_to_the_next():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, last = re.findall(r"^## (\S+)", changelog, re.MULTILINE)[:2]
    assert first == "Unreleased"
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [last]
    release, _, development = __version__.partition(".dev")
    assert (release == last) if not development else (_numbers(release) > _numbers(last))


def test_a_release_begins_with_what_changes_results_and_has_each_heading_once():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    order = [
        "Changed results and defaults",
        "Upgrading from",
        "Added",
        "Changed",
        "Fixed",
        "Removed",
    ]
    for release in releases[:-1]:  # the first release has headings of its own
        found = re.findall(r"^### (.+)$", release, re.MULTILINE)
        found = [re.sub(r" [\d.]+$", "", heading) for heading in found]
        assert found == [heading for heading in order if heading in found]


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=str)
def test_workflows_run_targets_and_scripts_that_exist(path):
    text = path.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    matrix = " ".join(re.findall(r"target: \[(.+)\]", text)).replace(",", " ").split()
    targets = {*re.findall(r"run: make ([\w-]+)", text), *matrix}
    assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in targets)
    scripts = re.findall(r"(\.ci/[\w.]+)", text)
    assert all((ROOT / name).exists() for name in scripts)
    assert targets or scripts


def test_a_release_is_refused_unless_everything_agrees():
    checks = runpy.run_path(str(ROOT / ".ci" / "check_release.py"))
    said = checks["problems"]("v9.9", "https://example.org", "", ["other-1.0.whl"])
    assert [
        part
        for part in ("The tag v9.9", "example.org", "1 files", "other-1.0")
        if part not in " ".join(said)
    ] == []
    files = [f"cofactor-{__version__}-{i}.whl" for i in range(6)]
    said = checks["problems"](f"v{__version__}", "https://x.org", "https://x.org", files)
    assert all("dev" in one for one in said)  # what is left between releases


def _numbers(version):
    return tuple(map(int, version.split(".")))


@pytest.mark.parametrize("extra", [None, *USED_AT_RUN_TIME])
def test_every_dependency_has_a_lower_bound(extra):
    extras = PROJECT["optional-dependencies"]
    for requirement in PROJECT["dependencies"] if extra is None else extras[extra]:
        assert re.fullmatch(r"[\w-]+>=\d+(\.\d+)+", requirement), requirement


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("Makefile", r"EXTRAS = (\S+)"), (".ci/quick_windows", r"--editable '\.\[(\S+)\]'")],
)
def test_the_tests_run_with_all_extras(name, pattern):
    (found,) = re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"))
    assert set(found.split(",")) == set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("row", TABLE, ids=[row["name"] for row in TABLE])
def test_mutations_quote_the_sources(row):
    text = (ROOT / "src" / "cofactor" / row["file"]).read_text(encoding="utf-8")
    assert text.count(row["old"]) == 1
    for word in shlex.split(row["tests"]):
        assert not word.startswith("tests/") or (ROOT / word.split("::")[0]).exists()


LIBRARY = [
    path
    for path in sorted((ROOT / "src" / "cofactor").rglob("*.py"))
    if "cli" not in path.relative_to(ROOT).parts
]


@pytest.mark.parametrize("path", LIBRARY, ids=[str(path.relative_to(ROOT)) for path in LIBRARY])
def test_the_library_names_no_option_of_the_command_line(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    prose = [re.sub(r"Examples\n *-+\n.*", "", one, flags=re.S) for one in map(str, texts)]
    assert not [text for text in prose if re.search(r"(?<![\w-])--[a-z]", text)]


def test_no_two_classes_share_a_name():
    places = defaultdict(list)
    for path in sorted((ROOT / "src" / "cofactor").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(path.relative_to(ROOT).as_posix())
    assert not {name: paths for name, paths in places.items() if len(paths) > 1}


# Names that Windows lacks, or that mean something else there.
ONLY_POSIX = {
    "module": {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"},
    "os": {
        *("chown", "fchmod", "fchown", "fork", "forkpty", "fsync", "getegid", "geteuid", "getgid"),
        *("getloadavg", "getpgid", "getpriority", "getuid", "kill", "killpg", "lchown", "mkfifo"),
        *("mknod", "name", "nice", "O_NOFOLLOW", "O_NONBLOCK", "posix_fadvise", "posix_spawn"),
        *("pread", "preadv", "pwrite", "pwritev", "rename", "replace", "sched_getaffinity"),
        *("sched_setaffinity", "sendfile", "setsid", "setuid", "sysconf", "umask", "uname"),
        *("wait", "waitpid", "register_at_fork"),
    },
    "sys": {"platform"},
    "signal": {
        *("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2"),
        *("alarm", "pause", "pthread_sigmask", "setitimer", "sigwait"),
    },
    "socket": {"AF_UNIX", "SO_REUSEADDR", "SO_REUSEPORT"},
    "select": {"poll", "epoll"},
}
DURABLE_LOG = ("app/decisions.py", "os", "fsync")  # of an open file, which Windows has


def names_of_systems(tree):
    """Yield the module and the name of what a file uses of the operating system."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (("module", alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield "module", node.module
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield node.value.id, node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr"):
            module, name = node.args[:2]
            if isinstance(module, ast.Name) and isinstance(name, ast.Constant):
                yield module.id, name.value


def test_only_one_module_knows_the_operating_system():
    found = set()
    for path in sorted((ROOT / "src" / "cofactor").rglob("*.py")):
        name = path.relative_to(ROOT / "src" / "cofactor").as_posix()
        if name != "io/platform.py":
            used = names_of_systems(ast.parse(path.read_text(encoding="utf-8")))
            found |= {(name, *one) for one in used if one[1] in ONLY_POSIX.get(one[0], ())}
    assert found <= {DURABLE_LOG}


def test_text_files_name_their_encoding():
    """Windows would otherwise take that of the country."""
    found = []
    for path in sorted((ROOT / "src" / "cofactor").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _opens_text(node):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not found


def _opens_text(call):
    """Whether a call reads or writes text in an encoding that it does not name."""
    if "encoding" in {word.arg for word in call.keywords}:
        return False
    if isinstance(call.func, ast.Attribute):
        texts = sum(isinstance(one, ast.Constant) for one in call.args)
        return call.func.attr == "read_text" and not texts
    modes = [one.value for one in call.args[1:2] if isinstance(one, ast.Constant)]
    return getattr(call.func, "id", "") == "open" and not any("b" in mode for mode in modes)


def test_private_modules_of_others_are_imported_in_one_place():
    found = {}
    for path in sorted((ROOT / "src" / "cofactor").rglob("*.py")):
        names = {name for module, name in names_of_systems(_tree(path)) if module == "module"}
        private = {name for name in names if _is_private(name)}
        if private:
            found[path.name] = private
    assert found == {"_sklearn.py": {"sklearn.callback", "sklearn.utils._param_validation"}}


def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def _is_private(name):
    """Whether a module belongs to somebody else and is not for everybody."""
    first, *rest = name.split(".")
    inside = first != "cofactor" and any(part.startswith("_") for part in rest)
    return inside or name == "sklearn.callback"
