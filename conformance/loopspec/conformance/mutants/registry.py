"""Mutants as data, and the import of a whole part with one of them applied.

Rules of this file:

1. A mutant is one source edit of at most three lines (`mutants.toml`). Its anchor must be found
   exactly once: a mutant that no longer applies is an error, not a survivor.
2. The edit is applied in memory. No file is written, no bytecode of a mutant is cached.
3. The *whole* part is imported again, so that no name of the mutant's part leads back to the
   original: `from loopspec.impl.inbox import Inbox` inside the copy finds the copy. Patching one
   function in place was rejected: names bound at import would keep the original.
4. `sys.modules` is left as it was. Any number of copies can be alive at once.

A copy may not import its own part late, inside a function: that import would find the original.
`late_imports` names such places, and a test holds that no mutated part has one.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.resources import files
from types import CodeType, ModuleType
from typing import Any, Final, TypeVar

import attrs

__all__ = [
    "LAWS",
    "LINES_MAX",
    "PROPERTIES",
    "TRIALS",
    "Fault",
    "LogMutant",
    "Mutant",
    "MutantError",
    "TableMutant",
    "apply_edit",
    "find_mutant",
    "find_table_mutant",
    "late_imports",
    "load_log_mutants",
    "load_mutants",
    "load_table_mutants",
    "mutated_beside",
    "mutated_impl",
    "mutated_part",
    "source_of",
]

LINES_MAX: Final = 3
"""Longest anchor and longest replacement, in lines."""

PROPERTIES: Final = (
    "BAL",
    "OWN",
    "REJ",
    "LOST",
    "ORDER",
    "CAUSE",
    "WAKE",
    "STATUS",
    "QUIET",
    "SCOPE",
    "TERM",
    "DUP",
    "PARK",
    "REFUSED",
    "TORN",
    "REPORT",
    "RESUME",
    "TRACE",
)
"""Codes that a mutant may be filed under: a property that reports it by itself, or TRACE."""

LAWS: Final = {
    "ACK-POWER": "What was acknowledged is there after a power cut, whatever was not synced.",
    "BATCH": "The records between two flushes are there all or none.",
    "NO-PHANTOM": "Nothing is told of as durable before its commit has returned.",
    "REFUSED": "What the disk does not take is refused in a sentence, and loses no other record.",
    "BOUND": "The write-ahead log stays small, whoever reads meanwhile.",
}
"""Laws of the session log that a mutant of the log may be filed under."""

TRIALS: Final = {
    "power cuts": "every power cut of a scenario, with unsynced sectors lost, kept or torn",
    "failing disk": "every call of the disk in a scenario, failing once or for good",
    "writer thread": "every call of the disk below the writer's thread, failing once",
    "full disk": "a disk that is full, while it is and once there is room again",
    "slow reader": "a reader that stops half way, beside a writer that goes on",
}
"""What finds mutants of the log; tests/quality/log_trials.py runs them."""


class MutantError(Exception):
    """The registry of mutants and the source do not fit together. It is our own bug."""


M = TypeVar("M", bound="Fault")


@attrs.frozen
class Fault:
    """One named fault: where it is, what it does, and which rules say that it is one."""

    id: str
    file: str
    anchor: str
    replacement: str
    sentence: str
    code: str
    rules: tuple[str, ...]

    @property
    def part(self) -> str:
        """The part that is imported again: `impl` or `model`."""
        return self.file.partition("/")[0]

    @property
    def module(self) -> str:
        """The full name of the module that the edit changes."""
        return "loopspec." + self.file.removesuffix(".py").replace("/", ".")


@attrs.frozen
class Mutant(Fault):
    """A fault of the loop or of the table, with a scenario that shows it.

    `code` is a property that reports the witness without trace inclusion; TRACE when none does.
    `witness` is the text of a scenario, ready to be pasted into `replay`.
    """

    witness: str


@attrs.frozen
class LogMutant(Fault):
    """A fault of the session log, which no scenario shows while the disk is well.

    `code` is the law that it breaks, and `trial` what finds it.
    """

    trial: str


@attrs.frozen
class TableMutant(Mutant):
    """A fault of the table, with what finds it.

    `code` is the law that sees it when the default scopes are explored; TRACE when none does.
    `witness` is the shortest scenario on which it parts from the shipped table, and its header
    names the profile; empty when there is none, and then `equivalent` says in which scope.
    `transcripts` counts recorded sessions of the genuine loop that it would refuse.
    """

    transcripts: int = 0
    equivalent: str = ""


@cache
def load_mutants() -> tuple[Mutant, ...]:
    """Every registered mutant of the implementation, in the order of the file.

    Raises `MutantError` for an unknown key, a duplicate id or an edit that is too long.
    """
    return _unique(tuple(_from_table(table) for table in _tables("mutants.toml")))


@cache
def load_table_mutants() -> tuple[TableMutant, ...]:
    """Every registered mutant of the table, in the order of the file; raises as `load_mutants`."""
    tables = _tables("table_mutants.toml")
    return _unique(tuple(_from_table(table, TableMutant) for table in tables))


@cache
def load_log_mutants() -> tuple[LogMutant, ...]:
    """Every registered mutant of the log, in the order of the file; raises as `load_mutants`."""
    return _unique(tuple(_from_table(table, LogMutant) for table in _tables("log_mutants.toml")))


def find_mutant(mutant_id: str) -> Mutant:
    """The mutant of that id; raises `MutantError` that lists what exists."""
    return _find(mutant_id, load_mutants())


def find_table_mutant(mutant_id: str) -> TableMutant:
    """The mutant of the table of that id; raises `MutantError` that lists what exists."""
    return _find(mutant_id, load_table_mutants())


def mutated_impl(mutant_id: str) -> ModuleType:
    """A fresh copy of `loopspec.impl` with that fault, for `PythonSubject(impl=...)`."""
    mutant = find_mutant(mutant_id)
    if mutant.part != "impl":
        msg = f"Mutant {mutant_id} changes {mutant.file}, not the implementation."
        raise MutantError(msg)
    return mutated_part("impl", mutant)


def mutated_part(part: str, *mutants: Fault) -> ModuleType:
    """A fresh copy of the package `loopspec.<part>` with these edits applied, all names resolved.

    Without mutants it is an unchanged copy. Raises `MutantError` when an anchor is lost or
    ambiguous; an exception of the copy's own import passes through.
    """
    package = f"loopspec.{part}"
    with _set_aside(package), _found_first(_Finder(_edited_sources(part, mutants))):
        copy = importlib.import_module(package)
        for name in _module_names(copy):
            importlib.import_module(name)
        # Parts re-export lazily; what is not resolved now would later find the original.
        for name in getattr(copy, "__all__", ()):
            setattr(copy, name, getattr(copy, name))
    return copy


def mutated_beside(module: str, *mutants: Mutant) -> ModuleType:
    """A fresh copy of one module or package that uses the model, bound to a mutated model.

    What it imports of its own part, below itself, is copied with it. Raises as `mutated_part`.
    """
    # Only behind the first is it safe to look for sources: the shipped modules come back then.
    with (
        _set_aside("loopspec.model"),
        _set_aside(module),
        _found_first(_Finder(_edited_sources("model", mutants))),
    ):
        return importlib.import_module(module)


def source_of(mutant: Fault) -> str:
    """The unchanged source text of the mutant's module."""
    try:
        spec = importlib.util.find_spec(mutant.module)
    except ModuleNotFoundError:
        spec = None
    source = None
    if spec is not None and isinstance(spec.loader, InspectLoader):
        source = spec.loader.get_source(mutant.module)
    if source is None:
        msg = f"Mutant {mutant.id} names {mutant.file}, and there is no such module."
        raise MutantError(msg)
    return source


