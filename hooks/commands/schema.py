"""Print a JSON Schema of a framework's recipes, for editors and check-jsonschema.

It needs no other file, has the modules of one release of Megatron-Core with what each is, and refuses keys that are one
letter away from a recompute setting. "config" is the schema of recompute-lint's own configuration.
"""

from __future__ import annotations

import argparse
import json

from ...schemas import store
from ...schemas.bundle import bundle, names, title
from ...schemas.choose import choose
from ...sources.projects import project_root
from ...sources.suggest import nearest
from ...sources.text import reason_of
from ..stated import check_release
from .common import UsageError, fail, write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a framework; none lists all")
    parser.add_argument("--mcore", metavar="VERSION", help="the megatron-core in use (default: the project's)")
    parser.add_argument("-o", "--output-file", metavar="FILE", help="write it there")


def run(namespace: argparse.Namespace) -> int:
    """Print the schema and return the exit code."""
    if not namespace.name:
        width = max(map(len, names()))
        write("".join(f"{name:{width}}  {title(name)}\n" for name in names()))
        return 0
    try:
        if namespace.name not in names():
            close = nearest(namespace.name, names())
            hint = f"did you mean {close}?" if close else f"there are {', '.join(names())}"
            raise UsageError(f"schema: no schema is named {namespace.name}; {hint}")
        check_release(namespace.mcore or "", "--mcore")
        contract = choose(namespace.mcore or "", project_root(".")).contract
        text = json.dumps(bundle(namespace.name, contract), indent=2) + "\n"
        if not namespace.output_file:
            write(text)
            return 0
        from ..replace import write as replace

        replace(namespace.output_file, text.encode())
    except (UsageError, store.UnknownRelease) as error:
        return fail(error)
    except OSError as error:
        return fail(UsageError(f"{namespace.output_file or 'standard output'}: cannot be written: {reason_of(error)}"))
    return 0
