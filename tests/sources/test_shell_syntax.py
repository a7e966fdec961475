"""The grammar of shell scripts: what each construct becomes, written as events.

``a|b c`` is a command of two words, ``X = a`` an assignment, ``X = (a|b)`` one of an array. In a word, ``?`` is what
only a run can tell, ``$X`` a variable, ``"$X"`` one in quotes, ``$X[]`` an array, ``${X:-a}`` one with a default, and
``\\$`` a dollar sign. Behind them stands the arm of each ``if`` and ``case`` that an event is in, and the function
that it is in. ``X'`` is a variable of a subshell's own, or of a command's.
"""

from __future__ import annotations

import itertools
import re

import pytest

from recompute_lint.sources.shell.syntax import Assign, Event, Parser, Part, Piece, Simple, Variable


def parsed(text: str) -> list[Event]:
    events: list[Event] = []
    Parser(text, events).script()
    return [event for event in events if isinstance(event, Assign) or not event.assumed]


def shown(event: Event, nodes: dict[int, int]) -> str:
    words = ["|".join("".join(map(part_shown, word)) or "''" for word in event.words)]
    if isinstance(event, Assign):
        words = [called(event.name), "+=" if event.append else "=", f"({words[0]})" if event.array else words[0]]
    arms = [f"{nodes.setdefault(node, len(nodes))}.{arm}" for node, arm in event.branch]
    if arms:
        words.append(f"[{' '.join(arms)}]")
    if isinstance(event, Simple) and event.function:
        words.append(f"in {event.function}")
    return " ".join(words)


def called(name: str) -> str:
    """A variable's name, with a dash behind it where it is one of its own inside something."""
    return "'".join(re.split("_\0-?[0-9]+", name))


def part_shown(part: Part) -> str:
    if isinstance(part, Piece):
        return "?" if part.text is None else part.text.replace("$", "\\$")
    name = called(part.name) + ("[]" if part.array else "")
    if part.instead is not None:
        name = f"{{{name}:+{''.join(map(part_shown, part.instead))}}}"
    if part.default is not None:
        name = f"{{{name}:-{''.join(map(part_shown, part.default))}}}"
    return f'"${name}"' if part.quoted else f"${name}"


def events(text: str) -> list[str]:
    nodes: dict[int, int] = {}
    return [shown(event, nodes) for event in parsed(text)]


