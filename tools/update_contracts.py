"""Derive the shipped contracts again: ``python tools/update_contracts.py [--cache FOLDER] [RELEASE ...]``.

For every release, its wheel is downloaded with pip (once; the cache folder keeps it, unzipped), the contract is
derived, and ``schemas/mcore`` gets one file per distinct contract and the index. Contracts are distinct that differ in
anything but the release's number, so also where only lines moved. ``schemas/names.py`` gets the names that any release
has: the rest of the code takes them from there. Nothing of Megatron-Core is imported or executed.

Name a release to add it to those of the index; a new release is all that this command needs to be told.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from recompute_lint.schemas.derivation.fields import fields_of  # noqa: E402
from recompute_lint.schemas.derivation.flags import flags_of  # noqa: E402
from recompute_lint.schemas.derivation.source import Tree  # noqa: E402
from recompute_lint.schemas.derive import derive  # noqa: E402

CONTRACTS = ROOT / "schemas" / "mcore"
#: The types of every field of Megatron-Core's configurations, also of those that no guard looks at.
FIELDS = ROOT / "schemas" / "fields.json"
#: Where each release has what ``meanings.json`` speaks of.
PLACES = ROOT / "schemas" / "meaning_places.json"
NAMES = ROOT / "schemas" / "names.py"
#: One line for each shipped guard, by which a test notices that one was changed or lost.
GUARDS = ROOT / "tests" / "schemas" / "guards.txt"
DEFAULT_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "recompute-lint" / "megatron-core"


def main(argv: list[str] | None = None) -> int:
    """Write the contracts and the index; the exit status is 1 if a guard could not be translated."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("releases", nargs="*", help="releases to add to those of the index")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="folder for downloads (default: %(default)s)")
    parser.add_argument("--download-only", action="store_true", help="only fill the cache; the tests want it filled")
    arguments = parser.parse_args(argv)
    known = json.loads((CONTRACTS / "index.json").read_text(encoding="utf-8"))["releases"]
    releases = sorted({*known, *arguments.releases}, key=as_numbers)
    if arguments.download_only:
        for release in releases:
            source_of(release, arguments.cache)
        return 0
    contracts = {release: derive(source_of(release, arguments.cache), release) for release in releases}
    files = files_of(contracts)
    for old in CONTRACTS.glob("*.json"):
        old.unlink()
    for name, contract in files.items():
        (CONTRACTS / name).write_text(dumps(contract), encoding="utf-8")
    index = {"releases": {release: file_of(contract, files) for release, contract in contracts.items()}}
    (CONTRACTS / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    FIELDS.write_text(fields_text(source_of(release, arguments.cache) for release in contracts), encoding="utf-8")
    PLACES.write_text(places_text({r: source_of(r, arguments.cache) for r in contracts}), encoding="utf-8")
    flags = {
        release: flags_of(source_of(release, arguments.cache), set(contract["x-recompute"]))
        for release, contract in contracts.items()
    }
    NAMES.write_text(names_of(contracts, flags), encoding="utf-8")
    guards = [line for name in sorted(files) for line in guard_lines(name, files[name])]
    GUARDS.write_text("\n".join(guards) + "\n", encoding="utf-8")
    untranslated = 0
    for release, contract in contracts.items():
        print(f"{release:8} {len(contract['allOf']):3} guards, {len(contract['x-modules']):2} modules")
        for entry in contract["x-untranslated"]:
            untranslated += 1
            print(f"         not translated: line {entry['line']}: {entry['text']}")
    print(f"{len(releases)} releases, {len(files)} contracts")
    return 1 if untranslated else 0


def as_numbers(release: str) -> tuple[int, ...]:
    """A release's number as a tuple that sorts."""
    return tuple(int(part) for part in release.split("."))


def source_of(release: str, cache: Path) -> Path:
    """The folder with a release's source, downloaded if the cache hasn't got it.

    Raises:
        subprocess.CalledProcessError: pip could not get it.
    """
    folder = cache / release
    if (folder / "megatron" / "core").is_dir():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--ignore-requires-python"]
        wanted = f"megatron-core=={release}"
        binary = [*command, "--only-binary=:all:", "--dest", scratch, wanted]
        wheel = subprocess.run(binary, check=False, stderr=subprocess.DEVNULL)
        if wheel.returncode == 0:
            with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as archive:
                archive.extractall(Path(scratch, "tree"))
            _move(Path(scratch, "tree", "megatron"), folder / "megatron")
            return folder
        # Some releases have no wheel. Pip insists on running the build of a source distribution, which may fail; what
        # it unpacked before that stays with --no-clean.
        subprocess.run(
            [*command, "--no-clean", "--dest", scratch, wanted],
            check=False,
            env={**os.environ, "TMPDIR": scratch},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        found = next(Path(scratch).glob("**/megatron/core/transformer/transformer_config.py"), None)
        if found is None:
            raise subprocess.CalledProcessError(wheel.returncode, command)
        _move(found.parents[2], folder / "megatron")
    return folder


def _move(tree: Path, place: Path) -> None:
    """Put a whole tree in its place at once; another process may have been faster."""
    try:
        tree.rename(place)
    except OSError:
        if not place.is_dir():
            raise


def files_of(contracts: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The distinct contracts by file name: that of the first release that has it."""
    files: dict[str, dict[str, Any]] = {}
    for release, contract in contracts.items():
        if file_of(contract, files) is None:
            files[f"{release}.json"] = contract
    return files


def file_of(contract: dict[str, Any], files: dict[str, dict[str, Any]]) -> str | None:
    """The file that has a contract, whatever release it is of."""
    ignored = ("$id", "title")
    for name, other in files.items():
        if all(contract[part] == other[part] for part in contract if part not in ignored):
            return name
    return None


_HEAD = '''"""The names of Megatron-Core's recompute settings, over all releases that have a contract.

Written by ``tools/update_contracts.py`` from the contracts and from Megatron-LM's parser; not to be changed by hand.
What one release has, and its defaults, is in its contract. Every run imports this, so it holds plain values.
"""

from __future__ import annotations
'''


def names_of(contracts: dict[str, dict[str, Any]], flags: dict[str, list[str]]) -> str:
    """The source of ``schemas/names.py``.

    Args:
        contracts: the contract of each release, oldest first.
        flags: the flags of each release's parser that are no fields.
    """
    modules: dict[str, list[str]] = {}
    fields: dict[str, list[str]] = {}
    deprecated: dict[str, list[str]] = {}
    types: dict[str, str] = {}
    values: dict[str, dict[str, None]] = {}
    for release, contract in contracts.items():
        properties = contract["properties"]
        for table, names in (
            (modules, contract["x-modules"]),
            (fields, contract["x-recompute"]),
            (deprecated, [name for name, schema in properties.items() if schema.get("deprecated")]),
        ):
            for name in names:
                table.setdefault(name, []).append(release)
        for name in contract["x-recompute"]:
            stated = properties[name]["type"]
            types[name] = next(type for type in ([stated] if isinstance(stated, str) else stated) if type != "null")
            for value in properties[name].get("enum", ()):
                if value is not None:
                    values.setdefault(name, {})[value] = None
    newest = list(contracts)[-1]

    def span(having: list[str]) -> tuple[str, str]:
        return having[0], "" if having[-1] == newest else having[-1]

    tables = (
        (
            "MODULES",
            "The recompute modules: the release that each came with.",
            _map(modules, lambda name: span(modules[name])[0]),
        ),
        (
            "FIELDS",
            "The recompute fields: the release that each came with, and the last that has it, empty for the newest.",
            _map(fields, lambda name: span(fields[name])),
        ),
        ("TYPES", "The JSON type of each recompute field, beside null.", _map(types, types.__getitem__)),
        (
            "VALUES",
            "What a recompute field may be, where it is one of a few words.",
            _map(values, lambda name: tuple(values[name])),
        ),
        (
            "RETIRED",
            "Fields of guards that the source calls deprecated: the first release to do so, and the last, as above.",
            _map(deprecated, lambda name: span(deprecated[name])),
        ),
        (
            "FLAGS",
            "Flags of Megatron-LM's parser about recomputation that are no fields.",
            _rows("(", sorted({name for some in flags.values() for name in some}), ")"),
        ),
    )
    parts = [f"#: {words}\n{name} = {text}" for name, words, text in tables]
    return "\n".join([_HEAD, "\n\n".join(parts), ""])


def _map(names: Iterable[str], value: Callable[[str], Any]) -> str:
    return _rows("{", [f"{_literal(name)}: {_literal(value(name))}" for name in names], "}", quoted=True)


def _rows(opening: str, rows: list[str], closing: str, *, quoted: bool = False) -> str:
    """A literal with one line for each of its parts."""
    lines = [f"    {row if quoted else _literal(row)}," for row in rows]
    return "\n".join([opening, *lines, closing])


def _literal(value: Any) -> str:
    return "(" + ", ".join(map(_literal, value)) + ")" if isinstance(value, tuple) else json.dumps(value)


def fields_text(sources: Iterable[Path]) -> str:
    """The content of :data:`FIELDS`: the JSON types that a field has in any release; none where one does not tell."""
    types: dict[str, set[str]] = {}
    untold: set[str] = set()
    for source in sources:
        tree = Tree(source)
        for config in tree.config_classes():
            for name, info in fields_of(tree, config).items():
                types.setdefault(name, set()).update(info.types())
                if not info.types():
                    untold.add(name)
    found = {name: [] if name in untold else sorted(types[name]) for name in sorted(types)}
    rows = [f" {json.dumps(name)}: {json.dumps(stated)}" for name, stated in found.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def places_text(sources: dict[str, Path]) -> str:
    """The content of :data:`PLACES`: by place and release, the first line that begins with what is looked for.

    Args:
        sources: the folder with the source of each release, oldest first.
    """
    wanted = json.loads((PLACES.parent / "meanings.json").read_text(encoding="utf-8"))["places"]
    found: dict[str, dict[str, str]] = {}
    for name, alternatives in wanted.items():
        found[name] = {}
        for release, source in sources.items():
            place = next(filter(None, (_first_line(source, *wanted) for wanted in alternatives)), None)
            if place:
                found[name][release] = place
    rows = [f" {json.dumps(name)}: {json.dumps(places)}" for name, places in found.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _first_line(source: Path, file: str, text: str) -> str | None:
    path = source / "megatron" / "core" / file
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return next((f"{file}#L{number}" for number, line in enumerate(lines, 1) if line.strip().startswith(text)), None)


def guard_lines(name: str, contract: dict[str, Any]) -> list[str]:
    """A line for each guard of a contract's file: its rule, where it is, and a digest of the whole branch."""
    lines = []
    for branch in contract["allOf"]:
        digest = hashlib.sha256(json.dumps(branch, sort_keys=True).encode()).hexdigest()[:16]
        lines.append(f"{name} {branch['x-rule']} {branch['x-source'].rpartition('/')[2]} {digest}")
    return lines


def dumps(contract: dict[str, Any]) -> str:
    """A contract as JSON: one line a field, and one line for each part of a guard, so that a diff reads well."""
    lines = ["{"]
    for name, value in contract.items():
        end = "" if name == "x-untranslated" else ","
        if name == "properties":
            parts = [f"  {json.dumps(field)}: {json.dumps(schema)}" for field, schema in value.items()]
            lines.append(' "properties": {\n' + ",\n".join(parts) + "\n }" + end)
        elif name == "allOf":
            parts = []
            for branch in value:
                members = [f"   {json.dumps(key)}: {json.dumps(part)}" for key, part in branch.items()]
                parts.append("  {\n" + ",\n".join(members) + "\n  }")
            lines.append(' "allOf": [\n' + ",\n".join(parts) + "\n ]" + end)
        else:
            lines.append(f" {json.dumps(name)}: {json.dumps(value)}{end}")
    return "\n".join([*lines, "}"]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
