"""From paths to a report: read, find the sites, check them, place the findings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..lint_rules.check import check
from ..schemas.choose import Choice, choose
from ..schemas.detect import project_root
from ..sources import dialects, keys
from ..sources.files import kind_of, matches_any, walk
from ..sources.model import Problem, Site, Span, TooMuch
from ..sources.text import is_utf16, read_bytes, too_large
from .diagnostics import Raw, raw_finding, raw_problem
from .options import Configurations, Options, UsageError
from .report import Report, Reporter
from .trouble import guarded

if TYPE_CHECKING:
    from ..lint_rules.finding import Finding
    from ..sources.reader import Document, Reader


class Part(NamedTuple):
    """What was found in some of the files."""

    found: list[Raw]
    #: How many sites they have.
    sites: int
    #: The releases that they were judged by; see :class:`Report`.
    judged_by: list[str]
    #: What each file with a site was read as.
    read_as: list[str]
    #: The YAML files with recompute settings that no dialect took for its own.
    unread: list[str]
    #: By path, what the files were that findings with a fix are in.
    contents: dict[str, bytes]


#: What is looked at of one file. There are some dozen recompute modules; and nobody puts a thousand mistakes right.
_MOST_SITES = 1000
_MOST_ITEMS = 1000
_MOST_FINDINGS = 1000

#: From this many files on, several processes share the work; fewer recipes are read as soon by one.
_MANY = 150


class Linter:
    """Lints files, and keeps what several of them share.

    Args:
        configurations: the options for each file.
        cache: whether contracts that are derived from a source tree are kept for the next run.
    """

    def __init__(self, configurations: Configurations, *, cache: bool = False) -> None:
        self._configurations = configurations
        self._cache = cache
        self._choices: dict[tuple[str, str], Choice] = {}
        self._roots: dict[str, str] = {}
        self._unread: list[str] = []
        self._linted: Document | None = None

    @cached_property
    def _reader(self) -> Reader:
        from ..sources.reader import Reader  # loads YAML, which most files of a repository do not need

        return Reader()

    def contract(self, path: str) -> Choice:
        """The contract for the file at ``path``: what its options ask for, or what its project uses.

        Raises:
            store.UnknownRelease: there is none for what is asked for.
        """
        folder = os.path.dirname(os.path.abspath(path))
        root = self._roots.get(folder)
        if root is None:
            root = self._roots[folder] = project_root(folder)
        requested = self.options_for(path).mcore
        choice = self._choices.get((requested, root))
        if choice is None:
            made = choose(requested, root, cache=self._cache)
            # projects that use the same release share its contract, and what has been judged by it
            known = [choice.contract for choice in self._choices.values()]
            shared = next((contract for contract in known if contract == made.contract), made.contract)
            choice = self._choices[requested, root] = made._replace(contract=shared)
        return choice

    def files(self, paths: list[str], *, force_exclude: bool = False) -> Iterator[str]:
        """The files to lint at and below ``paths``."""

        return walk(paths, self.is_excluded, force_exclude=force_exclude)

    def is_excluded(self, path: str) -> bool:
        """Whether the options leave a file or folder out."""
        options = self._configurations.for_file(path)
        return matches_any(path, options.exclude, options.root)

    def seed(self, given: Mapping[str, bytes]) -> None:
        """Take these contents for those of their files, also where others have them for parents."""
        for path, content in given.items():
            self._reader.put(path, content)

    def forget_files(self) -> None:
        """Read anew whatever is asked for next."""
        self.__dict__.pop("_reader", None)

    def named(self) -> frozenset[str]:
        """The files that those linted so far have named as their parents, since the last :meth:`forget_files`."""
        return frozenset(self._reader.named) if "_reader" in self.__dict__ else frozenset()

    def sites(self, path: str, data: bytes | None = None) -> tuple[list[Site], list[Problem]]:
        """The sites of a file, and what is wrong with the file itself.

        Args:
            path: the file.
            data: its content; None to read it.
        """
        sites: list[Site] = []
        problems: list[Problem] = []
        with guarded(path, problems):
            sites, found, _ = self._look(path, data)
            problems.extend(found)
        return sites, problems

    def _look(self, path: str, data: bytes | None) -> tuple[list[Site], list[Problem], Document | None]:
        """The sites and problems of a file, and the file itself where a rule may look at its Python or comments."""
        content = read_bytes(path) if data is None else too_large(path, data) or data
        if isinstance(content, Problem):
            return [], [content], None
        options = self._configurations.for_file(path)
        searched = content.decode("utf-16", "replace").encode() if is_utf16(content) else content
        kind = kind_of(path, searched) or "yaml"
        candidates = dialects.candidates(searched, kind, options.dialect)
        concerns = keys.concerns(searched, kind, options.extend_recompute_keys)
        if not candidates and not concerns:
            return [], [], None
        document = self._linted = self._reader.linted(path, content)
        reading = dialects.read(document, self._reader, candidates, forced=bool(options.dialect))
        sites, problems = [self._with_facts(site, options) for site in reading.sites], reading.problems
        _bound(sites)
        text = document if concerns else None
        if kind != "yaml":
            return sites, problems, text
        if sites:
            return sites, [*document.problems, *problems], text
        if not problems and not options.dialect and _SETTING.search(searched):
            self._unread.append(path)
        if problems or not candidates or not _concerns_us(searched):
            return [], problems, text
        return [], [problem for problem in document.problems if problem.code != "RCL205"], text

    def _in_text(self, document: Document, options: Options) -> Iterator[Finding]:
        """What the rules for Python and for comments find."""
        from ..lint_rules import python_check

        choice = self.contract(document.path)
        if document.kind != "python":
            yield from python_check.check_comments(document, choice)
            return
        extras = python_check.Extras(
            options.extend_recompute_keys, options.extend_validators, options.parameter_defaults
        )
        yield from python_check.check(document, choice, extras)

    def _with_facts(self, site: Site, options: Options) -> Site:
        """The site with what is known of its model: from the options, or from a ``config.json`` beside the recipe."""
        if not options.facts and not options.model and (site.closed or not os.path.exists(_beside(site.file))):
            return site
        from ..sources import facts

        try:
            if options.model:
                model = facts.of_model(facts.config_of(options.model))
            else:
                model = facts.beside(os.path.dirname(site.file))
        except facts.WrongFacts as error:
            raise UsageError(f"--model: {error}") from None
        return facts.close(site, {**({} if site.closed and not options.model else model), **dict(options.facts)})

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
        paths = list(map(os.path.normpath, files))
        if len(given) > 1:
            self.seed(given)
        found: list[Raw] = []
        sites = 0
        judged_by: dict[str, None] = {}
        unread: list[str] = []
        contents: dict[str, bytes] = {}
        for part in self._parts(paths, given):
            for path, content in part.contents.items():
                _note(contents, path, content)
            unread.extend(part.unread)
            found.extend(part.found)
            sites += part.sites
            judged_by.update(dict.fromkeys(part.judged_by))
            if verbose is not None:
                for line in part.read_as:
                    verbose(line)
                for path in part.unread:
                    verbose(f"{path}: recompute settings of no framework that is known; --dialect says whose they are")
        reporter = Reporter(self._configurations, self.contract, {**contents, **given})
        return reporter.report(found, paths, sites, list(judged_by))._replace(unread=len(unread))

    def _parts(self, paths: list[str], given: Mapping[str, bytes]) -> Iterable[Part]:
        """Examine ``paths``, by several processes where there are so many files that it pays to start them."""
        if len(paths) >= _MANY and not given:
            from . import parallel

            count = parallel.processes()
            if count > 1:
                return parallel.examine(self._configurations, paths, cache=self._cache, count=count)
        return [self.examine(paths, given)]

    def examine(self, paths: list[str], given: Mapping[str, bytes] = MappingProxyType({})) -> Part:
        """Find everything that there is to find in ``paths``, one file after the other; see :meth:`run`."""
        found: list[Raw] = []
        read_as: list[str] = []
        judged_by: dict[str, None] = {}
        contents: dict[str, bytes] = {}
        count = 0
        self._unread = []
        for path in paths:
            raws: list[Raw] = []
            problems: list[Problem] = []
            with guarded(path, problems):
                sites, text = self._examine(path, given.get(path), raws)
                count += len(sites)
                if sites:
                    places = ", ".join(site.path or "the whole file" for site in sites)
                    read_as.append(f"{path}: {sites[0].dialect}, {places}")
                if sites or text:
                    choice = self.contract(path)
                    judged_by[f"megatron-core {choice.contract.version}, {choice.reason}"] = None
                for home in {raw.finding.span.path for raw in raws if raw.finding.fix is not None}:
                    own = self._linted
                    document = own if own is not None and own.path == home else self._reader.document(home)
                    _note(contents, home, document.content)
            found.extend(raws[:_MOST_FINDINGS])
            found.extend(raw_problem(path, problem.span, problem) for problem in problems)
        return Part(found, count, list(judged_by), read_as, self._unread, contents)

    def _examine(self, path: str, data: bytes | None, found: list[Raw]) -> tuple[list[Site], bool]:
        """Append to ``found`` what there is to find in a file; its sites, and whether its text was looked at, too."""
        sites, problems, text = self._look(path, data)
        anchor = sites[0].anchor if sites else Span(path, 1, 1, 1, 1)
        found.extend(raw_problem(path, anchor, problem) for problem in problems)
        if not sites and text is None:
            return [], False
        options = self.options_for(path)
        contract = self.contract(path).contract
        if text is not None:
            found.extend(Raw(path, anchor, finding) for finding in self._in_text(text, options))
        if len(found) > _MOST_FINDINGS:
            raise TooMuch(f"has more than {_MOST_FINDINGS:,} mistakes")
        for site in sites:
            found.extend(raw_finding(site, finding) for finding in check(site, contract, options.te or None))
            if len(found) > _MOST_FINDINGS:
                raise TooMuch(f"has more than {_MOST_FINDINGS:,} mistakes")
        return sites, text is not None


def _bound(sites: list[Site]) -> None:
    """Raise :class:`TooMuch` for more sites, or items of a setting, than are looked at."""
    if len(sites) > _MOST_SITES:
        raise TooMuch(f"has more than {_MOST_SITES:,} recompute configurations")
    for site in sites:
        for name, value in site.effective.items():
            if isinstance(value, (list, tuple)) and len(value) > _MOST_ITEMS:
                raise TooMuch(f"has more than {_MOST_ITEMS:,} items in {name}")


def _note(contents: dict[str, bytes], path: str, content: bytes) -> None:
    """Keep the content of a file that is to be fixed; one that was read with two contents is none that can be."""
    contents[path] = content if contents.get(path, content) == content else b""


def _beside(path: str) -> str:
    return os.path.join(os.path.dirname(path), "config.json")


#: A setting in YAML, under whatever it may stand.
_SETTING = re.compile(rb"(?m)^[ \t]*[\"']?recompute_(?:granularity|method|modules|num_layers)[\"']?[ \t]*:")


def _concerns_us(data: bytes) -> bool:
    """Whether a broken file is any concern of ours; a template that is yet to become YAML is none."""
    names = (
        rb"megatron_cfg|recompute[_-](?:granularity|method|modules|num[_-]layers|activations)|activations?_checkpoint"
    )
    return re.search(names, data) is not None and b"{%" not in data and b"{{" not in data
