"""Select the findings to report: those that are selected, not suppressed, and not in a baseline."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..lint_rules import registry
from ..sources.files import kind_of
from ..sources.model import Finding, Span, TooMuch
from ..sources.text import decode, read_bytes, split_lines
from ..sources.unread import Unread
from .contracts import Contracts
from .diagnostics import Diagnostic, Raw, place
from .options import Configurations
from .trouble import guarded

if TYPE_CHECKING:
    from .suppress import Suppressions


#: So many suppressions that silence nothing are listed of one file.
_MOST_UNUSED = 1000


def counted(number: int, word: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {word}{'' if number == 1 else 's'}"


class Report(NamedTuple):
    """What a run found."""

    diagnostics: list[Diagnostic]
    #: How many files were looked at, and how many places with a recompute configuration were in them.
    files: int
    sites: int = 0
    #: The recompute settings that were not read, each with the reason: nothing was checked there.
    unread: tuple[Unread, ...] = ()
    #: The files that have recompute configurations.
    read: tuple[str, ...] = ()
    #: The releases that files were linted against, each with where it is from, in order of first use.
    linted_against: tuple[str, ...] = ()
    #: What speaks against the report: another release is installed than is pinned, a pin names one that is not known,
    #: or a folder cannot be listed.
    doubts: tuple[str, ...] = ()
    #: The texts of the files that diagnostics are in, by path.
    lines: Mapping[str, list[str]] = MappingProxyType({})
    #: How many findings a baseline lists, which are not among the diagnostics.
    in_baseline: int = 0
    #: Messages about baselines that list findings which are gone.
    stale: tuple[str, ...] = ()
    #: By path, the bytes of the files as they were linted; those at least that fixes are for.
    contents: Mapping[str, bytes] = MappingProxyType({})
    #: What is known of memory and speed, as Markdown.
    evidence: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is no finding, and no recompute setting that was not read."""
        return not self.diagnostics and not self.unread

    @property
    def counts(self) -> str:
        """How many findings there are, as in ``2 errors and 1 warning``; empty where there are none."""
        errors = sum(diagnostic.severity == "error" for diagnostic in self.diagnostics)
        numbers = ((errors, "error"), (len(self.diagnostics) - errors, "warning"))
        return " and ".join(counted(number, word) for number, word in numbers if number)

    def __bool__(self) -> bool:
        """Refuse: a report without findings is not empty, and one of settings that were not read is not fine."""
        raise TypeError("a Report is neither true nor false; ask for .ok, .diagnostics or .unread")


