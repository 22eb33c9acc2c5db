"""House rules that no tool knows, as tests over `ast` and `pathlib`.

Each check is a function from the root of a tree to the complaints about it. It is run on this tree
(no complaint) and on a small tree with one planted fault (at least one complaint), so that no check
passes because it looks at nothing.
"""

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests import generated

ROOT: Final = Path(__file__).resolve().parents[1]
PARTS: Final = ("model", "impl", "conformance", "reports")

ARROWS: Final = {
    "loopspec.model": {"loopspec.model"},
    "loopspec.impl": {"loopspec.impl"},
    "loopspec.conformance": {"loopspec.conformance", "loopspec.model"},
    "loopspec.conformance.mutants": {"loopspec.conformance", "loopspec.model", "loopspec.impl"},
    "loopspec.conformance.subjects.python": {
        "loopspec.conformance",
        "loopspec.model",
        "loopspec.impl",
    },
    "loopspec.reports": {"loopspec.reports", "loopspec.conformance", "loopspec.model"},
    "loopspec.cli": {"loopspec"},
    "loopspec.__main__": {"loopspec.cli"},
    "loopspec.pytest_plugin": {"loopspec"},
}
"""Who may import whom: the longest prefix of the importer counts, any prefix of the imported."""

IMPURE: Final = {
    *("asyncio", "concurrent", "ctypes", "datetime", "fileinput", "glob", "http", "io", "logging"),
    *("mmap", "multiprocessing", "os", "pathlib", "queue", "random", "sched", "secrets", "select"),
    *("selectors", "shelve", "shutil", "signal", "socket", "socketserver", "sqlite3", "ssl"),
    *("subprocess", "tempfile", "threading", "time", "urllib", "uuid", "importlib.resources"),
}
"""Standard modules with I/O, a clock, randomness, threads or asyncio: not for the model."""

MODEL_MAY_USE: Final = {
    "attrs",
    "attr",
    "networkx",
    "numpy",
    "numba",
    "loopspec",
    "typing_extensions",
}
BAD_NAMES: Final = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}
BAD_NAMES_OF_FILES: Final = BAD_NAMES | {"app", "runner"}
CHANGE_KINDS: Final = {"spec", "added", "changed", "fixed", "docs"}
LOCK_FILES: Final = {
    *("uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "package-lock.json"),
    *("npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "Cargo.lock"),
}

OPENS: Final = {
    *("open", "fdopen", "read_bytes", "read_text", "write_bytes", "write_text", "touch"),
    *("copy", "copy2", "copyfile", "copytree", "copyfileobj", "mmap"),
}
"""Calls that open a file, or copy one."""

FILES_OF_THEIR_OWN: Final = {
    "loopspec.impl.ownership",  # the note that says who owns a log
    "loopspec.impl.export",  # session.jsonl, which is no file of SQLite
    "loopspec.impl.schemas",  # the JSON schemas that come with the part
    "loopspec.impl.schemas.__main__",
}

# Spelled in two halves, so that this file does not hold what it looks for.
REGISTRIES: Final = tuple(
    head + tail
    for head, tail in (
        ("pypi", ".org"),
        ("python", "hosted.org"),
        ("registry.", "npmjs"),
        ("registry.", "yarnpkg"),
        ("deb.", "debian.org"),
        ("crates", ".io"),
        ("proxy.", "golang.org"),
        ("index-", "url"),
        ("find-", "links"),
        ("--trusted-", "host"),
    )
)
OUTSIDE_DATA: Final = "shared" + "/data"
MACHINE_PATH: Final = re.compile(r"(?<![\w.~/:-])/(?:work|root|home|Users)/")
FIXED_PORT: Final = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\]):[1-9]\d+")


# --- The tree ---------------------------------------------------------------


