"""The documents that an editor has open, and what is found in them: linted again only where something changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..schemas.store import UnknownRelease
from ..sources import facts
from .contracts import Contracts
from .diagnostics import Diagnostic, Raw
from .engine import Linter
from .options import Configurations, UsageError
from .report import Reporter


class _Linted(NamedTuple):
    """What was found in a document, and the files that have a part in it."""

    found: list[Raw]
    named: frozenset[str]


class OpenDocuments:
    """The open documents, by path.

    Args:
        configurations: makes the options of files, anew whenever a file outside the editor may have changed.

    Attributes:
        complaint: what is wrong with an option, if anything is; the documents that it concerns have no findings then.
    """

    def __init__(self, configurations: Callable[[], Configurations]) -> None:
        self._make = configurations
        self._linter: Linter | None = None
        self._options = Configurations({}, isolated=True)
        self._contracts = Contracts(self._options)
        self._texts: dict[str, bytes] = {}
        self._linted: dict[str, _Linted] = {}
        self.complaint = ""

    def put(self, path: str, text: bytes) -> None:
        """Take ``text`` for what the document at ``path`` has in it now."""
        if self._texts.get(path) != text:
            self._texts[path] = text
            self._forget(path)

    def drop(self, path: str) -> None:
        """The document is closed; others have what is on the disk for their parent."""
        if self._texts.pop(path, None) is not None:
            self._forget(path)

    def renew(self) -> None:
        """Something may have changed on the disk: read everything anew."""
        self._linter = None
        self._linted.clear()
        facts.beside.cache_clear()

    def _forget(self, path: str) -> None:
        self._linted.pop(path, None)
        for other in [other for other, linted in self._linted.items() if path in linted.named]:
            del self._linted[other]

    def linter(self) -> Linter:
        """A linter that sees the documents as they are in the editor.

        Raises:
            UsageError: an option is wrong.
        """
        if self._linter is None:
            self._options = self._make()
            self._contracts = Contracts(self._options, cache=True)
            self._linter = Linter(self._options, contracts=self._contracts)
        self._linter.forget_files()
        self._linter.seed(self._texts)
        return self._linter

    def lint(self) -> tuple[dict[str, list[Diagnostic]], set[str]]:
        """Lint what changed, and what depends on it.

        Returns:
            The findings of every document, and which documents were linted again.
        """
        again = {path for path in self._texts if path not in self._linted}
        diagnostics: dict[str, list[Diagnostic]] = {path: [] for path in self._texts}
        self.complaint = ""
        for path in again:
            self._linted[path] = self._examined(path)
        found = [raw for path in self._texts for raw in self._linted[path].found]
        if found and self._linter is not None:
            try:
                paths = [path for path in self._texts if self._linted[path].found]
                reporter = Reporter(self._options, self._contracts, in_each_file=True)
                report = reporter.report(found, paths, self._texts)
            except (UsageError, UnknownRelease) as error:
                self.complaint = str(error)
            else:
                for diagnostic in report.diagnostics:
                    diagnostics.setdefault(diagnostic.span.path, []).append(diagnostic)
        return diagnostics, again

    def _examined(self, path: str) -> _Linted:
        """What there is in one document; nothing where an option of its own is wrong."""
        try:
            linter = self.linter()
            if linter.is_excluded(path):
                return _Linted([], frozenset())
            part = linter.examine([path], {path: self._texts[path]})
        except (UsageError, UnknownRelease) as error:
            self.complaint = str(error)
            return _Linted([], frozenset())
        return _Linted(list(part.found), linter.named())