def apply_edit(mutant: Fault, source: str) -> str:
    """The source with the anchor replaced; it must be there exactly once."""
    count = source.count(mutant.anchor)
    if count != 1:
        found = "is not in" if count == 0 else f"is {count} times in"
        msg = f"Mutant {mutant.id}: its anchor {found} {mutant.file}, and must be there once."
        raise MutantError(msg)
    return source.replace(mutant.anchor, mutant.replacement)


def late_imports(part: str) -> tuple[str, ...]:
    """Places (module:line) where a part imports itself inside a function."""
    package = f"loopspec.{part}"
    places: list[str] = []
    root = importlib.import_module(package)
    for name in (package, *_module_names(root)):
        spec = importlib.util.find_spec(name)
        loader = None if spec is None else spec.loader
        source = loader.get_source(name) if isinstance(loader, InspectLoader) else None
        for function in ast.walk(ast.parse(source or "")):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                places += [
                    f"{name}:{node.lineno}"
                    for node in ast.walk(function)
                    if isinstance(node, ast.Import | ast.ImportFrom)
                    and any(_inside(package, imported) for imported in _imported_names(node))
                ]
    return tuple(sorted(set(places)))


# --- Within --------------------------------------------------------------------


def _tables(name: str) -> list[dict[str, object]]:
    tables: list[dict[str, object]] = tomllib.loads(
        (files(__package__) / name).read_text(encoding="utf-8")
    ).get("mutant", [])
    return tables