def files_of(root: Path) -> list[Path]:
    """Files that are tracked or would be, if nobody ignores them; all files of a planted tree."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        names = [name for name in listed.stdout.split("\0") if name]
        return sorted(path for path in map(root.joinpath, names) if path.is_file())
    return sorted(path for path in root.rglob("*") if path.is_file())


def modules_of(root: Path, *folders: str) -> Iterator[tuple[Path, ast.Module]]:
    """Python files below these folders of the tree, parsed; all of them when none is named."""
    for path in files_of(root):
        if path.suffix == ".py" and (not folders or path.relative_to(root).parts[0] in folders):
            yield path, ast.parse(path.read_text(encoding="utf-8"), str(path))


def texts_of(root: Path) -> Iterator[tuple[str, str]]:
    """Every file that is text, with its path as words."""
    for path in files_of(root):
        try:
            yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def name_of(root: Path, path: Path) -> str:
    """The dotted name under which a module of a part is imported."""
    parts = path.relative_to(root).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every module that is imported, anywhere, also by `import_module` with a plain string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node.lineno
        elif isinstance(node, ast.Call) and _called(node) == "import_module" and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value, node.lineno


def within(name: str, prefix: str) -> bool:
    """A dotted name is this prefix or lies below it."""
    return name == prefix or name.startswith(prefix + ".")


def _called(node: ast.Call) -> str:
    """The last name of what is called."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _has_fixed_port(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == "port" and _is_number_but_zero(node.value)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and FIXED_PORT.search(node.value) is not None
    if isinstance(node, ast.Tuple) and len(node.elts) == 2:
        host, port = node.elts
        local = isinstance(host, ast.Constant) and host.value in ("127.0.0.1", "localhost")
        return local and _is_number_but_zero(port)
    return False


def _is_number_but_zero(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value > 0


# --- The checks -------------------------------------------------------------


def no_package_above_the_parts(root: Path) -> Iterator[str]:
    """A stray loopspec/__init__.py in one part hides the others."""
    for part in PARTS:
        if (root / part / "loopspec" / "__init__.py").exists():
            yield f"{part}/loopspec/__init__.py hides the other parts"


def each_folder_holds_its_own_part(root: Path) -> Iterator[str]:
    """Below a part nothing importable but its own packages."""
    own = {part: {part} for part in PARTS}
    own["reports"] |= {"cli", "__main__.py", "pytest_plugin.py"}
    for path in files_of(root):
        place = path.relative_to(root).parts
        if place[0] in PARTS and path.suffix == ".py":
            if place[0] == "impl" and place[1] == "adapters":
                yield f"{'/'.join(place)}: an adapter in another language holds no Python"
            elif place[1] != "loopspec" or place[2] not in own[place[0]]:
                yield f"{'/'.join(place)} is no module of the part {place[0]}"


def each_part_says_that_it_is_typed(root: Path) -> Iterator[str]:
    """py.typed is per part in a namespace package."""
    for part, package in (*((part, part) for part in PARTS), ("reports", "cli")):
        if not (root / part / "loopspec" / package / "py.typed").is_file():
            yield f"{part}/loopspec/{package}/py.typed is missing"


def each_part_has_a_readme(root: Path) -> Iterator[str]:
    """One screen that says what the part is and what it may import."""
    for part in PARTS:
        if not (root / part / "README.md").is_file():
            yield f"{part}/README.md is missing"


def imports_go_along_the_arrows(root: Path) -> Iterator[str]:
    """The arrows of docs/architecture.md."""
    for path, tree in modules_of(root, *PARTS):
        importer = name_of(root, path)
        fitting = [prefix for prefix in ARROWS if within(importer, prefix)]
        if not fitting:
            yield f"{path.relative_to(root)}: {importer} belongs to no part"
            continue
        allowed = ARROWS[max(fitting, key=len)]
        for name, line in imports_of(tree):
            if within(name, "loopspec") and not any(within(name, prefix) for prefix in allowed):
                yield f"{path.relative_to(root)}:{line} imports {name}"


def the_model_is_pure(root: Path) -> Iterator[str]:
    """No I/O, clock, randomness, threads or asyncio, and few packages of others."""
    for path, tree in modules_of(root, "model"):
        place = path.relative_to(root)
        name = name_of(root, path)
        for imported, line in imports_of(tree):
            top = imported.split(".")[0]
            if any(within(imported, bad) for bad in IMPURE):
                yield f"{place}:{line} imports {imported}"
            elif top in ("numpy", "numba") and not within(name, "loopspec.model.fast"):
                yield f"{place}:{line} imports {top} outside loopspec.model.fast"
            elif top == "networkx" and name != "loopspec.model.graph":
                yield f"{place}:{line} imports networkx outside loopspec.model.graph"
            elif top not in MODEL_MAY_USE and top not in _STANDARD:
                yield f"{place}:{line} imports {top}, a package that the model may not use"
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id in ("open", "print", "input", "eval", "exec", "__import__"):
                    yield f"{place}:{node.lineno} calls {node.func.id}"
            elif isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.Global):
                yield f"{place}:{node.lineno} is {type(node).__name__}"