class Reporter:
    """Makes the report of one run.

    Args:
        configurations: the options for each file.
        contracts: what each file is linted against.
        in_each_file: see :func:`.diagnostics.place`.
    """

    def __init__(self, configurations: Configurations, contracts: Contracts, *, in_each_file: bool = False) -> None:
        self._configurations = configurations
        self._contracts = contracts
        self._in_each_file = in_each_file
        self._contents: dict[str, bytes] = {}
        self._suppressions_of: dict[str, Suppressions] = {}
        self._lines: dict[str, list[str]] = {}

    def report(self, found: list[Raw], paths: list[str], given: Mapping[str, bytes]) -> Report:
        """The report of everything that was found in ``paths``, but for what only the linter knows.

        Args:
            found: the findings.
            paths: the files linted.
            given: the content of those that are not to be read from disk, or not once more.
        """
        self._contents, self._suppressions_of, self._lines = dict(given), {}, {}
        linted = set(paths)
        diagnostics = self._shown(found, linted)
        unused: list[Raw] = []
        for path in paths:
            if self._wants(registry.find("unused-suppression").code, path):
                problems: list[Finding] = []
                with guarded(path, problems):
                    unused.extend(self._unused(path))
                unused.extend(Raw(path, problem.span, problem) for problem in problems)
        diagnostics.extend(self._shown(unused, linted))
        for diagnostic in diagnostics:
            if diagnostic.home is not None:
                self._suppressions(diagnostic.home.path)  # so that its lines are known
        diagnostics.sort(key=lambda diagnostic: (diagnostic.span, diagnostic.code))
        new, stale = self._new(diagnostics, paths)
        report = Report(new, len(paths), lines=self._lines, in_baseline=len(diagnostics) - len(new), stale=stale)
        return report._replace(contents=self._contents)

    def shows(self, path: str, finding: Finding) -> bool:
        """Whether a finding of a site in the file at ``path`` is wanted there, and no comment silences it."""
        code = registry.find(finding.rule).code
        return self._wants(code, path) and not self._is_silenced(code, finding.span)

    def _is_silenced(self, code: str, span: Span) -> bool:
        return self._suppressions(span.path).covers(code, span.line)

    def _wants(self, code: str, path: str) -> bool:
        return self._configurations.for_file(path).wants(code, path)

    def _shown(self, found: list[Raw], linted: set[str]) -> list[Diagnostic]:
        """What of the findings is wanted and not silenced, placed; without the fixes that do not fit the text."""
        return [
            diagnostic if diagnostic.fix is None else self._with_fitting_fix(diagnostic)
            for diagnostic in place(found, linted, self._is_shown, in_each_file=self._in_each_file)
        ]

    def _is_shown(self, diagnostic: Diagnostic) -> bool:
        """Whether a finding is wanted where it is shown, and silenced neither there nor where the mistake is."""
        places = {diagnostic.span, diagnostic.home or diagnostic.span}
        return self._wants(diagnostic.code, diagnostic.span.path) and not any(
            self._is_silenced(diagnostic.code, place) for place in places
        )

    def _with_fitting_fix(self, diagnostic: Diagnostic) -> Diagnostic:
        from .fix import fitted

        assert diagnostic.fix is not None
        return diagnostic._replace(fix=fitted(diagnostic.fix, self._lines[diagnostic.span.path]))

    def _new(self, diagnostics: list[Diagnostic], paths: list[str]) -> tuple[list[Diagnostic], tuple[str, ...]]:
        """The findings that no baseline lists, and what to say of those that are listed and gone."""
        if not any(self._configurations.for_file(path).baseline for path in paths):
            return diagnostics, ()
        baseline_of = {path: self._configurations.for_file(path).baseline for path in paths}
        from .baseline import new

        return new(diagnostics, baseline_of, self._lines, self._wants)

    def _unused(self, path: str) -> Iterator[Raw]:
        """The suppressions of a file that silence nothing."""
        from .suppress import NEEDLES

        content = self._content(path)
        if isinstance(content, Finding) or not any(needle in content for needle in NEEDLES):
            return
        text = decode(path, content)
        if isinstance(text, Finding):
            return
        from .unused import unused

        def is_checked(code: str) -> bool:
            needs_release = registry.RULES[code].needs_release
            return self._wants(code, path) and not (needs_release and self._contracts.for_file(path).assumed)

        kind = kind_of(path, content) or "yaml"
        for count, finding in enumerate(unused(path, text, kind, self._suppressions(path), is_checked)):
            if count >= _MOST_UNUSED:
                raise TooMuch(f"has more than {_MOST_UNUSED:,} unused suppressions")
            self._contents[path] = content  # what the fix is for
            yield Raw(path, finding.span, finding)

    def _content(self, path: str) -> bytes | Finding:
        return self._contents[path] if path in self._contents else read_bytes(path)

    def _suppressions(self, path: str) -> "Suppressions":
        """What a file silences. Its lines are kept for the report."""
        found = self._suppressions_of.get(path)
        if found is None:
            from .suppress import Suppressions  # not needed where nothing is found

            content = self._content(path)
            text = "" if isinstance(content, Finding) else decode(path, content)
            self._lines[path] = [] if isinstance(text, Finding) else split_lines(text)
            found = self._suppressions_of[path] = Suppressions(self._lines[path])
        return found
