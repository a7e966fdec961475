"""What a script's functions, subshells and lists make of the words of its commands."""

from __future__ import annotations

from typing import Any

import pytest

from recompute_lint.sources.model import UNKNOWN

from .dialects.test_launch_script import sites

RUN = "python pretrain_gpt.py --recompute-granularity $G\n"


def granularities(script: str) -> list[Any]:
    return [site.value("recompute_granularity") for site in sites(script)]


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (f"f() {{ G=a; }}\nG=b\nf\n{RUN}", ["a"]),
        (f"f() {{ G=a; }}\nf\nG=b\n{RUN}", ["b"]),
        (f"G=b\nf() {{ G=a; }}\n{RUN}", ["b"]),
        (f"f() {{ local G=a; }}\nG=b\nf\n{RUN}", ["b"]),
        (f"f() {{ declare G=a; }}\nG=b\nf\n{RUN}", ["b"]),
        (f"f() {{ g; }}\ng() {{ G=a; }}\nf\n{RUN}", ["a"]),
        (f'f() {{ G="$1"; }}\nf a\n{RUN}', ["a"]),
        (f'f() {{ G="$2"; }}\nf a b\n{RUN}', ["b"]),
        (f'f() {{ G="$2"; }}\nf $X b\n{RUN}', [UNKNOWN]),
        (f'f() {{ G="$1"; }}\nX=a\nf "$X"\n{RUN}', ["a"]),
        (f"f() {{ G=a; }}\nG=b\nif [ $X ]; then f; fi\n{RUN}", [UNKNOWN]),
        # each call is a command of its own
        (f"f() {{ {RUN} }}\nG=a\nf\nG=b\nf\n", ["a", "b"]),
        # what is never called may be called by another script
        (f"f() {{ {RUN} }}\nG=a\n", ["a"]),
        (f"set() {{ G=a; }}\nrun() {{ {RUN} }}\n", ["a"]),
        (f"f() {{ f; G=a; }}\nf\n{RUN}", ["a"]),
        (f"(G=a; {RUN})\n", ["a"]),
        (f"G=b\n(G=a)\n{RUN}", ["b"]),
        (f"G=b\nX=$(G=a; echo)\n{RUN}", ["b"]),
        (f"G=b\necho | G=a\n{RUN}", ["b"]),
        (f"G=b\nG=a echo\n{RUN}", ["b"]),
        (f"G=b\nG=a . x.sh\n{RUN}", ["a"]),
        (f'G=b\n[ "$X" ] && G=a\n{RUN}', [UNKNOWN]),
        (f'G=b\n[ "$X" ] || G=a\n{RUN}', [UNKNOWN]),
        (f"G=b\ncd x && G=a\n{RUN}", ["a"]),
        (f': "${{G:=a}}"\n{RUN}', ["a"]),
        (f'G=b\n: "${{G:=a}}"\n{RUN}', ["b"]),
        (f"for word in a; do G=$word; done\n{RUN}", ["a"]),
        (f"for word in a b; do G=$word; {RUN}done\n", ["a", "b", UNKNOWN]),
        (f"for G in a b; do {RUN}done\n", ["a", "b", UNKNOWN]),
        (f"for G in a $X; do {RUN}done\n", [UNKNOWN]),
        (f"for G in {' a' * 30}; do {RUN}done\n", [UNKNOWN]),
        (f"G=a\nunset X G\n{RUN}", [UNKNOWN]),
        (f"G=${{1:-a}}\n{RUN}", ["a"]),
        (f"f() {{ G=${{1:-a}}; {RUN}}}\nf b\n", ["b"]),
        (f"X=1\nG=${{X:+a}}\n{RUN}", ["a"]),
        (f"G=${{X:+a}}\n{RUN}", [UNKNOWN]),
        (f"X=$(x)\nG=${{X:+a}}\n{RUN}", [UNKNOWN]),
    ],
)
def test_what_a_variable_holds(script: str, found: list[Any]) -> None:
    assert granularities(script) == found


def test_many_calls_come_to_an_end() -> None:
    text = "".join(f"f{n}() {{ f{n + 1}; f{n + 1}; f{n + 1}; f{n + 1}; }}\n" for n in range(20))
    assert granularities(f"{text}f0\nG=a\n{RUN}") == ["a"]


@pytest.mark.parametrize(
    ("words", "modules"),
    [
        ("mlp $X moe", ["mlp", UNKNOWN, "moe"]),
        ("mlp $X", ["mlp", UNKNOWN]),
        ("mlp $EXTRA_ARGS moe", ["mlp"]),
        ('mlp "$@"', ["mlp"]),
    ],
)
def test_a_word_in_a_list_that_only_a_run_can_tell(words: str, modules: list[Any]) -> None:
    (site,) = sites(f"python pretrain_gpt.py --recompute-granularity selective --recompute-modules {words}\n")
    assert site.settings["recompute_modules"].value == modules
    assert not site.closed


def test_flags_of_two_ifs_may_stand_together() -> None:
    script = (
        'A="--recompute-granularity full --recompute-num-layers 2"\n'
        'if [ "$X" ]; then A="$A --recompute-method block"; fi\n'
        'if [ "$Y" ]; then A="$A --recompute-num-layers 1"; fi\n'
        "python pretrain_gpt.py $A\n"
    )
    found = [(site.value("recompute_method"), site.value("recompute_num_layers")) for site in sites(script)]
    assert sorted(found, key=str) == sorted([("block", UNKNOWN), (UNKNOWN, 1), (UNKNOWN, UNKNOWN)], key=str)


@pytest.mark.parametrize(("depth", "found"), [(2, ["a"]), (1, [UNKNOWN])])
def test_functions_are_followed_so_deep(depth: int, found: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recompute_lint.sources.shell.functions._MAX_DEPTH", depth)
    assert granularities(f"f() {{ g; }}\ng() {{ G=a; }}\nf\n{RUN}") == found


@pytest.mark.parametrize(("words", "found"), [(2, ["b"]), (1, [UNKNOWN])])
def test_so_many_words_of_a_call_are_seen(words: int, found: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recompute_lint.sources.shell.functions._MAX_WORDS", words)
    assert granularities(f'f() {{ G="$2"; }}\nf a b\n{RUN}') == found