def imports_are_absolute(root: Path) -> Iterator[str]:
    """A module is named in one way everywhere."""
    for path, tree in modules_of(root):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                yield f"{path.relative_to(root)}:{node.lineno} is a relative import"


def modules_are_nouns_with_a_meaning(root: Path) -> Iterator[str]:
    """No drawer for everything, and not the module where everything meets."""
    for path in files_of(root):
        place = path.relative_to(root)
        if path.suffix != ".py":
            continue
        if path.stem in BAD_NAMES_OF_FILES or (path.stem == "cli" and place.parts[0] in PARTS):
            yield f"{place}: no module is called {path.stem}"
        for folder in place.parts[:-1]:
            if folder in BAD_NAMES:
                yield f"{place}: no folder is called {folder}"


def no_file_names_a_registry(root: Path) -> Iterator[str]:
    """Which index serves a package is the user's business."""
    for place, text in texts_of(root):
        for address in REGISTRIES:
            if address in text:
                yield f"{place} holds {address}"


def no_lock_file_is_kept(root: Path) -> Iterator[str]:
    """Lock files hold addresses of registries; pins live in requirements/*.txt.

    An adapter's own may stay that holds none: what it pins has no other place.
    """
    adapters = root / "impl" / "adapters"
    for path in files_of(root):
        is_bare = path.is_relative_to(adapters) and "://" not in path.read_text(encoding="utf-8")
        if path.name in LOCK_FILES and not is_bare:
            yield f"{path.relative_to(root)} is a lock file"


def no_file_names_a_machine(root: Path) -> Iterator[str]:
    """Paths of somebody's machine, and outside data named anywhere but in .ci/run."""
    for place, text in texts_of(root):
        for number, line in enumerate(text.splitlines(), start=1):
            if MACHINE_PATH.search(line):
                yield f"{place}:{number} holds a path of some machine"
            if OUTSIDE_DATA in line and place != ".ci/run":
                yield f"{place}:{number} names outside data; it comes through LOOPSPEC_DATA"


