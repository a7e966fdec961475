"""What ``check`` lints: paths, or standard input under a name; and the options that hold for the run."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ...sources.errors import shown
from ..contracts import Contracts
from ..engine import Linter
from ..option_table import RUN
from ..options import Configurations
from ..report import Report
from ..trouble import Left, reason
from .common import UsageError, configurations, write_error

if TYPE_CHECKING:
    import argparse


class Source:
    """What is linted: paths, or standard input under a name."""

    def __init__(self, namespace: argparse.Namespace) -> None:
        self._namespace = namespace
        self.is_stdin = "-" in namespace.paths
        self.paths: list[str] = namespace.paths
        self.given: dict[str, bytes] = {}
        #: By path, why a file was left as it is.
        self.left: dict[str, Exception] = {}
        if self.is_stdin:
            if namespace.paths != ["-"]:
                raise UsageError("- is standard input and cannot be combined with other paths")
            self.paths = [os.path.normpath(namespace.stdin_filename or "stdin.yaml")]
            if sys.stdin is None:
                raise UsageError("standard input is closed")
            self.given[self.paths[0]] = sys.stdin.buffer.read()
        #: The options of files.
        self.options = configurations(namespace)
        complete(namespace, self.options)

    def lint(self) -> Report:
        """Lint anew: the files may have changed."""
        options = self.options
        linter = Linter(options, contracts=Contracts(options, cache=not self._namespace.no_cache), predicts=True)
        if self.is_stdin:
            return linter.run(self.paths, self.given)
        files = linter.files(self.paths, force_exclude=self._namespace.force_exclude)
        if self._namespace.fix:
            from ..replace import clean

            files = list(files)
            clean({os.path.dirname(os.path.realpath(path)) for path in files})
        verbose = write_error if self._namespace.verbose else None
        if self._namespace.diff_base:
            from ..changed import affected, changed_files

            changed = changed_files(self._namespace.diff_base)
            files = affected(linter, map(os.path.normpath, files), changed)
        return linter.run(files, verbose=verbose)

    def failed(self, path: str, error: Exception) -> None:
        """Note that a file's fixes cannot be worked out."""
        self.left[path] = Left(". ".join(filter(None, reason(error))))

    def tell(self) -> None:
        """Say on standard error which files are left as they are, and why."""
        for path, why in self.left.items():
            write_error(f"recompute-lint: {path} is left as it is: {why}")

    def put(self, path: str, old: bytes, new: bytes) -> bool:
        """Replace a file's content; False where the file is left as it is."""
        if self.is_stdin:
            self.given[path] = new
            return True
        from ..replace import replace

        self.left.pop(path, None)
        try:
            replace(path, old, new)
        except Left as why:
            self.left[path] = why
            return False
        return True


def complete(namespace: argparse.Namespace, options: Configurations) -> None:
    """Set what the command line leaves out to what the configuration of the current folder says, or to the default."""
    stated = dict(options.for_file(os.path.join(os.curdir, "x")).run)
    for key, allowed in RUN.items():
        name = key.replace("-", "_")
        given = getattr(namespace, name)
        if isinstance(allowed[0], bool):
            setattr(namespace, name, given or stated.get(key, False))
        elif given is None:
            setattr(namespace, name, stated.get(key, {"color": "auto", "output-format": "full"}.get(key, "warning")))
        elif given not in allowed:
            raise UsageError(f"RECOMPUTE_LINT_{name.upper()}: {shown(given)} is not one of {', '.join(allowed)}")
    if namespace.no_fix or namespace.diff or namespace.write_baseline or namespace.add_suppressions:
        namespace.fix = False