BECOMES = [
    ("a `` b", ["a|?|b"]),
    ('a "``" b', ["a|?|b"]),
    ("a `b", []),
    ("case $X\nin a) b ;; esac; c", ["b [0.0]", "c"]),
    ("case $X # a\n\n  in\n a) b ;; esac; c", ["b [0.0]", "c"]),
    ("case $X\nindeed a; b", ["indeed|a [0.0]", "b [0.0]"]),
    ("case $X; a", ["a [0.0]"]),
    ("if [ $X = a ]; then b; else c; fi", ["[|$X|=|a|] [0.0]", "b [0.0]", "c [0.1]"]),
    ("[ $X = a ] && b || c", ["[|$X|=|a|]", "b [0.0]", "c [0.1]"]),
    ("a b", ["a|b"]),
    ("a 'b c' d", ["a|b c|d"]),
    ('a "b c" d', ["a|b c|d"]),
    ('a "b \\"c\\" \\$d \\\\ \\x" e', ['a|b "c" \\$d \\ \\x|e']),
    ("a b\\ c", ["a|b c"]),
    ("a b'c'\"d\"", ["a|bcd"]),
    ("a '' \"\"", ["a|''|''"]),
    ("a b#c #d", ["a|b#c"]),
    ("a $X", ["a|$X"]),
    ('a "$X"', ['a|"$X"']),
    ("a ${X}", ["a|$X"]),
    ('a "${X[@]}" ${Y[*]}', ['a|"$X[]"|$Y[]']),
    ("a ${X[1]}", ["a|$"]),
    ("a ${X:-b}", ["a|${X:-b}"]),
    ("a ${X-b} ${X:=c} ${X=d}", ["X = c", "X = d", "a|${X:-b}|${X:-c}|${X:-d}"]),
    ('a ${X:-"b c"} ${X:-${Y}}', ["a|${X:-b c}|${X:-$Y}"]),
    ("a ${X:?b}", ["a|$X"]),
    ("a ${X:+b} ${X+b $Y}", ["a|${X:+b}|${X:+b $Y}"]),
    ("a ${X[@]:+b} ${X%b} ${#X} ${!X}", ["a|$[]|$|$|$"]),
    ("a ${1} ${12} ${1:-b}", ["a|$1|$12|${1:-b}"]),
    ("a $1 $12 $# $? $@ $*", ["a|$1|$12|$|$|$[]|$[]"]),
    ('a "$@"', ['a|"$[]"']),
    ('a $ "$" $%', ["a|\\$|\\$|\\$%"]),
    ("a $'b\n' $\"c\"", ["a|b\n|c"]),
    ('a `b c` "x`b`y"', ["a|?|x?y"]),
    ('a $(b c) "x$(b c)y"', ["b|c", "b|c", "a|?|x?y"]),
    ("a $((1+2)) b", ["a|?|b"]),
    ("a $(b ')' c) d", ["b|)|c", "a|?|d"]),
    ('a $(b "(" c) d', ["b|(|c", "a|?|d"]),
    ("a $(b \\( c) d", ["b|(|c", "a|?|d"]),
    ("a $(b $(c d) e)", ["c|d", "b|?|e", "a|?"]),
    ("a {b,c} {1..2} {b}", ["a|?|?|{b}"]),
    ("X=a", ["X = a"]),
    ("X=", ["X = ''"]),
    ("X=a b", ["X' = a", "b"]),
    ("X=a . b", ["X = a", ".|b"]),
    ("X='a b' Y=\"c $Z\"", ["X = a b", 'Y = c "$Z"']),
    ("X+=a", ["X += a"]),
    ("X=(a b)", ["X = (a|b)"]),
    ("X+=('a b' \"$Y\")", ['X += (a b|"$Y")']),
    ("X=()", ["X = ()"]),
    ("X=(a # b\n c\n)", ["X = (a|c)"]),
    ("X=(a; b)", ["X = (a|b)"]),
    ("export X=a Y=b", ["X = a", "Y = b"]),
    ("local X", []),
    ("declare -x X=a", ["X = a"]),
    ("readonly X=a; a $X", ["X = a", "a|$X"]),
    ("a; b & c | d && e || f", ["a", "b", "c", "d", "e", "f [0.0]"]),
    ("a > b c", ["a|c"]),
    ("a 2>&1 b", ["a|b"]),
    ("a >>b 2>c <d e", ["a|e"]),
    ("a &>b c", ["a|c"]),
    ("a >|b c", ["a|c"]),
    ("a <<<b c", ["a|c"]),
    ("a 1 2", ["a|1|2"]),
    ("a \\\\\n b", ["a|\\", "b"]),
    ("a\r\nb\r\n", ["a", "b"]),
    ("# a\nb", ["b"]),
    ("a # b", ["a"]),
    ("(a; b)", ["a", "b"]),
    ("((a+b))\nc", ["c"]),
    ("{ a; }", ["a"]),
    ("if a; then b; elif c; then d; else e; fi; f", ["a [0.0]", "b [0.0]", "c [0.1]", "d [0.1]", "e [0.2]", "f"]),
    ("if a\nthen b\nfi", ["a [0.0]", "b [0.0]"]),
    ("if a; then if b; then c; else d; fi; fi", ["a [0.0]", "b [0.0 1.0]", "c [0.0 1.0]", "d [0.0 1.1]"]),
    ("case $X in a) b ;; c|d) e ;; *) f ;; esac; g", ["b [0.0]", "e [0.1]", "f [0.2]", "g"]),
    ("case $X in\n(a)\nb\n;;\nc) d\nesac", ["b [0.0]", "d [0.1]"]),
    ("for X in a b; do c $X; done", ["X = a [0.0]", "X = b [0.1]", "c|$X", "X = ?"]),
    ("for ((i=0; i<1; i++)); do a; done", ["i", "i++", "a"]),
    ("while a; do b; done", ["a", "b"]),
    ("until a; do b; done", ["a", "b"]),
    ("select X in a b; do c; done", ["X = a [0.0]", "X = b [0.1]", "c", "X = ?"]),
    ("f() { a; }\nb", ["a in f", "b"]),
    ("f () {\n a\n}\nb", ["a in f", "b"]),
    ("f()(a)\nb", ["a in f", "b"]),
    ("f() ( (a); { b; } )\nc; (d)", ["a in f", "b in f", "c", "d"]),
    ("(f() ( a )\nb); c", ["a in f", "b", "c"]),
    ("f()\n{ a; }\nb", ["a in f", "b"]),
    ("function f { a; }\nb", ["a in f", "b"]),
    ("function f() { a; }; b", ["a in f", "b"]),
    ("f() { { a; }; b; }\nc", ["a in f", "b in f", "c"]),
    ("{ a; } ; } b", ["a", "b"]),
    ("time a", ["a"]),
    ("! a", ["a"]),
    ("read X Y", ["read|X|Y", "X = ?", "Y = ?"]),
    ("read -r X", ["read|-r|X", "X = ?"]),
    ("printf -v X a", ["printf|-v|X|a", "X = ?"]),
    ("printf X a", ["printf|X|a"]),
    ("mapfile -t X", ["mapfile|-t|X", "X = ?"]),
    ("a <<B\nc d\nB\ne", ["a", "e"]),
    ("bash <<B\nc d\nB\ne", ["bash", "c|d", "e"]),
    ("bash <<'B'\nc $X \\\\$Y\nB\ne", ["bash", "c|$X|\\$Y", "e"]),
    ("bash <<B\nc $X \\\\$Y\nB\ne", ["bash", "c|$X|\\$Y", "e"]),
    ("bash <<-B\n\tc\n\tB\ne", ["bash", "c", "e"]),
    ("cat > x.sh <<B\nc\nB\nd", ["cat", "c", "d"]),
    ("cat > x.txt <<B\nc\nB\nd", ["cat", "d"]),
    ("cat > x <<B\n#!/bin/bash\nc\nB\nd", ["cat", "c", "d"]),
    ("cat > x <<B\nc\nB\nd", ["cat", "d"]),
    ("tee x.sh <<B\nc\nB\nd", ["tee|x.sh", "c", "d"]),
    ("cat <<B | bash\nc\nB\nd", ["cat", "bash", "c", "d"]),
    ("X=$(cat <<B\n--a b\nB\n)\nc", ["cat", "--a|b", "X = ?", "c"]),
    ("read -d '' X <<B\n--a b\nB\nc", ["read|-d|''|X", "X = ?", "--a|b", "c"]),
    ("bash <<A <<B\na\nA\nb\nB\nc", ["bash", "a", "b", "c"]),
    ("sh <<B; a\nb\nB\nc", ["sh", "a", "b", "c"]),
    ("a 'b", []),
    ('a "b', []),
    ("a $(b", []),
    ("a ${b", []),
    ("a 'b\nc", ["c"]),
    ("X=(a", []),
    ("a `b", []),
    ("if a; then b", ["a [0.0]", "b [0.0]"]),
    ("bash -c 'a b'", ["bash|-c|a b"]),
    ('a "b$" "c"$\'d\'', ["a|b\\$|cd"]),
    ("a ~/b *.c", ["a|~/b|*.c"]),
    ("a [b] [[ c ]]", ["a|[b]|[[|c|]]"]),
    ("[ a = b ] && c; d", ["[|a|=|b|]", "c [0.0]", "d"]),
    ("[ a ] && b || c", ["[|a|]", "b [0.0]", "c [0.1]"]),
    ("[ a ] && { b; c; }; d", ["[|a|]", "b [0.0]", "c [0.0]", "d"]),
    ("[[ a && b ]] && c", ["[[|a", "b|]] [0.0]", "c [0.0]"]),
    ("a || b && c", ["a", "b [0.0]", "c [1.0]"]),
    ("if [ a ] && [ b ]; then c; fi; d", ["[|a|] [0.0]", "[|b|] [0.0 1.0]", "c [0.0]", "d"]),
    ("! a && b", ["a", "b [0.0]"]),
    ("cd a && b", ["cd|a", "b"]),
    ("([ a ] && X=b); c $X", ["[|a|]", "X' = b [0.0]", "c|$X"]),
    ("X=a; (b $X; X+=c; d $X); e $X", ["X = a", 'X\' = "$X[]"', "b|$X'", "X' += c", "d|$X'", "e|$X"]),
    ("X=$(Y=a; b $Y); c $Y", ["Y' = a", "b|$Y'", "X = ?", "c|$Y"]),
    ("a | X=b; c $X", ["a", "X' = b", "c|$X"]),
    ("X=b | a; X=c || d", ["X' = b", "a", "X = c", "d [0.0]"]),
    ("a \"${X:-'b'}\" \"${Y:-$'c'}\"", ['a|"${X:-\'b\'}"|"${Y:-c}"']),
    ("for X in a; do b $X; done", ["X = a", "b|$X"]),
    ("local X=a", ["X = a"]),
    ("bash <<B\nc \\$Y\nB\n", ["bash", "c|$Y"]),
    ("bash <<'B'\nc \\$Y\nB\n", ["bash", "c|\\$Y"]),
    # a continued line, also one of Windows
    ("a \\\n b", ["a|b"]),
    ("a \\\r\n b", ["a|b"]),
    ('a "b\\\nc"', ["a|bc"]),
    # what stands in another here-document or command
    ("bash <<A\nb $(c ${X:-d})\nA\n", ["bash", "c|${X:-d}", "b|?"]),
    ("f() {\nbash <<A\nb\nA\n}\nc", ["bash in f", "b in f", "c"]),
    ("if a; then\nbash <<A\nb\nA\nfi", ["a [0.0]", "bash [0.0]", "b [0.0]"]),
    ("if a; then X=$(b); fi; c", ["a [0.0]", "b [0.0]", "X = ? [0.0]", "c"]),
    ("f() { X=$(b); }", ["b in f", "X = ?"]),
    # what is left open is given up at the end of its line, what stood before it holds
    ('X=a\nb "$X\nc', ["X = a", "c"]),
    ("if a; then b; fi; fi; c", ["a [0.0]", "b [0.0]", "c"]),
    ("a } b", ["a|}|b"]),
    ("esac; done; a", ["a"]),
    ("if a; then { b; fi; c", ["a [0.0]", "b [0.0]", "c"]),
]