def no_test_sleeps(root: Path) -> Iterator[str]:
    """A test waits for a condition, never for a time.

    Allowed are `sleep(0)`, which is one tick, and `asyncio.sleep` in a module that drives the
    controlled event loop, where time is virtual.
    """
    for path, tree in modules_of(root, "tests"):
        virtual = any(within(name, "loopspec.conformance.control") for name, _ in imports_of(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _called(node) == "sleep":
                first = node.args[0] if node.args else None
                tick = isinstance(first, ast.Constant) and first.value == 0
                if not tick and not (virtual and ast.unparse(node.func) == "asyncio.sleep"):
                    yield f"{path.relative_to(root)}:{node.lineno} sleeps"


def no_test_has_a_fixed_port(root: Path) -> Iterator[str]:
    """Two runs on one machine must not meet."""
    for path, tree in modules_of(root, "tests"):
        for node in ast.walk(tree):
            if _has_fixed_port(node):
                yield f"{path.relative_to(root)}:{getattr(node, 'lineno', 0)} has a fixed port"


RUNS_CODE: Final = {
    "conformance/loopspec/conformance/mutants/registry.py",  # a faulty copy of our own code
    "tests/conformance/test_readme.py",  # what a page of ours shows
}


def data_is_not_code(root: Path) -> Iterator[str]:
    """Scenarios, seeds and runs are text; nothing is unpickled.

    `marshal.dumps` may stay: its bytes go into a digest and are never read back.
    """
    for path, tree in modules_of(root):
        place = path.relative_to(root)
        for name, line in imports_of(tree):
            if name.split(".")[0] in ("pickle", "shelve", "dill", "yaml") or (
                within(name, "marshal") and name not in ("marshal", "marshal.dumps")
            ):
                yield f"{place}:{line} imports {name}"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "marshal.load",
                "marshal.loads",
            ):
                yield f"{place}:{node.lineno} reads marshalled data"
            called = node.func if isinstance(node, ast.Call) else None
            called_by_name = called.id if isinstance(called, ast.Name) else ""
            if called_by_name in ("eval", "exec") and place.as_posix() not in RUNS_CODE:
                yield f"{place}:{getattr(node, 'lineno', 0)} calls {called_by_name}"


def only_sqlite_opens_a_log(root: Path) -> Iterator[str]:
    """Closing any other descriptor of a log's file drops its locks and loses what comes after.

    Allowed are the modules of `FILES_OF_THEIR_OWN`, and the folder of a new log.
    """
    for path, tree in modules_of(root, "impl"):
        if name_of(root, path) in FILES_OF_THEIR_OWN:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _called(node) in OPENS:
                text = ast.unparse(node.func)
                by_sqlite = text in ("SessionLog.open", "Store.open", "LogFile.open")
                if not by_sqlite and ast.unparse(node) != "os.open(folder, os.O_RDONLY)":
                    yield f"{path.relative_to(root)}:{node.lineno} opens a file by {text}"


def pages_make_text_nodes(root: Path) -> Iterator[str]:
    """No string becomes markup in a browser, and no template switches escaping off."""
    bad = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "|safe", "| safe")
    for place, text in texts_of(root):
        if place.endswith((".js", ".html", ".mjs")) and place.split("/")[0] in PARTS:
            for word in bad:
                if word in text:
                    yield f"{place} uses {word}"


def every_verb_has_a_heading(root: Path) -> Iterator[str]:
    """docs/cli.md has one `## verb` for each module of a verb."""
    page = root / "docs" / "cli.md"
    lines = page.read_text(encoding="utf-8").splitlines() if page.is_file() else []
    for path, tree in modules_of(root, "reports"):
        is_verb = any(
            isinstance(node, ast.FunctionDef) and node.name == "command" for node in tree.body
        )
        verb = path.stem.replace("_", "-")
        if path.parent.name == "cli" and is_verb and f"## {verb}" not in lines:
            yield f"docs/cli.md has no heading for {verb}"


def every_note_has_a_kind(root: Path) -> Iterator[str]:
    """A fragment is named changes/<slug>.<kind>.md."""
    named = re.compile(rf"[a-z0-9-]+\.({'|'.join(sorted(CHANGE_KINDS))})\.md")
    for path in files_of(root):
        place = path.relative_to(root)
        is_note = place.parts[0] == "changes" and path.name != "README.md"
        if is_note and not named.fullmatch(path.name):
            yield f"{place} is not named <slug>.<kind>.md"


def every_document_has_one_title(root: Path) -> Iterator[str]:
    """The first line of a document is its one title."""
    for place, text in texts_of(root):
        if place.endswith(".md") and not place.startswith("changes/"):
            prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
            titles = [line for line in prose.splitlines() if line.startswith("# ")]
            if len(titles) != 1 or not text.startswith("# "):
                yield f"{place} has {len(titles)} titles, or does not begin with one"


def links_lead_somewhere(root: Path) -> Iterator[str]:
    """A link of a document to a file of this tree finds it."""
    for place, text in texts_of(root):
        if place.endswith(".md"):
            for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
                if not (root / place).parent.joinpath(target).exists():
                    yield f"{place} links to {target}, which is not there"


_STANDARD: Final = frozenset(
    {
        *("__future__", "abc", "bisect", "collections", "contextlib", "copy", "dataclasses"),
        *("enum", "fractions", "functools", "graphlib", "hashlib", "heapq", "inspect"),
        *("importlib", "itertools", "json", "keyword", "math", "operator", "re", "string"),
        *("struct", "sys", "textwrap", "types", "typing", "unicodedata", "weakref", "zlib"),
        *(
            "array",
            "binascii",
            "difflib",
            "marshal",
            "numbers",
            "pprint",
            "reprlib",
            "statistics",
            "html",
        ),
    }
)

