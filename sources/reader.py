"""Read files, and keep those that others name as their parents."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..schemas.names import MODULES
from .files import kind_of
from .model import Finding, TooMuch
from .text import decode, read_bytes

if TYPE_CHECKING:
    from .python.tree import Python
    from .yaml.tree import Mapping, Value


class Document:
    """A file that was read. Its text is decoded, and parsed as YAML, when somebody first asks.

    Args:
        path: what the file is called in spans.
        content: its bytes, or why there are none.
        kind: what kind of file it is, where it is a piece of another.
        depth: in how many pieces of files it stands.
    """

    def __init__(self, path: str, content: bytes | Finding, kind: str = "", depth: int = 0) -> None:
        self.path = path
        self.depth = depth
        self._content = content
        self._kind = kind

    @property
    def content(self) -> bytes:
        """The file's bytes; none where it cannot be read."""
        return b"" if isinstance(self._content, Finding) else self._content

    @property
    def kind(self) -> str:
        """What kind of file it is; see :func:`~recompute_lint.sources.files.kind_of`."""
        return self._kind or kind_of(self.path, self.content)

    @cached_property
    def _decoded(self) -> str | Finding:
        return self._content if isinstance(self._content, Finding) else decode(self.path, self._content)

    @cached_property
    def _parsed(self) -> tuple[list[Value], list[Finding]]:
        if isinstance(self._decoded, Finding):
            return [], [self._decoded]
        from .yaml.tree import parse

        return parse(self._decoded, self.path)

    @cached_property
    def python(self) -> Python | Finding:
        """The text as Python, or the finding that says why it is none.

        Raises:
            TooMuch: its tree would be larger than is read.
        """
        if isinstance(self._decoded, Finding):
            return self._decoded
        text = self._decoded
        if len(text) > _MOST_TOKENS and next(islice(re.finditer(_TOKEN, text), _MOST_TOKENS, None), None) is not None:
            raise TooMuch(f"has more than {_MOST_TOKENS:,} tokens")
        from .python.tree import parse

        return parse(self.path, text)

    @property
    def text(self) -> str:
        """The text; empty where it cannot be decoded."""
        return "" if isinstance(self._decoded, Finding) else self._decoded

    @property
    def unreadable(self) -> Finding | None:
        """The finding that says why there is no text, if there is none."""
        return self._decoded if isinstance(self._decoded, Finding) else None

    @property
    def roots(self) -> list[Value]:
        """The YAML documents before the first syntax error."""
        return self._parsed[0]

    @property
    def problems(self) -> list[Finding]:
        """What is wrong with the file as YAML, or that it cannot be read."""
        return self._parsed[1]

    @property
    def obstacles(self) -> list[Finding]:
        """The problems because of which some of its settings may not have been read."""
        return list(filter(hides_settings, self.problems))

    @property
    def root(self) -> Mapping | None:
        """The first YAML document, if it is a mapping."""
        first = self.roots[0] if self.roots else None
        return first if hasattr(first, "entries") else None  # type: ignore[return-value]


def hides_settings(problem: Finding) -> bool:
    """Whether a file with this problem may have settings that nothing was read of; not so where a key stands twice."""
    return problem.rule != "duplicate-key"


#: A tree takes up to a kilobyte a token. The longest file known with recompute settings has some 50,000 of them.
_MOST_TOKENS = 300_000
_TOKEN = r"\w+|[^\s\w]"

#: A recipe's ancestors are a dozen, and the longest line of them five.
_MOST_FOLLOWED = 1000
_DEEPEST = 50


class Recent(dict[str, Any]):
    """A dictionary that forgets what was put in first once it is full."""

    #: Recipes near each other share a few parents; this is many times as many.
    SIZE = 128

    def __setitem__(self, key: str, value: Any) -> None:
        if len(self) >= self.SIZE and key not in self:
            del self[next(iter(self))]
        super().__setitem__(key, value)


class Reader:
    """The files of one run.

    Parents are read and parsed once and kept for those that follow. The files that are linted are not, so that memory
    does not grow with their number; one that turns out to be a parent as well is read again.

    Paths are compared as :func:`os.path.normpath` writes them; a path stays relative where it was given so.

    Args:
        modules: the recompute modules that a file at a path may name: those of every release known, unless the caller
            knows more of the Megatron-Core in use.

    Attributes:
        modules: the same.
        memo: what dialects work out about a parent once for all who inherit from it, by path.
        named: the files that others have named.
        visited: the same, for the file that is linted alone: what looks different from elsewhere.
    """

    def __init__(self, modules: Callable[[str], Iterable[str]] = lambda path: MODULES) -> None:
        self.modules = modules
        self._parents = Recent()
        self.memo = Recent()
        self.visited: dict[str, Any] = {}
        self.named: set[str] = set()
        self._given: dict[str, bytes] = {}
        self._left = _MOST_FOLLOWED

    def linted(self, path: str, data: bytes) -> Document:
        """The file at ``path``, whose content is ``data``."""
        path = os.path.normpath(path)
        self._left = _MOST_FOLLOWED
        self.visited = {}
        return self._parents.get(path) or Document(path, data)

    def follow(self, chain: tuple[str, ...]) -> None:
        """Count a step from one file to another that it names.

        Args:
            chain: the files that led here.

        Raises:
            TooMuch: the file that is linted takes more steps than are followed.
        """
        self._left -= 1
        if self._left < 0:
            raise TooMuch(f"inherits from other files in more than {_MOST_FOLLOWED:,} ways")
        if len(chain) > _DEEPEST:
            raise TooMuch(f"inherits through more than {_DEEPEST} files")

    def put(self, path: str, data: bytes) -> None:
        """Take ``data`` for the content of the file at ``path`` from now on."""
        path = os.path.normpath(path)
        self._given[path] = data
        self._parents.pop(path, None)

    def document(self, path: str) -> Document:
        """The file at ``path``, which another file names."""
        path = os.path.normpath(path)
        self.named.add(path)
        document = self._parents.get(path)
        if document is None:
            content = self._given[path] if path in self._given else read_bytes(path)
            document = self._parents[path] = Document(path, content)
        return document
