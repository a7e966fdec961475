"""What of the findings is reported: those that are wanted, not silenced, and not in a baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..schemas.choose import Choice
from ..sources.files import kind_of
from ..sources.model import Problem, Span, TooMuch
from ..sources.text import decode, read_bytes, split_lines
from .diagnostics import Diagnostic, Raw, place, raw_problem
from .options import Configurations
from .trouble import guarded

if TYPE_CHECKING:
    from ..lint_rules.finding import Finding
    from .suppress import Suppressions


#: So many suppressions that silence nothing are listed of one file.
_MOST_UNUSED = 1000


class Report(NamedTuple):
    """What a run found."""

    diagnostics: list[Diagnostic]
    #: How many files were looked at, and how many places with a recompute configuration were in them.
    files: int
    sites: int
    #: The releases that files were judged by, each with why it was chosen, in order of first use.
    judged_by: list[str]
    #: The texts of the files that diagnostics are in, by path.
    lines: dict[str, list[str]]
    #: How many findings a baseline lists, which are not among the diagnostics.
    known: int = 0
    #: How many files have recompute settings of no framework that is known.
    unread: int = 0
    #: What to say of baselines that list findings which are gone.
    stale: tuple[str, ...] = ()
    #: By path, the bytes of the files as they were linted; those at least that fixes are for.
    contents: Mapping[str, bytes] = MappingProxyType({})


class Reporter:
    """Makes the report of one run.

    Args:
        configurations: the options for each file.
        contract: what each file is judged by.
        given: the content of the files that are not to be read from disk, or not once more.
    """

    def __init__(
        self, configurations: Configurations, contract: Callable[[str], Choice], given: Mapping[str, bytes]
    ) -> None:
        self._configurations = configurations
        self._contract = contract
        self._contents = dict(given)
        self._suppressions_of: dict[str, Suppressions] = {}
        self._lines: dict[str, list[str]] = {}

    def report(self, found: list[Raw], paths: list[str], sites: int, judged_by: list[str]) -> Report:
        """The report of everything that was found in ``paths``; for the rest, see :class:`Report`."""
        diagnostics = self._shown(found, set(paths))
        unused: list[Raw] = []
        for path in paths:
            if self._wants("RCL906", path):
                problems: list[Problem] = []
                with guarded(path, problems):
                    unused.extend(self._unused(path))
                unused.extend(raw_problem(path, problem.span, problem) for problem in problems)
        diagnostics.extend(self._shown(unused, set(paths)))
        for diagnostic in diagnostics:
            if diagnostic.home is not None:
                self._suppressions(diagnostic.home.path)  # so that its lines are known
        diagnostics.sort(key=lambda diagnostic: (diagnostic.span, diagnostic.code))
        new, stale = self._new(diagnostics, paths)
        return Report(
            new, len(paths), sites, judged_by, self._lines, len(diagnostics) - len(new), stale=stale
        )._replace(contents=self._contents)

    def shows(self, path: str, finding: Finding) -> bool:
        """Whether a finding of a site in the file at ``path`` is wanted there, and no comment silences it."""
        return self._wants(finding.code, path) and not self._is_silenced(finding.code, finding.span)

    def _is_silenced(self, code: str, span: Span) -> bool:
        return self._suppressions(span.path).covers(code, span.line)

    def _wants(self, code: str, path: str) -> bool:
        return self._configurations.for_file(path).wants(code, path)

    def _shown(self, found: list[Raw], linted: set[str]) -> list[Diagnostic]:
        """What of the findings is wanted and not silenced, placed; without the fixes that do not fit the text."""
        return [
            diagnostic if diagnostic.fix is None else self._with_fitting_fix(diagnostic)
            for diagnostic in place(found, linted)
            if self._wants(diagnostic.code, diagnostic.span.path)
            and not self._is_silenced(diagnostic.code, diagnostic.span)
        ]

    def _with_fitting_fix(self, diagnostic: Diagnostic) -> Diagnostic:
        from .fix import fitted

        assert diagnostic.fix is not None
        return diagnostic._replace(fix=fitted(diagnostic.fix, self._lines[diagnostic.span.path]))

    def _new(self, diagnostics: list[Diagnostic], paths: list[str]) -> tuple[list[Diagnostic], tuple[str, ...]]:
        """The findings that no baseline lists, and what to say of those that are listed and gone."""
        baseline_of = {path: self._configurations.for_file(path).baseline for path in paths}
        names = sorted(set(filter(None, baseline_of.values())))
        if not names:
            return diagnostics, ()
        from .baseline import Baseline

        baselines = {name: Baseline(name) for name in names}
        new = []
        for diagnostic in diagnostics:
            baseline = baselines.get(self._configurations.for_file(diagnostic.span.path).baseline)
            if baseline is None or not baseline.has(diagnostic, self._lines):
                new.append(diagnostic)
        gone = ((name, baseline.gone(paths, self._wants)) for name, baseline in baselines.items())
        return new, tuple(
            f"{name} lists {count} finding{'s' * (count != 1)} that {'are' if count != 1 else 'is'} gone: "
            f"write it anew with --write-baseline {name}"
            for name, count in gone
            if count
        )

    def _unused(self, path: str) -> Iterator[Raw]:
        """The suppressions of a file that silence nothing."""
        from .suppress import NEEDLES

        content = self._content(path)
        if isinstance(content, Problem) or not any(needle in content for needle in NEEDLES):
            return
        text = decode(path, content)
        if isinstance(text, Problem):
            return
        from .unused import unused

        def is_judged(code: str) -> bool:
            return self._wants(code, path) and not (code == "RCL303" and self._contract(path).assumed)

        kind = kind_of(path, content) or "yaml"
        for count, finding in enumerate(unused(path, text, kind, self._suppressions(path), is_judged)):
            if count >= _MOST_UNUSED:
                raise TooMuch(f"has more than {_MOST_UNUSED:,} unused suppressions")
            self._contents[path] = content  # what the fix is for
            yield Raw(path, finding.span, finding)

    def _content(self, path: str) -> bytes | Problem:
        return self._contents[path] if path in self._contents else read_bytes(path)

    def _suppressions(self, path: str) -> Suppressions:
        """What a file silences. Its lines are kept for the report."""
        found = self._suppressions_of.get(path)
        if found is None:
            from .suppress import Suppressions  # not needed where nothing is found

            content = self._content(path)
            text = "" if isinstance(content, Problem) else decode(path, content)
            self._lines[path] = [] if isinstance(text, Problem) else split_lines(text)
            found = self._suppressions_of[path] = Suppressions(self._lines[path])
        return found