Check = Callable[[Path], Iterator[str]]

FAULTS: Final[dict[Check, dict[str, str]]] = {
    no_package_above_the_parts: {"impl/loopspec/__init__.py": ""},
    each_folder_holds_its_own_part: {"impl/loopspec/model/x.py": ""},
    each_part_says_that_it_is_typed: {"model/loopspec/model/py.typed": ""},
    each_part_has_a_readme: {"model/README.md": "# model\n"},
    imports_go_along_the_arrows: {
        "conformance/loopspec/conformance/x.py": "def f():\n    from loopspec import impl\n"
    },
    the_model_is_pure: {"model/loopspec/model/x.py": "from os import path\n"},
    imports_are_absolute: {"impl/loopspec/impl/x.py": "from .log import y\n"},
    modules_are_nouns_with_a_meaning: {"impl/loopspec/impl/utils.py": ""},
    no_file_names_a_registry: {"requirements/x.txt": f"--{REGISTRIES[7]} x\n"},
    no_lock_file_is_kept: {"impl/adapters/x/package-lock.json": "https://x.example/a.tgz"},
    no_file_names_a_machine: {"docs/x.md": "see " + "/" + "home/me/x\n"},
    no_test_sleeps: {"tests/test_x.py": "import time\ntime.sleep(0.1)\n"},
    no_test_has_a_fixed_port: {"tests/test_x.py": "serve(port=8080)\n"},
    data_is_not_code: {"impl/loopspec/impl/x.py": "import pickle\n"},
    only_sqlite_opens_a_log: {"impl/loopspec/impl/x.py": "open('session.sqlite')\n"},
    pages_make_text_nodes: {"reports/loopspec/reports/templates/x.html": "{{ x|safe }}"},
    every_verb_has_a_heading: {"reports/loopspec/cli/dance.py": "def command(): ...\n"},
    every_note_has_a_kind: {"changes/x.feature.md": ""},
    links_lead_somewhere: {"docs/x.md": "[there](nowhere.md)\n"},
    every_document_has_one_title: {"docs/x.md": "# one\n# two\n"},
}
"""Every check, with a tree of files that it must complain about."""

MORE_FAULTS: Final[list[tuple[Check, dict[str, str]]]] = [
    (imports_go_along_the_arrows, {"model/loopspec/model/x.py": "import loopspec.impl\n"}),
    (imports_go_along_the_arrows, {"impl/loopspec/impl/x.py": "from loopspec.model import y\n"}),
    (imports_go_along_the_arrows, {"reports/loopspec/reports/x.py": "import loopspec.impl.log\n"}),
    (imports_go_along_the_arrows, {"reports/loopspec/reports/x.py": "import loopspec.cli\n"}),
    (
        imports_go_along_the_arrows,
        {"model/loopspec/model/x.py": "import_module('loopspec.impl')\n"},
    ),
    (
        imports_go_along_the_arrows,
        {"conformance/loopspec/conformance/subjects/process.py": "import loopspec.impl\n"},
    ),
    (the_model_is_pure, {"model/loopspec/model/x.py": "import networkx\n"}),
    (the_model_is_pure, {"model/loopspec/model/x.py": "import msgspec\n"}),
    (the_model_is_pure, {"model/loopspec/model/x.py": "def f():\n    import time\n"}),
    (the_model_is_pure, {"model/loopspec/model/x.py": "async def f(): ...\n"}),
    (the_model_is_pure, {"model/loopspec/model/x.py": "print(1)\n"}),
    (each_folder_holds_its_own_part, {"impl/adapters/javascript/x.py": ""}),
    (each_folder_holds_its_own_part, {"model/x.py": ""}),
    (no_test_has_a_fixed_port, {"tests/test_x.py": "connect(('127.0.0.1', 80))\n"}),
    (no_test_has_a_fixed_port, {"tests/test_x.py": "u = 'http://localhost" + ":8000/'\n"}),
    (no_file_names_a_machine, {"README.md": f"../{OUTSIDE_DATA}\n"}),
    (data_is_not_code, {"impl/loopspec/impl/x.py": "import marshal\nmarshal.loads(b'')\n"}),
    (data_is_not_code, {"impl/loopspec/impl/x.py": "from marshal import loads\n"}),
    (data_is_not_code, {"impl/loopspec/impl/x.py": "exec(text)\n"}),
    (data_is_not_code, {"tests/x.py": "value = eval(text)\n"}),
    (only_sqlite_opens_a_log, {"impl/loopspec/impl/x.py": "log_path.read_bytes()\n"}),
    (only_sqlite_opens_a_log, {"impl/loopspec/impl/x.py": "shutil.copy(a, b)\n"}),
    (only_sqlite_opens_a_log, {"impl/loopspec/impl/x.py": "os.open(file, os.O_RDONLY)\n"}),
]