@pytest.mark.parametrize(("script", "becomes"), BECOMES)
def test_each_construct_becomes(script: str, becomes: list[str]) -> None:
    assert events(script) == becomes


@pytest.mark.parametrize("script", [script for script, _ in BECOMES])
def test_what_is_known_stands_where_the_script_has_it(script: str) -> None:
    for event in parsed(script):
        for part in (part for word in event.words for part in word):
            if isinstance(part, Piece) and part.text is not None:
                assert script[part.start : part.end] == part.text
            elif isinstance(part, Variable) and part.end > part.start:
                assert script[part.start] == "$" and called(part.name).strip("'") in script[part.start : part.end]


def flat(word: tuple[Part, ...]) -> list[Part]:
    """The parts of a word that are in the script, and of what stands for those that are unset."""
    found: list[Part] = []
    for part in word:
        if part.end > part.start:
            found.append(part)
        if isinstance(part, Variable) and part.default:
            found += flat(part.default)
    return found


@pytest.mark.parametrize("script", [script for script, _ in BECOMES])
def test_a_word_stands_between_blanks_and_only_quotes_stand_between_its_parts(script: str) -> None:
    """So what only a run can tell has its place too."""
    for event in parsed(script):
        for word in filter(None, map(flat, event.words)):
            for part in word:
                inside = script[part.start : part.end]
                assert (
                    part.text in (None, inside) if isinstance(part, Piece) else called(part.name).strip("'") in inside
                )
            own = [part for part in word if not any(other.start < part.start < other.end for other in word)]
            for part, after in itertools.pairwise(own):
                assert re.fullmatch(r"""["'\\\n$]*""", script[part.end : after.start])
            assert re.search(r"""(?:^|[\s;&|(){}<>!=`])["'\\$]*$""", script[: own[0].start])
            assert re.match(r"""["'\\]*(?:[\s;&|()<>`}]|$)""", script[own[-1].end :])
            if isinstance(event, Simple):
                assert event.start <= own[0].start <= own[-1].end <= event.end


