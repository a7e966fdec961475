"""The mistakes that tools/plant.py plants, and what it counts."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from recompute_lint import lint_text

from .conftest import ROOT, write

sys.path.insert(0, str(ROOT / "tools"))
import mistakes
import plant

FULL = {"granularity": "full", "method": "uniform", "num_layers": "1"}


#: One text for each way to write settings: its type, the form, and which settings stand together in it.
def written(form: str, lead: str = "", between: str = "\n", end: str = "\n") -> str:
    """The three settings, each as ``form`` has it."""
    parts = (form.format(key=f"recompute_{name}", value=value) for name, value in FULL.items())
    return lead + between.join(parts) + end


_PYTHON = {"granularity": '"full"', "method": '"uniform"', "num_layers": "1"}


def in_python(form: str, lead: str = "", between: str = "\n", end: str = "\n") -> str:
    parts = (form.format(key=f"recompute_{name}", value=value) for name, value in _PYTHON.items())
    return lead + between.join(parts) + end


FLAGS = written("--{key} {value}", "python t.py ", " ").replace("recompute_", "recompute-").replace("num_", "num-")
WRITTEN = [
    ("script", "flag", FLAGS),
    ("script", "flag", FLAGS.replace(" --", " \\\n  --").replace("layers ", "layers=")),
    ("script", "override", written("model.{key}={value}", "t.py ", " ")),
    ("yaml", "keyed", written("  {key}: {value} # x", "m:\n")),
    ("yaml", "listed", written("'--{key}', '{value}'", "a: [", ", ", "]\n")),
    ("yaml", "items", written("- --{key}\n- {value}")),
    ("json", "entry", in_python('"{key}": {value}', "{", ",\n", "}")),
    ("toml", "table", in_python("{key} = {value}")),
    ("python", "attribute", in_python("c.{key} = {value}")),
    ("python", "keyword", in_python("{key}={value}", "f(", ", ", ")\n")),
    ("python", "field", in_python("    {key} = {value}", "class C(B):\n")),
    ("python", "entry", in_python('"{key}": {value}', "d = {", ", ", "}\n")),
]


@pytest.mark.parametrize(
    ("file_type", "form", "text"),
    WRITTEN,
    ids=[f"{kind}-{form}-{number}" for number, (kind, form, _) in enumerate(WRITTEN)],
)
def test_every_way_to_write_settings_is_seen(file_type: str, form: str, text: str) -> None:
    (group,) = mistakes.groups(mistakes.places(text, file_type))
    assert {name: place.word for name, place in group.items()} == FULL
    assert {place.form for place in group.values()} == {form}


@pytest.mark.parametrize(
    ("file_type", "text"),
    [
        ("script", "# --recompute-granularity full\necho --recompute-granularity full\n"),
        ("script", "t.py --recompute-granularity $G model.recompute_method=${M}\n"),
        ("yaml", "# recompute_granularity: full\nrecompute_method: null\nrecompute_modules: ${m}\n"),
        (
            "python",
            '"""c.recompute_granularity = "full" """\nparser.add_argument("--recompute-granularity", help="full")\n',
        ),
        ("python", "c.recompute_granularity = args.granularity\n"),
    ],
)
def test_what_is_no_place(file_type: str, text: str) -> None:
    assert mistakes.places(text, file_type) == []


def test_settings_of_two_configurations_do_not_stand_together() -> None:
    text = "a.recompute_method = 'block'\nb.recompute_granularity = 'full'\na.recompute_granularity = 'full'\n"
    found = list(mistakes.groups(mistakes.places(text + "\n" * 20 + text, "python")))
    assert [sorted(group) for group in found] == [["granularity", "method"], ["granularity"]] * 2


def planted(text: str, file_type: str, framework: str = "megatron-lm") -> dict[str, list[str]]:
    """Each kind of mistake, with the texts that have it."""
    found: dict[str, list[str]] = {}
    for group in mistakes.groups(mistakes.places(text, file_type)):
        for mistake in mistakes.mistakes(text, group, framework, random.Random(1)):
            found.setdefault(mistake.kind, []).append(mistake.planted(text))
    return found


SELECTIVE = "t.py --recompute-granularity selective --recompute-modules mlp moe\n"


def test_ten_kinds() -> None:
    kinds = planted(WRITTEN[0][2], "script").keys() | planted(SELECTIVE, "script").keys()
    assert kinds | {"wrong type"} == mistakes.RIGHT.keys()
    assert len(kinds) == 10


def test_what_is_planted() -> None:
    found = planted(WRITTEN[0][2], "script")
    assert [text.count("--recompute-method") for text in found["full without a method"]] == [0]
    assert "--recompute-granularity full --recompute-modules mlp" in found["modules beside full"][0]
    assert len(found["key misspelled"]) == 3
    found = planted(SELECTIVE, "script")
    assert found["module twice"] == [SELECTIVE.replace("moe", "moe moe")]
    assert "selective --recompute-num-layers 1" in found["selective with a number of layers"][0]
    found = planted("c.recompute_granularity = 'selective'\nc.recompute_modules = ['mlp']\n", "python")
    assert "['mlp','mlp']" in found["module twice"][0]
    assert 'c.recompute_modules = "mlp"' in found["wrong type"][0]


def test_what_a_framework_fills_in_is_no_mistake() -> None:
    yaml = WRITTEN[3][2]
    assert {"full without a method", "full without a number of layers"} <= planted(yaml, "yaml").keys()
    assert not any(kind.startswith("full without") for kind in planted(yaml, "yaml", "nemo-rl"))
    assert not any(kind.startswith("full without") for kind in planted(WRITTEN[-1][2], "python"))


def test_a_word_is_misspelled_in_one_place() -> None:
    chance = random.Random(3)
    for word in ("full", "selective", "recompute_num_layers", "recompute-method"):
        for _ in range(50):
            new = mistakes.misspelled(word, chance)
            assert new != word and new[0] == word[0] and abs(len(new) - len(word)) <= 1


def test_a_finding_elsewhere_is_none_for_the_mistake() -> None:
    text = 'a.recompute_granularity = "full"\n\n\nb.recompute_granularity = "full"\n'
    (first, _) = mistakes.groups(mistakes.places(text, "python"))
    wrong = next(m for m in mistakes.mistakes(text, first, "verl", random.Random(1)) if "granularity" in m.kind)
    before = lint_text(text, "a.py").diagnostics
    here = lint_text(wrong.planted(text), "a.py").diagnostics
    assert plant.judge(wrong, before, here, 0, Path("a.py")) == (True, ())
    there = lint_text(text.replace('b.recompute_granularity = "full"', 'b.recompute_granularity = "ful"'), "a.py")
    found, others = plant.judge(wrong, before, there.diagnostics, 0, Path("a.py"))
    assert not found and [text[:10] for text in others] == ["4: RCL101 "]


def test_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        tmp_path,
        {
            "THUDM+slime/scripts/run.sh": WRITTEN[0][2],
            "THUDM+slime/tests/run.sh": WRITTEN[0][2],
            "THUDM+slime/slime/parser.py": 'p.add_argument("--recompute-method")\nx.recompute_method = "block"\n',
            "THUDM+slime/slime/model.py": 'if c.recompute_method:\n    c.recompute_granularity = "full"\n',
            "THUDM+slime/README.md": WRITTEN[0][2],
            "somebody+else/run.sh": WRITTEN[0][2],
        },
    )
    (tmp_path / "THUDM+slime.rev").write_text("624b824a8\n")
    monkeypatch.setattr(sys, "argv", ["plant.py", str(tmp_path), "--verbose"])
    assert plant.main() == 0
    out = capsys.readouterr().out
    assert "all files: 9 of 9 found, 100.00 %" in out
    assert "| THUDM/slime 624b824a8 | 9 | 9 | 100.0 % |" in out
    assert "0 findings appeared that were not planted." in out


def test_the_same_seed_plants_the_same(tmp_path: Path) -> None:
    write(tmp_path, {"run.sh": WRITTEN[0][2] * 3, "a.yaml": WRITTEN[3][2]})
    runs = [list(plant.plant_in(tmp_path, 6, seed, "0.16.1", "verl")) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert len(runs[0]) == 6
