"""From paths to a report: read, find the sites, check them, place the findings."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from types import MappingProxyType
from typing import NamedTuple

from ..lint_rules.check import check
from ..schemas.choose import Choice
from ..schemas.store import UnknownRelease
from ..sources import dialects, facts, keys
from ..sources.files import is_told, kind_of, matches_any, walk
from ..sources.model import Finding, Site, Span, TooMuch
from ..sources.reader import Document, Reader
from ..sources.text import decode, is_utf16, read_bytes, too_large
from ..sources.unread import FRAMEWORK, Unread, unread
from .contracts import Contracts
from .diagnostics import Raw
from .options import Configurations, Options, UsageError
from .parts import NOTHING, Part, joined
from .report import Report, Reporter
from .trouble import guarded


class Content(NamedTuple):
    """What there is to check in one file."""

    sites: list[Site]
    #: What is wrong with the file itself.
    problems: list[Finding]
    #: The file, where a rule may look at its Python or its comments.
    text: Document | None = None
    #: The recompute settings that were not read.
    unread: tuple[Unread, ...] = ()
    #: The sites as their files have them, without what is stated of their models.
    as_written: tuple[Site, ...] = ()
    #: What is wrong with the comments that are to silence findings.
    marks: tuple[Finding, ...] = ()


#: What is looked at of one file. There are some dozen recompute modules; and no one fixes a thousand mistakes.
_MOST_SITES = 1000
_MOST_ITEMS = 1000
_MOST_FINDINGS = 1000

#: What a schema begins with: it says which settings there may be, and gives none.
_JSON_SCHEMA = rb"""\$schema["']?\s*:\s*["']?https?://json-schema\.org/"""

#: Kinds of files whose comments may silence findings.
_COMMENTED = frozenset({"python", "yaml", "script"})

#: From this many files on, several processes may share the work.
_MANY = 150
#: For so many seconds of processor time one works alone; another has to import and read anew what it has not by then.
_ALONE = 0.2


class Linter:
    """Lints files. One is good for one run: it keeps what several files share.

    Args:
        configurations: the options for each file.
        contracts: chooses what each file is linted against.
        reader: reads files, and keeps those that others inherit from.
        reporter: makes the report.
        predicts: whether sites are run to see if they fit, where ``gpu-memory`` is set; it takes seconds for each.
    """

    def __init__(
        self,
        configurations: Configurations,
        *,
        contracts: Contracts | None = None,
        reader: Reader | None = None,
        reporter: Reporter | None = None,
        predicts: bool = False,
    ) -> None:
        self._configurations = configurations
        self._contracts = contracts or Contracts(configurations)
        self._reader = reader or Reader(self._contracts.modules)
        self._reporter = reporter or Reporter(configurations, self._contracts)
        self._linted: Document | None = None
        self._verbose = False
        self._predicts = predicts

    def contract(self, path: str) -> Choice:
        """The contract for the file at ``path``; see :class:`Contracts`."""
        return self._contracts.for_file(path)

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
        """Read every file anew from here on."""
        self._reader = Reader(self._contracts.modules)

    def named(self) -> frozenset[str]:
        """The files that those linted so far have named as their parents, since the last :meth:`forget_files`."""
        return frozenset(self._reader.named)

    def sites(self, path: str, data: bytes | None = None) -> tuple[list[Site], list[Finding]]:
        """The sites of a file, and what is wrong with the file itself.

        Args:
            path: the file.
            data: its content; None to read it.
        """
        sites: list[Site] = []
        problems: list[Finding] = []
        with guarded(path, problems):
            content = self._look(path, data)
            sites = content.sites
            problems.extend(content.problems)
        return sites, problems

    def _look(self, path: str, data: bytes | None) -> Content:
        """Read a file, as far as it may have anything to check."""
        content = read_bytes(path) if data is None else too_large(path, data) or data
        if isinstance(content, Finding):
            return Content([], [content])
        options = self._configurations.for_file(path)
        searched = content.decode("utf-16", "replace").encode() if is_utf16(content) else content
        kind = kind_of(path, searched) or "yaml"
        has_root = any(stem in searched for stem in keys.ROOTS)
        candidates = dialects.candidates(searched, kind, options.dialect, has_root=has_root)
        concerns = keys.concerns(
            searched, kind, options.extend_recompute_keys, lambda: self._contracts.modules(path), has_root=has_root
        )
        may_silence = kind in _COMMENTED and ((has_root and b"recompute-lint:" in searched) or b"RCL" in searched)
        if not candidates and not concerns and not may_silence:
            return Content([], [])
        if kind in ("json", "yaml") and b"json-schema.org" in searched and re.search(_JSON_SCHEMA, searched):
            return Content([], [])
        marks = _invalid_marks(path, content, kind) if may_silence else ()
        if not candidates and not concerns:
            return Content([], [], marks=marks)
        document = self._linted = self._reader.linted(path, content)
        reading = dialects.read(document, self._reader, candidates, forced=bool(options.dialect))
        sites = [facts.close_with(site, dict(options.facts), options.model) for site in reading.sites]
        _bound(sites)
        left: tuple[Unread, ...] = ()
        # a dialect that claims a file and reads nothing of it knows that it is for others
        if not options.dialect and (sites or not reading.claimed or kind not in ("json", "yaml")):
            told = kind if kind != "yaml" or is_told(path) else ""
            left = tuple(unread(document.path, document.text, told, sites))
        found = Content(sites, reading.problems, document if concerns else None, left, tuple(reading.sites), marks)
        if kind != "yaml":
            return found
        if sites and not _is_template(searched):
            return found._replace(problems=[*document.problems, *reading.problems])
        if sites or reading.problems or not candidates or not _concerns_us(searched) or not is_told(path):
            return found
        return found._replace(problems=document.obstacles)

    def _in_text(self, document: Document, options: Options) -> Iterator[Finding]:
        """What the rules for Python and for comments find."""
        from ..lint_rules import python_check

        choice = self.contract(document.path)
        extras = python_check.Extras(
            options.extend_recompute_keys, options.extend_validators, options.parameter_defaults
        )
        if document.kind == "python":
            yield from python_check.check(document, choice, extras)
            return
        if document.kind in ("", "yaml"):
            yield from python_check.check_comments(document, choice)
        from ..sources.embedded.pieces import of_python

        for piece, place in of_python(document):
            found = python_check.check(piece, choice, extras)
            yield from (place(finding) for finding in found if finding.rule != "invalid-python")

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
        self._verbose = verbose is not None
        if len(given) > 1:
            self.seed(given)
        parts = self._parts(paths, given)
        if verbose is not None:
            for line in chain.from_iterable(map(_told, parts)):
                verbose(line)
        whole = joined(parts)
        report = self._reporter.report(list(whole.found), paths, {**whole.contents, **given})
        return report._replace(
            sites=whole.sites,
            linted_against=tuple(whole.linted_against),
            doubts=tuple(whole.doubts),
            unread=tuple(whole.unread),
            read=tuple(whole.read),
        )

    def _parts(self, paths: list[str], given: Mapping[str, bytes]) -> list[Part]:
        """Examine ``paths``, by several processes where there are so many files that it may pay to start them."""
        if len(paths) < _MANY or given:
            return [self.examine(paths, given)]
        from . import parallel

        with suppress(UnknownRelease, UsageError):  # which the first file that needs a contract is to raise
            self.contract(paths[0])  # it may have to be derived, and all processes are to have it
        return parallel.map_in_order(self.examine, parallel.chunks(paths), parallel.processes(), _ALONE)

    def examine(self, paths: list[str], given: Mapping[str, bytes] = MappingProxyType({})) -> Part:
        """Find everything that there is to find in ``paths``, one file after the other; see :meth:`run`."""
        return joined(self._part(path, given.get(path)) for path in paths)

    def _part(self, path: str, data: bytes | None) -> Part:
        """Find everything that there is to find in one file; what goes wrong there is a finding, too."""
        raws: list[Raw] = []
        problems: list[Finding] = []
        part = NOTHING
        with guarded(path, problems):
            content = self._examine(path, data, raws)
            sites = content.sites
            if sites or content.unread:
                places = ", ".join(site.path or "the whole file" for site in sites)
                part = Part(
                    sites=len(sites),
                    read_as=[f"{path}: {sites[0].dialect}, {places}"] if sites and self._verbose else (),
                    unread=content.unread,
                    read=[path] if sites else (),
                )
            if sites or content.text is not None:
                choice = self.contract(path)
                against = f"megatron-core {choice.contract.version}: {choice.reason}"
                part = part._replace(linted_against=[against], doubts=choice.doubts)
            homes = {raw.finding.span.path for raw in raws if raw.finding.fix is not None}
            if homes:
                part = part._replace(contents={home: self._content(home) for home in homes})
        if not raws and not problems:
            return part
        found = [*raws[:_MOST_FINDINGS], *(Raw(path, problem.span, problem) for problem in problems)]
        return part._replace(found=found)

    def _content(self, path: str) -> bytes:
        """What the file was that was linted last, or a parent of it."""
        linted = self._linted
        document = linted if linted is not None and linted.path == path else self._reader.document(path)
        return document.content

    def _examine(self, path: str, data: bytes | None, found: list[Raw]) -> Content:
        """Append to ``found`` what there is to find in a file."""
        content = self._look(path, data)
        sites, text = content.sites, content.text
        anchor = sites[0].anchor if sites else Span(path, 1, 1, 1, 1)
        found.extend(Raw(path, anchor, problem) for problem in (*content.problems, *content.marks))
        if not sites and text is None:
            return content
        options = self.options_for(path)
        contract = self.contract(path).contract
        if text is not None:
            found.extend(Raw(path, anchor, finding) for finding in self._in_text(text, options))
        if len(found) > _MOST_FINDINGS:
            raise TooMuch(f"has more than {_MOST_FINDINGS:,} mistakes")
        for site in sites:
            findings = check(site, contract, options.te or None)
            found.extend(Raw(site.file, site.anchor, finding) for finding in findings)
            if len(found) > _MOST_FINDINGS:
                raise TooMuch(f"has more than {_MOST_FINDINGS:,} mistakes")
        if self._predicts and options.gpu_memory:
            from . import memory

            if options.wants(memory.RULE, path):
                for site in content.as_written:
                    found.extend(Raw(site.file, site.anchor, finding) for finding in memory.check(site, options))
        return content


def _invalid_marks(path: str, content: bytes, kind: str) -> tuple[Finding, ...]:
    """What is wrong with a file's own comments that are to silence findings."""
    from .unused import invalid

    text = decode(path, content)
    return () if isinstance(text, Finding) else tuple(islice(invalid(path, text, kind), _MOST_FINDINGS))


def _told(part: Part) -> Iterator[str]:
    """What ``--verbose`` says of some files."""
    yield from part.read_as
    for (path, line, *_), reason in part.unread:
        yield f"{path}:{line}: a recompute setting {reason}{'; --dialect sets it' if reason == FRAMEWORK else ''}"


def _bound(sites: list[Site]) -> None:
    """Raise :class:`TooMuch` for more sites, or items of a setting, than are looked at."""
    if len(sites) > _MOST_SITES:
        raise TooMuch(f"has more than {_MOST_SITES:,} recompute configurations")
    for site in sites:
        for name, value in site.effective.items():
            if isinstance(value, (list, tuple)) and len(value) > _MOST_ITEMS:
                raise TooMuch(f"has more than {_MOST_ITEMS:,} items in {name}")


def _concerns_us(data: bytes) -> bool:
    """Whether a broken file is to be reported: not a template that is yet to become YAML."""
    return re.search(keys.MEANT, data) is not None and not _is_template(data)


def _is_template(data: bytes) -> bool:
    return b"{%" in data or b"{{" in data
