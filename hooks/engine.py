"""From paths to a report: read, find the sites, check them, place the findings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..lint_rules.check import check
from ..schemas import store
from ..sources import dialects
from ..sources.files import kind_of, matches_any, walk
from ..sources.model import Problem, Site, Span
from ..sources.text import decode, is_utf16, read_bytes, split_lines
from .diagnostics import Diagnostic, Raw, place, raw_finding, raw_problem
from .options import Configurations, Options

if TYPE_CHECKING:
    from ..sources.reader import Reader


class Report(NamedTuple):
    """What a run found."""

    diagnostics: list[Diagnostic]
    #: How many files were looked at, and how many places with a recompute configuration were in them.
    files: int
    sites: int
    #: The contracts that were used, in order of first use.
    choices: list[store.Choice]
    #: The texts of the files that diagnostics are in, by path.
    lines: dict[str, list[str]]


class Linter:
    """Lints files, and keeps what several of them share.

    Args:
        configurations: the options for each file.
    """

    def __init__(self, configurations: Configurations) -> None:
        self._configurations = configurations
        self._choices: dict[str, store.Choice] = {}

    @cached_property
    def _reader(self) -> Reader:
        from ..sources.reader import Reader  # loads YAML, which most files of a repository do not need

        return Reader()

    def contract(self, options: Options) -> store.Choice:
        """The contract that the options ask for.

        Raises:
            store.UnknownRelease: there is none for the release.
        """
        choice = self._choices.get(options.mcore)
        if choice is None:
            choice = self._choices[options.mcore] = store.choose(options.mcore)
        return choice

    def files(self, paths: list[str], *, force_exclude: bool = False) -> Iterator[str]:
        """The files to lint at and below ``paths``."""

        def excluded(path: str) -> bool:
            options = self._configurations.for_file(path)
            return matches_any(path, options.exclude, options.root)

        return walk(paths, excluded, force_exclude=force_exclude)

    def sites(self, path: str, data: bytes | None = None) -> tuple[list[Site], list[Problem]]:
        """The sites of a file, and what is wrong with the file itself.

        Args:
            path: the file.
            data: its content; None to read it.
        """
        content = read_bytes(path) if data is None else data
        if isinstance(content, Problem):
            return [], [content]
        options = self._configurations.for_file(path)
        searched = content.decode("utf-16", "replace").encode() if is_utf16(content) else content
        kind = kind_of(path) or "yaml"
        candidates = dialects.candidates(searched, kind, options.dialect)
        if not candidates:
            return [], []
        document = self._reader.linted(path, content)
        sites, problems = dialects.read(document, self._reader, candidates, forced=bool(options.dialect))
        if kind != "yaml":
            return sites, problems
        if sites:
            return sites, [*document.problems, *problems]
        if problems or not _concerns_us(searched):
            return [], problems
        return [], [problem for problem in document.problems if problem.code != "RCL205"]

    def options_for(self, path: str) -> Options:
        """The options that hold for the file at ``path``."""
        return self._configurations.for_file(path)

    def run(
        self,
        files: Iterable[str],
        given: Mapping[str, bytes] = MappingProxyType({}),
        verbose: Callable[[str], None] | None = None,
    ) -> Report:
        """Lint ``files``.

        Args:
            files: paths, each once.
            given: the content of those that are not to be read from disk.
            verbose: told what each file with a site was read as.

        Raises:
            store.UnknownRelease, UsageError: an option cannot be followed.
        """
        found: list[Raw] = []
        linted: set[str] = set()
        site_count = 0
        for file in files:
            path = os.path.normpath(file)
            linted.add(path)
            sites, problems = self.sites(path, given.get(file))
            site_count += len(sites)
            if verbose is not None and sites:
                verbose(f"{path}: {sites[0].dialect}, {', '.join(site.path or 'the whole file' for site in sites)}")
            anchor = sites[0].anchor if sites else Span(path, 1, 1, 1, 1)
            found.extend(raw_problem(path, anchor, problem) for problem in problems)
            if sites:
                options = self._configurations.for_file(path)
                contract = self.contract(options).contract
                for site in sites:
                    found.extend(raw_finding(site, finding) for finding in check(site, contract, options.te or None))
        lines: dict[str, list[str]] = {}
        diagnostics = [
            diagnostic
            for diagnostic in place(found, linted)
            if self._configurations.for_file(diagnostic.span.path).wants(diagnostic.code, diagnostic.span.path)
            and not _silenced(diagnostic, lines, given)
        ]
        return Report(diagnostics, len(linted), site_count, list(self._choices.values()), lines)


def _silenced(diagnostic: Diagnostic, lines: dict[str, list[str]], given: Mapping[str, bytes]) -> bool:
    """Whether a comment in the file silences the diagnostic. The file's lines are put into ``lines``."""
    from .suppress import Suppressions

    path = diagnostic.span.path
    if path not in lines:
        content = given.get(path) or read_bytes(path)
        text = "" if isinstance(content, Problem) else decode(path, content)
        lines[path] = [] if isinstance(text, Problem) else split_lines(text)
    return Suppressions(lines[path]).covers(diagnostic.code, diagnostic.span.line)


def _concerns_us(data: bytes) -> bool:
    """Whether a broken file is any concern of ours; a template that is yet to become YAML is none."""
    import re

    names = (
        rb"megatron_cfg|recompute[_-](?:granularity|method|modules|num[_-]layers|activations)|activations?_checkpoint"
    )
    return re.search(names, data) is not None and b"{%" not in data and b"{{" not in data