@pytest.mark.parametrize(
    ("script", "texts"),
    [
        ("  a b # c\nd  \n", ["a b # c", "d  "]),
        ("X=a Y='b c' d e; f\n", ["X=a", "Y='b c'", "X=a Y='b c' d e", "f"]),
        ("X=(a\n b) c\n", ["X=(a\n b)", "X=(a\n b) c"]),
        ("for X in a b; do c; done\n", ["X", "X", "c", ""]),
        ("read X Y\n", ["read X Y", "read X Y", "read X Y"]),
        ("a $(b c) d\n", ["b c", "a $(b c) d"]),
    ],
)
def test_an_event_stands_where_the_script_has_it(script: str, texts: list[str]) -> None:
    assert [script[event.start : event.end] for event in parsed(script)] == texts


@pytest.mark.parametrize(
    ("script", "texts"),
    [
        ("a `b c` d", ["`b c`"]),
        ('a "x`b`y"', ["`b`"]),
        ("a $(b c)d", ["$(b c)"]),
        ("a $((1+2)) b", ["$((1+2))"]),
        ("a {b,c} d", ["{b,c}"]),
        ("for X in $(a); do b; done", ["X"]),
    ],
)
def test_what_only_a_run_can_tell_stands_where_the_script_has_it(script: str, texts: list[str]) -> None:
    parts = [part for event in parsed(script) for word in event.words for part in word]
    unknown = [part for part in parts if isinstance(part, Piece) and part.text is None]
    assert [script[part.start : part.end] for part in unknown] == texts