def _unique(mutants: tuple[M, ...]) -> tuple[M, ...]:
    seen: set[str] = set()
    for mutant in mutants:
        if mutant.id in seen:
            msg = f"Mutant {mutant.id} is registered twice."
            raise MutantError(msg)
        seen.add(mutant.id)
    return mutants


def _find(mutant_id: str, mutants: tuple[M, ...]) -> M:
    for mutant in mutants:
        if mutant.id == mutant_id:
            return mutant
    known = ", ".join(mutant.id for mutant in mutants)
    msg = f"There is no mutant {mutant_id!r}; known are: {known}."
    raise MutantError(msg)


def _from_table(table: dict[str, object], kind: type[M] = Mutant) -> M:  # type: ignore[assignment]
    """A row of a file as a value; says in one sentence what is wrong with it."""
    known = {field.name for field in attrs.fields(kind)}
    needed = {field.name for field in attrs.fields(kind) if field.default is attrs.NOTHING}
    missing = needed - table.keys()
    if missing or table.keys() - known:
        wrong = ", ".join(sorted(missing | (table.keys() - known)))
        msg = f"Mutant {table.get('id', '?')}: missing or unknown keys: {wrong}."
        raise MutantError(msg)
    rules = table["rules"]
    assert isinstance(rules, list)
    values: dict[str, Any] = {key: value for key, value in table.items() if key != "rules"}
    values["anchor"] = str(values["anchor"]).rstrip("\n")
    values["replacement"] = str(values["replacement"]).rstrip("\n")
    mutant = kind(rules=tuple(str(rule) for rule in rules), **values)
    longest = max(len(mutant.anchor.splitlines()), len(mutant.replacement.splitlines()))
    if longest > LINES_MAX or mutant.anchor == mutant.replacement or not mutant.anchor.strip():
        msg = f"Mutant {mutant.id} must be one edit of 1 to {LINES_MAX} lines; it has {longest}."
        raise MutantError(msg)
    if mutant.code not in (LAWS if isinstance(mutant, LogMutant) else PROPERTIES):
        what = "law of the log" if isinstance(mutant, LogMutant) else "property code"
        msg = f"Mutant {mutant.id} is filed under {mutant.code!r}, which is no {what}."
        raise MutantError(msg)
    if isinstance(mutant, LogMutant) and mutant.trial not in TRIALS:
        msg = f"Mutant {mutant.id} names {mutant.trial!r}; the trials are {', '.join(TRIALS)}."
        raise MutantError(msg)
    return mutant


def _edited_sources(part: str, mutants: tuple[Fault, ...]) -> dict[str, str]:
    """Source by module name, for the modules that the mutants change."""
    sources: dict[str, str] = {}
    for mutant in mutants:
        if mutant.part != part:
            msg = f"Mutant {mutant.id} changes {mutant.file}, which is not in part {part}."
            raise MutantError(msg)
        before = sources.get(mutant.module) or source_of(mutant)
        sources[mutant.module] = apply_edit(mutant, before)
    # Looking for a source imports the package around it; the copy must not find that one.
    for name in [name for name in sys.modules if _inside(f"loopspec.{part}", name)]:
        del sys.modules[name]
    return sources


def _inside(package: str, name: str) -> bool:
    return name == package or name.startswith(package + ".")


def _imported_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names]


def _module_names(package: ModuleType) -> list[str]:
    """Every module below the package; `__main__` runs a program, so it is left out."""
    found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return [module.name for module in found if not module.name.endswith(".__main__")]


@contextmanager
def _set_aside(package: str) -> Iterator[None]:
    """Take the package's modules out of `sys.modules`, and put exactly them back."""
    parent_name, _, child = package.rpartition(".")
    parent = importlib.import_module(parent_name)
    missing = object()
    attribute = getattr(parent, child, missing)
    aside = {name: module for name, module in sys.modules.items() if _inside(package, name)}
    for name in aside:
        del sys.modules[name]
    try:
        yield
    finally:
        for name in [name for name in sys.modules if _inside(package, name)]:
            del sys.modules[name]
        sys.modules.update(aside)
        # Importing a child also binds it in its parent.
        if attribute is not missing:
            setattr(parent, child, attribute)
        elif hasattr(parent, child):
            delattr(parent, child)


@contextmanager
def _found_first(finder: MetaPathFinder) -> Iterator[None]:
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    """Answers for the edited modules only; everything else is found as always."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        source = self._sources.get(fullname)
        if source is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                origin = f"<mutant of {fullname}>"
                spec.loader = _SourceLoader(compile(source, origin, "exec"))
                spec.cached = None
                return spec
        return None


class _SourceLoader(Loader):
    """Runs the code that it was given."""

    def __init__(self, code: CodeType) -> None:
        self._code = code

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)
