"""The grammar of shell scripts, as far as launch scripts use it: a script becomes assignments and simple commands.

The grammar is that of the Bash manual, chapters 2 and 3: quoting, escapes and line continuations, comments,
here-documents, parameter expansion with defaults, arrays, ``if``/``case``/loops/functions, command substitution.
Nothing is executed. ``shlex`` loses positions, arrays and here-documents, and ``bashlex`` knows no arrays and is under
the GPL, so this is written out. A script that is half written or hostile gives what could be understood before the
trouble.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from ..model import TooMuch


class Piece(NamedTuple):
    """A stretch of a word's text."""

    #: None when only a run can tell it.
    text: str | None
    #: Where it stands in the script, as offsets; the text, where known, is the script's own between the two.
    start: int
    end: int
    #: The variable that would have it, where it is unknown.
    variable: str = ""


class Variable(NamedTuple):
    """A parameter expansion."""

    name: str
    #: What stands for it when it is unset: the parts of a word, or None.
    default: tuple[Part, ...] | None
    quoted: bool
    array: bool
    start: int
    end: int
    #: What stands for it when it is set, and nothing when it is not: the parts of a word, or None.
    instead: tuple[Part, ...] | None = None


Part = Piece | Variable
Word = tuple[Part, ...]


class Assign(NamedTuple):
    """An assignment, in the branch of ``if``s and ``case``s that it stands in: pairs of a node and its arm."""

    name: str
    append: bool
    words: tuple[Word, ...]
    array: bool
    branch: tuple[tuple[int, int], ...]
    start: int
    end: int
    #: Whether an assignment that was made before holds (``?=`` of make, ``${X:=default}``).
    weak: bool = False
    #: The function that it stands in, the innermost one.
    function: str = ""
    #: Whether it makes a variable of the function's own.
    local: bool = False
    #: The variable whose value it takes as it is.
    copies: str = ""
    #: Whether it is what a loop does before each of several runs.
    looped: bool = False


class Simple(NamedTuple):
    """A simple command, in its branch."""

    words: tuple[Word, ...]
    branch: tuple[tuple[int, int], ...]
    #: The function that it stands in, the innermost one.
    function: str
    start: int
    end: int
    #: Whether its words are read a second time, with what variables hold in them.
    again: bool = False
    #: Whether it is no command of its own, but the test that holds in its branch.
    assumed: bool = False