def assumed(script: str) -> list[str]:
    events: list[Event] = []
    Parser(script, events).script()
    nodes: dict[int, int] = {}
    return [shown(event, nodes) for event in events if isinstance(event, Simple) and event.assumed]


@pytest.mark.parametrize(
    ("script", "holds"),
    [
        ("if [ $X = a ]; then b; else c; fi", ["[|$X|!=|a|] [0.1]"]),
        (
            "if [ $X = a ]; then b; elif [ $Y = c ]; then d; else e; fi",
            ["[|$X|!=|a|] [0.1]", "[|$X|!=|a|] [0.2]", "[|$Y|!=|c|] [0.2]"],
        ),
        ("[ $X = a ] && b", ["[|$X|=|a|] [0.0]"]),
        ("[ $X = a ] || b", ["[|$X|!=|a|] [0.0]"]),
        ("[ $X = a ] && b || c", ["[|$X|=|a|] [0.0]", "[|$X|!=|a|] [0.1]"]),
        ("[[ $X != a ]] || b", ["[[|$X|=|a|]] [0.0]"]),
        ("test -n $X || b", ["test|-z|$X [0.0]"]),
        ("test -z $X || b", ["test|-n|$X [0.0]"]),
        ("[ $X == a ] || b", ["[|$X|!=|a|] [0.0]"]),
        ("case $X in a) b;; (c) d;; esac", ["[|$X|=|a [0.0]", "[|$X|=|c [0.1]", "[|$X|!=|a [0.1]"]),
        ("case $X\nin a) b;; esac", ["[|$X|=|a [0.0]"]),
        ("case $X in in) b;; esac", ["[|$X|=|in [0.0]"]),
        ('case "$X" in "a") b;; esac', ['[|"$X"|=|a [0.0]']),
        ("case $X in 'a') b;; esac", ["[|$X|=|a [0.0]"]),
        ("if [ $X -gt 1 ]; then b; else c; fi", []),
        ("if grep a; then b; else c; fi", []),
        ("if ! [ $X = a ]; then b; else c; fi", []),
        ("if a; [ $X = a ]; then b; else c; fi", []),
        ("if [ $X = a ]; then [ $Y = b ]; else c; fi", ["[|$X|!=|a|] [0.1]"]),
        ("if [ $X = a ] && [ $Y = b ]; then c; else d; fi", ["[|$X|=|a|] [0.0 1.0]"]),
        ("a && b || c", []),
    ],
)
def test_what_holds_in_an_arm(script: str, holds: list[str]) -> None:
    assert assumed(script) == holds


def test_what_the_arms_before_leave_is_told_by_so_many_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recompute_lint.sources.shell.syntax._MOST_PATTERNS", 1)
    assert assumed("case $X in a) ;; b) ;; c) ;; esac")[-2:] == ["[|$X|=|c [0.2]", "[|$X|!=|a [0.2]"]


@pytest.mark.parametrize(("most", "becomes"), [(2, ["X = a [0.0]", "X = b [0.1]", "X = ?"]), (1, ["X = ?"])])
def test_a_loop_over_so_many_words_is_followed(most: int, becomes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recompute_lint.sources.shell.syntax._MOST_LOOPED", most)
    assert [one for one in events("for X in a b; do :; done") if one.startswith("X")] == becomes