FINE: Final[list[tuple[Check, dict[str, str]]]] = [
    (
        imports_go_along_the_arrows,
        {
            "conformance/loopspec/conformance/subjects/python.py": "import loopspec.impl\n",
            "conformance/loopspec/conformance/mutants/finder.py": "import loopspec.impl\n",
            "reports/loopspec/cli/x.py": "import loopspec.impl\n",
        },
    ),
    (the_model_is_pure, {"model/loopspec/model/graph.py": "def f():\n    import networkx\n"}),
    (data_is_not_code, {"impl/loopspec/impl/x.py": "import marshal\nmarshal.dumps(1)\n"}),
    (only_sqlite_opens_a_log, {"impl/loopspec/impl/x.py": "SessionLog.open(path)\n"}),
    (no_test_sleeps, {"tests/test_x.py": "async def f():\n    await asyncio.sleep(0)\n"}),
    (
        no_test_sleeps,
        {
            "tests/test_x.py": "from loopspec.conformance.control import y\n"
            "async def f():\n    await asyncio.sleep(2)\n"
        },
    ),
    (no_test_has_a_fixed_port, {"tests/test_x.py": "serve(port=0)\n"}),
    (no_file_names_a_machine, {"docs/x.md": "of GitHub.com/home/ and ~/work/ and a/root/b\n"}),
]
"""What a check must not complain about."""


# --- The tests --------------------------------------------------------------


@pytest.mark.parametrize("check", FAULTS, ids=lambda check: check.__name__)
def test_this_tree_is_tidy(check: Check) -> None:
    """No check has a complaint."""
    assert [] == list(check(ROOT))


@pytest.mark.parametrize(
    ("check", "tree"),
    [*FAULTS.items(), *MORE_FAULTS],
    ids=lambda value: getattr(value, "__name__", "tree"),
)
def test_a_planted_fault_is_seen(check: Check, tree: dict[str, str], tmp_path: Path) -> None:
    """Each check complains about a tree with its fault."""
    plant(tmp_path, tree)

    assert list(check(tmp_path))


@pytest.mark.parametrize(
    ("check", "tree"), FINE, ids=lambda value: getattr(value, "__name__", "tree")
)
def test_what_is_allowed_is_not_complained_about(
    check: Check, tree: dict[str, str], tmp_path: Path
) -> None:
    """The named exceptions, and look-alikes."""
    plant(tmp_path, tree)

    assert [] == list(check(tmp_path))


def test_generated_documents_are_current() -> None:
    """Nobody edits a generated document by hand, and nobody forgets `make docs`."""
    assert [] == generated.stale()


def test_a_stale_document_is_seen(tmp_path: Path) -> None:
    """In an empty tree every generated document is missing."""
    assert list(generated.GENERATED) == generated.stale(tmp_path)


def test_every_check_is_run() -> None:
    """A check that is written and not listed would never be run."""
    defined = {
        node.name
        for node in ast.parse(Path(__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and ast.unparse(node.returns or node) == "Iterator[str]"
    }

    assert {check.__name__ for check in FAULTS} == defined


def plant(root: Path, tree: dict[str, str]) -> None:
    """Write these files."""
    for name, text in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