Event = Assign | Simple

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DIGITS = re.compile(r"\d+")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_PLAIN = re.compile(r"[^\s\\'\"$`;&|()<>#]+")
_QUOTED_RUN = re.compile(r"[^\\\"$`]+")
#: A word that is nothing else, as most are.
_WHOLE = re.compile(r"[^\s\\'\"$`;&|()<>#]+(?=[\s;&|()<>]|\Z)")
#: What Bash makes several words of.
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
#: Blanks, continuations and comments; not without end, since matching takes memory for each.
_BLANK = re.compile(r"(?:[ \t\r]+|\\\r?\n|#[^\n]*){1,1000}")
#: Lines without a command, behind an operator.
_NEXT_LINES = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n){1,1000}")
#: The ``in`` of a ``case`` on a line below.
_IN_BELOW = re.compile(rf"{_NEXT_LINES.pattern}[ \t]*in(?=\s)")
_KEYWORD = re.compile(
    r"(if|then|elif|else|fi|case|esac|for|select|while|until|do|done|function|time|[{}!])(?=[\s;&|()]|$)"
)
_HEREDOC = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([^\s;&|<>()'\"]+))")
_REDIRECT = re.compile(r"<<<|(?:\d*|&)(?:>>|>\||>&|<&|<>|>|<)")
#: What may begin or end something between parentheses.
_STRUCTURE = re.compile(r"[()'\"\\]")
_SPECIAL = frozenset("@*#?$!-0123456789")
#: What a loop runs over that is written out.
_LISTED = re.compile(r"\s+in[ \t]+((?:[^;\n$`()&|<>*?\[{#]|\$')+?)[ \t]*(?=[;\n])")

#: What the arms of a ``case`` before one leave to it is told by so many of them.
_MOST_PATTERNS = 20
#: A loop over more words than these is not followed.
_MOST_LOOPED = 20

#: Commands that compare what stands in variables.
COMPARING = frozenset({"[", "[[", "test"})
#: Commands that tell something by whether they succeed; others do, or the script is at its end.
_TESTS = frozenset({*COMPARING, "false", "grep", "egrep", "command", "which", "hash", "type"})
#: What an assignment before it stays behind for.
_KEEPING = frozenset({".", "eval", "export", "source"})
_LOCAL = frozenset({"declare", "local", "typeset"})

_DECLARERS = frozenset({"export", "declare", "typeset", "local", "readonly"})
#: A here-document for one of these is a script,
_SHELLS = frozenset({"bash", "bsub", "ksh", "qsub", "salloc", "sbatch", "sh", "srun", "ssh", "su", "sudo", "zsh"})
#: and so is one that goes into a file of such a name.
_SCRIPTS = re.compile(r"\.(?:bash|cmd|lsf|pbs|sbatch|sh|slurm|zsh)$")
_INTO = re.compile(r">\|?\s*([^\s<>|&;]+)")
_BEGINS_SCRIPT = re.compile(
    r"\s*(?:#(?:!|SBATCH|PBS|BSUB|\$ )|set [-+]|export |cd |source |\. |(?:srun|python[\d.]*|torchrun)\s)"
)
#: What is put into a variable may be a script that begins with a test or an echo,
_HAS_COMMAND = re.compile(r"^[ \t]*(?:cd |(?:srun|python[\d.]*|torchrun)\s)", re.MULTILINE)
_USAGE = re.compile(r"(?i)\b(?:usage|example)s?:")
#: and it may be a command's flags.
_BEGINS_FLAGS = re.compile(r"\s*--\w")
_CAPTURED = re.compile(r"(?:\$\(|`)\s*cat\b")
_PIPED = re.compile(r"\|\s*(?:sudo\s+)?([\w./-]+)")

#: Commands that give values to the variables that they name, or take them.
_READERS = frozenset({"mapfile", "read", "readarray"})
_GIVERS = _READERS | {"printf", "unset"}
#: Options of ``read`` that take no value of their own, and the one that has it fill an array.
_READ_OPTION = re.compile(r"-[ars]+$")
_INTO_ARRAY = re.compile(r"-[rs]*a")


#: After so many statements that end in the middle of something, the rest is no script.
_MAX_STOPS = 20
#: What is read of one script: expansions and here-documents inside others, words of one command, here-documents that
#: begin on one line, and steps, of which a word takes one or two. No launch script comes near.
_MAX_DEPTH = 20
MAX_WORDS = 10_000
_MAX_BODIES = 100
_MAX_STEPS = 500_000


class _Body(NamedTuple):
    """A here-document that begins on the next line."""

    tag: str
    quoted: bool
    #: Whether it is a script; None where its first line tells.
    script: bool | None
    #: Whether a variable gets it.
    captured: bool


class _Stop(Exception):
    """The script ends in the middle of something."""


class Parser:
    """Turns a script into events: assignments and simple commands, in the order of the text.

    Its methods raise :class:`TooMuch` for a script that holds more than is read.
    """

    def __init__(
        self,
        text: str,
        events: list[Event],
        *,
        heredoc: bool = False,
        offset: int = 0,
        end: int = -1,
        steps: Iterator[int] | None = None,
    ) -> None:
        self.text = text
        self.at = offset
        self.stop = len(text) if end < 0 else end
        self.events = events
        self.heredoc = heredoc
        self.branch: list[tuple[int, int]] = []
        #: What each ``case`` looks at, by its node.
        self.subjects: dict[int, Word] = {}
        #: And the patterns of its arms so far.
        self.patterns: dict[int, list[str]] = {}
        #: The tests of each node's arms so far, those that are one comparison; where the one that is open begins, as
        #: an event and in the text.
        self.asked: dict[int, list[Simple]] = {}
        self.asking = (0, 0)
        #: The variables of the loops that are open, those that run over several words; empty for the others.
        self.loops: list[str] = []
        self.nodes: list[tuple[str, int]] = []
        self.functions: list[str] = []
        #: Where the lists of commands that only some run began, each with its last operator.
        self.lists: list[tuple[str, int, int]] = []
        #: Where the events of each open subshell begin, and the lists that were open before it.
        self.subshells: list[tuple[int, list[tuple[str, int, int]]]] = []
        #: Whether the command before the operator tells something by whether it succeeds, whether ``!`` stands before
        #: the next, and whether a pipe does.
        self.tests = self.negated = self.piped = False
        self.bodies: list[_Body] = []
        self.depth = 0
        self.steps = count() if steps is None else steps

    def _step(self) -> None:
        if next(self.steps) > _MAX_STEPS:
            raise TooMuch(f"takes more than {_MAX_STEPS:,} steps to read")

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise TooMuch(f"nests expansions or here-documents deeper than {_MAX_DEPTH}")

    # -- words

    def word(self, closing: str = "", *, quoted: bool = False) -> Word:
        """The parts of the word here; it ends at blank space, an operator, or one of the ``closing`` characters.

        In one that is ``quoted``, a default between double quotes, single quotes stand for themselves.
        """
        self._step()
        parts: list[Part] = []
        text = self.text
        whole = None if closing else _WHOLE.match(text, self.at, self.stop)
        if whole:
            start, self.at = whole.span()
            known = whole.group()
            return (Piece(None if "{" in known and _BRACES.search(known) else known, start, self.at),)
        while self.at < self.stop:
            self._step()
            char = text[self.at]
            if char in closing:
                break
            if char == "\\":
                self._escape(parts, quoted=quoted)
            elif char == "'" and quoted and text[self.at - 1] != "$":
                parts.append(Piece("'", self.at, self.at + 1))
                self.at += 1
            elif char == "'":
                end = text.find("'", self.at + 1, self.stop)
                if end < 0:
                    raise _Stop
                parts.append(Piece(text[self.at + 1 : end], self.at + 1, end))
                self.at = end + 1
            elif char == '"':
                self._double(parts)
            elif char == "$":
                self._dollar(parts, quoted=quoted and text[self.at + 1 : self.at + 2] != "'")
            elif char == "`":
                start = self.at
                end = text.find("`", self.at + 1, self.stop)
                if end < 0:
                    raise _Stop
                self.at = end + 1
                parts.append(Piece(None, start, self.at))
            elif (closing and char in " \t#") or (char == "#" and parts):
                parts.append(Piece(char, self.at, self.at + 1))
                self.at += 1
            else:
                match = _PLAIN.match(text, self.at, self.stop)
                if match is None:
                    break
                end = match.end()
                if closing:
                    stops = [found for char in closing if (found := text.find(char, self.at, end)) >= 0]
                    end = min(stops, default=end)
                parts.append(Piece(text[self.at : end], self.at, end))
                self.at = end
        return tuple(parts)

    def _escape(self, parts: list[Part], *, quoted: bool) -> None:
        following = self.text[self.at + 1 : min(self.at + 2, self.stop)]
        if following == "\r" and self.text[self.at + 2 : self.at + 3] == "\n":
            self.at += 3
            return
        if following == "\n":
            self.at += 2
            return
        if self.heredoc and following == "$":
            self.at += 1
            self._dollar(parts, quoted=quoted)
            return
        if quoted and following not in ('"', "\\", "$", "`"):
            parts.append(Piece("\\", self.at, self.at + 1))
            self.at += 1
            return
        if following:
            parts.append(Piece(following, self.at + 1, self.at + 2))
        self.at += 2

    def _double(self, parts: list[Part]) -> None:
        self.at += 1
        parts.append(Piece("", self.at, self.at))
        while True:
            self._step()
            if self.at >= self.stop:
                raise _Stop
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return
            if char == "\\":
                self._escape(parts, quoted=True)
            elif char == "$":
                self._dollar(parts, quoted=True)
            elif char == "`":
                end = self.text.find("`", self.at + 1, self.stop)
                if end < 0:
                    raise _Stop
                parts.append(Piece(None, self.at, end + 1))
                self.at = end + 1
            else:
                match = _QUOTED_RUN.match(self.text, self.at, self.stop)
                if match is None:
                    raise _Stop
                parts.append(Piece(match.group(), match.start(), match.end()))
                self.at = match.end()

    def _dollar(self, parts: list[Part], *, quoted: bool) -> None:
        start = self.at
        text = self.text
        following = text[start + 1 : min(start + 2, self.stop)]
        if following == "(":
            self.at = start + 1
            self._skip_parentheses()
            parts.append(Piece(None, start, self.at))
        elif following == "{":
            self.at = start + 2
            self._braced(parts, start, quoted=quoted)
        elif following in ("'", '"') and not quoted:
            self.at = start + 1  # $'..' and $"..": the escapes of the first are left as they stand
        elif following and following in _SPECIAL:
            self.at = start + 2
            name = following if following.isdigit() else ""
            parts.append(Variable(name, None, quoted, following in "@*", start, self.at))
        else:
            match = _NAME.match(text, start + 1, self.stop)
            if match is None:
                parts.append(Piece("$", start, start + 1))
                self.at = start + 1
                return
            self.at = match.end()
            parts.append(Variable(match.group(), None, quoted, False, start, self.at))

    def _braced(self, parts: list[Part], start: int, *, quoted: bool) -> None:
        self._deeper()
        match = _NAME.match(self.text, self.at, self.stop) or _DIGITS.match(self.text, self.at, self.stop)
        name = match.group() if match else ""
        if match:
            self.at = match.end()
        array = False
        subscript = self.text[self.at : self.at + 3]
        if subscript in ("[@]", "[*]"):
            array = True
            self.at += 3
        rest = self.text[self.at : self.at + 2]
        default: Word | None = None
        instead: Word | None = None
        if rest[:1] == "}":
            self.at += 1
        elif name and (rest in (":-", ":=") or rest[:1] in ("-", "=")):
            self.at += 2 if rest[:1] == ":" else 1
            default = self.word("}", quoted=quoted)
            self._close("}")
            if "=" in rest:
                branch, function = tuple(self.branch), self._function
                self.events.append(Assign(name, False, (default,), False, branch, start, self.at, True, function))
        elif name and not array and (rest == ":+" or rest[:1] == "+"):
            self.at += 2 if rest[:1] == ":" else 1
            instead = self.word("}", quoted=quoted)
            self._close("}")
        else:
            name = "" if rest != ":?" else name
            array = array or self.text.startswith(("@", "*"), start + 2)
            self.word("}")
            self._close("}")
        self.depth -= 1
        parts.append(Variable(name, default, quoted, array, start, self.at, instead))

    def _close(self, closing: str) -> None:
        """Go behind the next ``closing``, over whatever a word cannot hold."""
        while self.at < self.stop and self.text[self.at] != closing:
            before = self.at
            self.word(closing)
            if self.at == before:
                self.at += 1
        if self.at >= self.stop:
            raise _Stop
        self.at += 1

    def _skip_parentheses(self) -> None:
        """Go behind the parenthesis that closes the one here. Commands between are commands of the script."""
        start = self.at
        depth = 0
        while found := _STRUCTURE.search(self.text, self.at, self.stop):
            self._step()
            self.at = found.start()
            char = found.group()
            if char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if depth == 0:
                    self.at += 1
                    if not self.text.startswith("((", start):
                        self._inner(start + 1, self.at - 1)
                    return
            elif char == "'":
                end = self.text.find("'", self.at + 1, self.stop)
                if end < 0:
                    break
                self.at = end
            elif char == '"':
                self._double([])
                continue
            elif char == "\\":
                self.at += 1
            self.at += 1
        self.at = start
        raise _Stop

    def _inner(self, start: int, end: int) -> None:
        self._deeper()
        inner = Parser(self.text, self.events, heredoc=self.heredoc, offset=start, end=end, steps=self.steps)
        inner.branch, inner.functions, inner.depth = list(self.branch), list(self.functions), self.depth
        begun = len(self.events)
        inner.script()
        self._scope(begun)
        self.depth -= 1

    def _scope(self, begun: int) -> None:
        """What is assigned from the event ``begun`` on, ends here."""
        inside = self.events[begun:]
        assigned = {event.name for event in inside if isinstance(event, Assign)}
        if assigned:
            before = {event.name for event in self.events[:begun] if isinstance(event, Assign)}
            self.events[begun:] = renamed(inside, assigned, before, next(self.steps))

    # -- commands

    def script(self) -> None:
        """Parse to the end, as far as that is possible."""
        stops = 0
        while self.at < self.stop:
            before = self.at
            try:
                self._statement()
            except (_Stop, RecursionError):
                stops += 1
                if stops > _MAX_STOPS:
                    return
                # an open quote or brace: what follows on this line is lost, the next line may be whole again
                self.depth = 0
                newline = self.text.find("\n", max(before, 0), self.stop)
                self.at = self.stop if newline < 0 else newline + 1
            if self.at <= before:
                self.at = before + 1

    def _blank(self) -> None:
        """Skip blanks, continuations and a comment."""
        while match := _BLANK.match(self.text, self.at, self.stop):
            self.at = match.end()

    def _statement(self) -> None:
        self._blank()
        if self.at >= self.stop:
            return
        self._step()
        char = self.text[self.at]
        if char == "\n":
            self.at += 1
            self._read_bodies()
            self._end_lists()
            return
        if char in ";&|":
            self._operator(char)
            return
        if char == "(":
            self.piped = False
            if self.text.startswith("((", self.at):
                self._skip_parentheses()
                self.tests = True
            else:
                self.at += 1
                if self.nodes and self.nodes[-1] == ("function", -1):  # its body, which ends the function
                    self.nodes[-1] = ("function", 2 + len(self.subshells))
                self.subshells.append((len(self.events), self.lists))
                self.lists = []
            return
        if char == ")":
            self.at += 1
            if self.subshells:
                self._end_lists(all_of_them=True)
                begun, self.lists = self.subshells.pop()
                self._scope(begun)
                if self.nodes and self.nodes[-1] == ("function", 2 + len(self.subshells)):
                    self._leave(self.nodes.pop()[0])
            return
        begun, piped = len(self.events), self.piped
        self._command()
        self._blank()
        self.piped = False
        following = self.text[self.at : self.at + 2]
        if piped or (following[:1] == "|" and following != "||"):
            self._scope(begun)  # each side of a pipe is a shell of its own

    def _operator(self, char: str) -> None:
        """Go behind ``;``, ``&``, ``|``, or two of them, which say when what follows runs."""
        operator = self.text[self.at : self.at + 2]
        self.at += 1
        self.piped = False
        if operator in ("&&", "||"):
            self.at += 1
            self._chain(operator)
            lines = None if self.bodies else _NEXT_LINES.match(self.text, self.at, self.stop)
            self.at = lines.end() if lines else self.at  # the list goes on there
        elif char == "|":
            self.piped = True
        elif operator[:1] == ";" or not self.text.startswith(">", self.at):
            self._end_lists()
            if operator == ";;":
                self._next_arm("case")

    def _chain(self, operator: str) -> None:
        """What follows runs only where the commands before it succeed, or where they fail."""
        depth = len(self.nodes)
        last, at, node = self.lists[-1] if self.lists else ("", -1, -1)
        if at == depth and last == "&&" and operator == "&&":
            return
        if at == depth and last == "&&" and self.branch and self.branch[-1][0] == node:
            self.branch[-1] = (node, self.branch[-1][1] + 1)
            self.lists[-1] = (operator, depth, node)
            self._assume_others()
            return
        tests = self.tests
        if at == depth and operator == "&&":
            self._end_lists()
            tests = True
        if operator == "||" or tests:
            self.branch.append((self.at, 0))
            self.lists.append((operator, depth, self.at))
            before = self.events[-1] if self.events else None
            if isinstance(before, Simple) and literal(before.words[0]) in COMPARING:
                self.asked[self.at] = [before]
                if operator == "&&":
                    self.events.append(before._replace(branch=tuple(self.branch), assumed=True))
                else:
                    self._assume_others()

    def _end_lists(self, *, all_of_them: bool = False) -> None:
        """The lists of commands that began at this depth, or all, are at their end."""
        while self.lists and (all_of_them or self.lists[-1][1] >= len(self.nodes)):
            _, _, node = self.lists.pop()
            if self.branch and self.branch[-1][0] == node:
                self.branch.pop()

    def _command(self) -> None:
        start = self.at
        words: list[Word] = []
        here: Word = ()
        declares = False
        prefixes: list[int] = []
        self.tests, self.negated = self.negated, False
        while self.at < self.stop:
            self._step()
            if len(words) > MAX_WORDS:
                raise TooMuch(f"has a command of more than {MAX_WORDS:,} words")
            self._blank()
            if self.at >= self.stop:
                break
            char = self.text[self.at]
            if char == "<" and self.text.startswith("<<", self.at) and not self.text.startswith("<<<", self.at):
                self._heredoc_here(words)
                continue
            if char in "\n;&|()" and not self.text.startswith("&>", self.at):
                if char == "(" and len(words) == 1 and self.text.startswith("()", self.at):
                    self.at += 2
                    self._open("function", 0, literal(words[0]))
                    return
                break
            redirect = char in "<>&0123456789" and _REDIRECT.match(self.text, self.at, self.stop)
            if redirect:
                self.at = redirect.end()
                self._blank()
                word = self.word()
                here = word if redirect.group() == "<<<" else here
                continue
            if not words or declares:
                if self._assignment(local=declares and literal(words[0]) in _LOCAL):
                    if not words:
                        prefixes.append(len(self.events) - 1)
                    continue
                if not words and self._keyword():
                    return
            before = self.at
            word = self.word()
            if self.at == before:
                break
            if word:
                words.append(word)
            if len(words) == 1 and literal(word) in _DECLARERS:
                declares = True
        first = literal(words[0]) if words else ""
        self.tests = self.tests or first in _TESTS
        if words and not declares:
            branch, function = tuple(self.branch), self._function
            for index in prefixes if first not in _KEEPING else ():  # these are for the command alone
                made = self.events[index]
                if isinstance(made, Assign):
                    self.events[index] = made._replace(name=_own(made.name, made.start))
            self.events.append(Simple(tuple(words), branch, function, start, self.at, self.heredoc))
            for name in _read(words):
                value: Word = (Piece(None, start, self.at, name),)
                array = False
                if here and not prefixes and _takes_all(words):  # a prefix may say what words are separated by
                    whole = _own(name, start)
                    self.events.append(Assign(whole, False, (here,), False, branch, start, self.at, function=function))
                    array = any(map(_INTO_ARRAY.match, map(literal, words)))
                    value = (Variable(whole, None, not array, False, start, self.at),)
                made = Assign(name, False, (value,), array, branch, start, self.at, function=function)
                self.events.append(made)

    @property
    def _function(self) -> str:
        return self.functions[-1] if self.functions else ""

    def _assignment(self, *, local: bool = False) -> bool:
        match = _ASSIGNMENT.match(self.text, self.at, self.stop)
        if match is None:
            return False
        start = self.at
        name, append = match.group(1), bool(match.group(2))
        self.at = match.end()
        if self.text.startswith("(", self.at):
            self.at += 1
            words = self._array()
            array = True
        else:
            words = [self.word()]
            array = False
        self.events.append(
            Assign(
                name,
                append,
                tuple(words),
                array,
                tuple(self.branch),
                start,
                self.at,
                function=self._function,
                local=local and bool(self.functions),
            )
        )
        return True

    def _array(self) -> list[Word]:
        words: list[Word] = []
        while True:
            self._blank()
            if self.at >= self.stop:
                raise _Stop
            char = self.text[self.at]
            if char == ")":
                self.at += 1
                return words
            before = self.at
            if char == "\n":
                self.at += 1
                continue
            word = self.word()
            if self.at == before:
                self.at += 1  # an operator has no meaning here
            elif word:
                words.append(word)
                if len(words) > MAX_WORDS:
                    raise TooMuch(f"has an array of more than {MAX_WORDS:,} words")

    def _keyword(self) -> bool:
        """Follow a reserved word, if there is one here."""
        match = _KEYWORD.match(self.text, self.at, self.stop)
        if match is None:
            return bool(self.nodes and self.nodes[-1][0] == "case" and self._pattern())
        if self.nodes and self.nodes[-1][0] == "case" and match.group(1) not in ("esac",) and self._pattern():
            return True
        word = match.group(1)
        self.at = match.end()
        self.negated = word == "!"
        if word == "if":
            self._open("if", 0)
            self._begin_test()
        elif word == "then":
            self._end_test()
        elif word in ("elif", "else"):
            self._next_arm("if")
            self._assume_others()
            self._begin_test()
        elif word in ("while", "until"):
            self.loops.append("")
        elif word == "done":
            self._end_loop()
        elif word == "fi":
            self._end("if")
        elif word == "case":
            self._blank()
            subject = self.word()
            self._to_in()
            self._open("case", -1)
            self.subjects[self.branch[-1][0]] = subject
        elif word == "esac":
            self._end("case")
        elif word in ("for", "select"):
            self._loop_variable()
        elif word == "function":
            self._blank()
            name = literal(self.word())
            self._blank()
            if self.text.startswith("()", self.at):
                self.at += 2
            self._open("function", 0, name)
        elif word == "{":
            if self.nodes and self.nodes[-1] == ("function", -1):
                self.nodes[-1] = ("function", 1)
            else:
                self.nodes.append(("{", 0))
        elif word == "}" and self.nodes and self.nodes[-1][0] in ("{", "function"):
            self._leave(self.nodes.pop()[0])
        return True

    def _begin_test(self) -> None:
        self.asking = (len(self.events), self.at)

    def _end_test(self) -> None:
        """At ``then``: keep the test of an ``if`` that is one comparison."""
        begun, at = self.asking
        found = self.events[begun:]
        if len(found) != 1 or not self.branch or not self.nodes or self.nodes[-1][0] != "if":
            return
        (test,) = found
        if not isinstance(test, Simple) or test.branch != tuple(self.branch) or self.text[at : test.start].strip():
            return
        if literal(test.words[0]) in COMPARING:
            self.asked.setdefault(self.branch[-1][0], []).append(test)

    def _assume_others(self) -> None:
        """What an arm of an ``if`` begins with: the tests of those before it have failed."""
        for test in self.asked.get(self.branch[-1][0], ()) if self.branch else ():
            words = tuple(_opposite(word) for word in test.words)
            if words != test.words:
                self.events.append(test._replace(words=words, branch=tuple(self.branch), assumed=True))

    def _end_loop(self) -> None:
        """Behind a loop over several words, its variable has one of them."""
        name = self.loops.pop() if self.loops else ""
        if name:
            unknown: Word = (Piece(None, self.at, self.at, name),)
            branch, function = tuple(self.branch), self._function
            self.events.append(Assign(name, False, (unknown,), False, branch, self.at, self.at, function=function))

    def _leave(self, kind: str) -> None:
        if kind == "function" and self.functions:
            self.functions.pop()

    def _pattern(self) -> bool:
        """At the pattern of a ``case`` arm: go behind it. The node's state tells whether one is due."""
        if self.nodes[-1][1] != 0:
            return False
        end = self.text.find(")", self.at, self.stop)
        newline = self.text.find("\n", self.at, self.stop)
        if end < 0 or 0 <= newline < end:
            return False
        subject = self.subjects.get(self.branch[-1][0]) if self.branch else None
        if subject:
            pattern = self.text[self.at : end].strip().lstrip("(").replace('"', "").replace("'", "")
            above = self.patterns.setdefault(self.branch[-1][0], [])
            for operator, one in (("=", pattern), *(("!=", one) for one in above)):
                words = ((Piece("[", self.at, self.at),), subject, (Piece(operator, self.at, self.at),))
                made = (*words, (Piece(one, self.at, end),))
                self.events.append(Simple(made, tuple(self.branch), self._function, self.at, end, assumed=True))
            if len(above) < _MOST_PATTERNS:
                above.append(pattern)
        self.at = end + 1
        self.nodes[-1] = ("case", 1)
        return True

    def _to_in(self) -> None:
        """Go behind the ``in`` of a ``case``, which may stand on a line below."""
        while self.at < self.stop:
            self._blank()
            below = _IN_BELOW.match(self.text, self.at, self.stop)
            if below:
                self.at = below.end()
                return
            if self.at >= self.stop or self.text[self.at] in "\n;":
                return
            before = self.at
            word = self.word()
            if self.at == before:
                self.at += 1
            elif literal(word) == "in":
                return

    def _loop_variable(self) -> None:
        """What a loop runs over is one of several values, each in an arm of its own."""
        self._blank()
        match = _NAME.match(self.text, self.at, self.stop)
        self.loops.append("")
        if match:
            piece = Piece(None, match.start(), match.end())
            self.at = match.end()
            branch, function = tuple(self.branch), self._function
            words = self._loop_words(piece)
            place = match.start(), match.end()
            self.loops[-1] = match.group() if len(words) > 1 else ""
            for arm, word in enumerate(words):
                taken = (*branch, (match.start(), arm)) if len(words) > 1 else branch
                made = Assign(match.group(), False, (word,), False, taken, *place, function=function)
                self.events.append(made._replace(looped=len(words) > 1))
        newline = re.compile(r"[;\n]").search(self.text, self.at, self.stop)
        self.at = newline.start() if newline else self.stop

    def _loop_words(self, unknown: Piece) -> list[Word]:
        """The words that a loop runs over, each of them an arm, where they are known."""
        match = _LISTED.match(self.text, self.at, self.stop)
        words: list[Word] = []
        if match is not None:
            inner = Parser(self.text, [], offset=match.start(1), end=match.end(1), steps=self.steps)
            while inner.at < inner.stop and (word := inner.word()):
                words.append(word)
                inner._blank()
        return words if 0 < len(words) <= _MOST_LOOPED else [(unknown,)]

    def _open(self, kind: str, state: int, name: str = "") -> None:
        if kind == "function":
            self.nodes.append(("function", -1))
            self.functions.append(name or "?")
            return
        self.branch.append((self.at, 0))
        self.nodes.append((kind, 0 if kind == "case" else state))

    def _next_arm(self, kind: str) -> None:
        if kind == "case":
            self.at += 1
        self._end_lists()
        if self.nodes and self.nodes[-1][0] == kind and self.branch:
            node, arm = self.branch[-1]
            self.branch[-1] = (node, arm + 1)
            self.nodes[-1] = (kind, 0)

    def _end(self, kind: str) -> None:
        while self.nodes:
            found = self.nodes.pop()[0]
            self._end_lists()
            if found in ("if", "case") and self.branch:
                self.branch.pop()
            self._leave(found)
            if found == kind:
                return

    def _heredoc_here(self, words: list[Word]) -> None:
        match = _HEREDOC.match(self.text, self.at, self.stop)
        if match is None:
            self.at += 2
            return
        if len(self.bodies) >= _MAX_BODIES:
            raise TooMuch(f"begins more than {_MAX_BODIES} here-documents on one line")
        self.at = match.end()
        quoted = match.group(2) is not None or match.group(3) is not None
        tag = next((group for group in match.groups()[1:] if group is not None), "")
        begins = self.text.rfind("\n", 0, match.start()) + 1
        ends = self.text.find("\n", match.start())
        line = self.text[begins : ends if ends >= 0 else len(self.text)]
        captured = _CAPTURED.search(line) is not None or (bool(words) and literal(words[0]) in _READERS)
        self.bodies.append(_Body(tag, quoted, None if captured else _is_script(words, line), captured))

    def _read_bodies(self) -> None:
        """After the line with ``<<``: read those of the here-documents that are scripts."""
        for tag, quoted, script, captured in self.bodies:
            end = re.compile(rf"^[ \t]*{re.escape(tag)}[ \t\r]*$", re.MULTILINE).search(self.text, self.at, self.stop)
            body_end = end.start() if end else self.stop
            if script is None:
                script = _BEGINS_SCRIPT.match(self.text, self.at) is not None
            if captured and not script:
                script = _BEGINS_FLAGS.match(self.text, self.at) is not None or self._has_command(body_end)
            if script:
                self._deeper()
                inner = Parser(
                    self.text, self.events, heredoc=not quoted, offset=self.at, end=body_end, steps=self.steps
                )
                inner.branch, inner.functions, inner.depth = list(self.branch), list(self.functions), self.depth
                inner.script()
                self.depth -= 1
            self.at = end.end() if end else self.stop
        self.bodies.clear()

    def _has_command(self, end: int) -> bool:
        """Whether a here-document that ends there has a line as scripts have it, and is no usage text."""
        line = _HAS_COMMAND.search(self.text, self.at, end)
        return line is not None and _USAGE.search(self.text, self.at, end) is None


def _is_script(words: list[Word], line: str) -> bool | None:
    """Whether a here-document is a script, as the words of its command and the rest of the line tell."""
    into = _INTO.search(line)
    files = [into[1].strip("'\"")] if into is not None else []
    if words and literal(words[0]) == "tee":
        files = [name for name in map(literal, words[1:]) if not name.startswith("-")]
    if files:
        if any(map(_SCRIPTS.search, files)):
            return True
        return None if any("." not in file.rpartition("/")[2] for file in files) else False
    piped = _PIPED.search(line)
    names = {literal(word).rpartition("/")[2] for word in words} | ({piped[1].rpartition("/")[2]} if piped else set())
    return not _SHELLS.isdisjoint(names)


def _read(words: list[Word]) -> list[str]:
    """The variables that a builtin gives values to that only a run can tell."""
    if literal(words[0]) not in _GIVERS:
        return []
    texts = [literal(word) for word in words]
    if texts[0] in _READERS or texts[0] == "unset":
        return [text for text in texts[1:] if _NAME.fullmatch(text)]
    if texts[:2] == ["printf", "-v"]:
        return [text for text in texts[2:3] if _NAME.fullmatch(text)]
    return []


def _takes_all(words: list[Word]) -> bool:
    """Whether a builtin is ``read`` with options and one variable, which gets all that there is to read."""
    texts = [literal(word) for word in words]
    return texts[0] == "read" and len(_read(words)) == 1 and all(map(_READ_OPTION.match, texts[1:-1]))


#: What tells that a comparison has failed.
_OPPOSITES = {"=": "!=", "==": "!=", "!=": "=", "-n": "-z", "-z": "-n"}


def _opposite(word: Word) -> Word:
    """The operator of a comparison turned round; any other word as it is."""
    turned = _OPPOSITES.get(literal(word))
    return word if turned is None else (Piece(turned, word[0].start, word[-1].end),)


def _own(name: str, number: int) -> str:
    """A name that no script can have, for what a variable is called inside something."""
    return f"{name}_\0{number}"


def renamed(events: list[Event], chosen: set[str], outside: set[str], number: int) -> list[Event]:
    """Events whose assignments to some variables are forgotten behind them.

    Args:
        events: the events.
        chosen: the variables.
        outside: those that have a value before.
        number: tells these variables from others of the same names.
    """
    at = events[0].start
    copies: list[Event] = [
        Assign(
            _own(name, number),
            False,
            ((Variable(name, None, True, True, at, at),),),
            False,
            (),
            at,
            at,
            copies=name,
        )
        for name in sorted(chosen & outside)
    ]

    def word(parts: Word) -> Word:
        return tuple(part if isinstance(part, Piece) else variable(part) for part in parts)

    def variable(part: Variable) -> Variable:
        name = _own(part.name, number) if part.name in chosen else part.name
        default = None if part.default is None else word(part.default)
        return part._replace(name=name, default=default, instead=None if part.instead is None else word(part.instead))

    for event in events:
        words = tuple(map(word, event.words))
        if isinstance(event, Assign):
            name = _own(event.name, number) if event.name in chosen else event.name
            from_ = _own(event.copies, number) if event.copies in chosen else event.copies
            copies.append(event._replace(name=name, words=words, copies=from_))
        else:
            copies.append(event._replace(words=words))
    return copies


def literal(word: Word) -> str:
    """The text of a word without expansions, else the empty string."""
    if all(isinstance(part, Piece) and part.text is not None for part in word):
        return "".join(part.text or "" for part in word if isinstance(part, Piece))
    return ""
