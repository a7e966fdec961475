"""The commands other than ``check``."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from recompute_lint.hooks.compat_report import Cell, Row, as_text
from recompute_lint.lint_rules.registry import RULES
from recompute_lint.schemas import meanings, store
from recompute_lint.schemas.compare import compare
from tests.schemas.test_choose import CONFIG, TREE

BASE = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
CHILD = "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    recompute_modules: [shared_experts]\n"


# ---- show


def test_show_names_every_origin(command):
    result = command("show", "--mcore", "0.16.1", "child.yaml", files={"base.yaml": BASE, "child.yaml": CHILD})
    assert result.code == 0
    assert result.out == (
        "child.yaml  policy.megatron_cfg  "
        "[nemo-rl; megatron-core 0.16.1; defaults partial: a field not listed comes from elsewhere]\n"
        '  recompute_granularity  "selective"         base.yaml:4\n'
        '  recompute_modules      ["shared_experts"]  child.yaml:4\n'
        "  activation_checkpointing: true, the switch of nemo-rl  base.yaml:3\n"
    )


def test_show_what_the_framework_fills_in(command):
    text = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_modules: [mlp]\n"
    result = command("show", "a.yaml", files={"a.yaml": text})
    assert '  recompute_granularity  "full"     nemo-rl, from activation_checkpointing at a.yaml:3\n' in result.out
    assert '  recompute_method       "uniform"  set by nemo-rl\n' in result.out
    assert "recompute_modules is ignored" in result.out


def test_show_closed_sites_and_json(command):
    text = "num_layers: 1\nhidden_size: 8\nnum_attention_heads: 1\nrecompute_granularity: selective\n"
    result = command("show", "--output-format", "json", "--mcore", "0.16.1", "a.yaml", files={"a.yaml": text})
    (site,) = json.loads(result.out)
    assert site["closed"]
    by_field = {entry["field"]: entry for entry in site["settings"]}
    assert by_field["recompute_granularity"]["origin"] == "a.yaml:4"
    assert by_field["recompute_method"] == {
        "field": "recompute_method",
        "value": None,
        "known": True,
        "origin": "megatron-core's default",
    }


SELECTIVE = "num_layers: 1\nhidden_size: 8\nnum_attention_heads: 1\nrecompute_granularity: selective\n"


@pytest.mark.parametrize(
    ("files", "modules"),
    [
        (
            {"a.sh": "python train.py --recompute-granularity selective --recompute-modules $X core_attn\n"},
            [None, "core_attn"],
        ),
        (
            {
                "a.yaml": "actor:\n  strategy_args:\n    strategy_name: megatron_train\n    strategy_config:\n"
                '      recompute_granularity: selective\n      recompute_modules: ["${oc.env:M}", mlp]\n'
            },
            [None, "mlp"],
        ),
    ],
    ids=["flags", "Hydra"],
)
def test_show_a_list_with_an_unknown_item(command, files, modules):
    (name,) = files
    (site,) = json.loads(command("show", "--output-format", "json", name, files=files).out)
    assert {entry["field"]: entry["value"] for entry in site["settings"]}["recompute_modules"] == modules
    assert "(known at run time only)" in command("show", name).out


@pytest.mark.parametrize(
    ("text", "mcore", "expected"),
    [
        (SELECTIVE, "0.16.1", {"recompute_modules": ["core_attn"]}),
        (f"{SELECTIVE}recompute_modules: null\n", "0.16.1", {"recompute_modules": ["core_attn"]}),
        (f"{SELECTIVE}recompute_modules: []\n", "0.16.1", {"recompute_modules": []}),
        (
            f"{SELECTIVE}recompute_granularity: null\nmoe_layer_recompute: true\n".replace(
                "recompute_granularity: selective\n", ""
            ),
            "0.16.1",
            {"recompute_granularity": "selective", "recompute_modules": ["core_attn", "moe"]},
        ),
        (
            f"{SELECTIVE}recompute_modules: [mlp]\nmoe_layer_recompute: true\n",
            "0.16.1",
            {"recompute_granularity": "selective", "recompute_modules": ["mlp", "moe"]},
        ),
        (f"{SELECTIVE}moe_layer_recompute: true\n", "0.11.0", {"recompute_granularity": "selective"}),
    ],
    ids=["absent", "null", "empty", "old switch", "old switch beside modules", "no modules yet"],
)
def test_show_what_the_model_gets(command, text, mcore, expected):
    files = {"a.yaml": text}
    (site,) = json.loads(command("show", "--output-format", "json", "--mcore", mcore, "a.yaml", files=files).out)
    assert site["megatron_core"] == mcore
    shown = {entry["field"]: entry["value"] for entry in site["settings"]}
    assert {name: shown[name] for name in expected} == expected
    assert "recompute_modules" in shown or mcore == "0.11.0"


def test_show_the_switch_of_the_framework(command):
    text = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: full\n"
    assert (
        "  activation_checkpointing: true, the switch of nemo-rl  a.yaml:3\n"
        in command("show", "a.yaml", files={"a.yaml": text}).out
    )


def test_show_nothing(command):
    result = command("show", "a.yaml", files={"a.yaml": "x: 1\n"})
    assert result.code == 1
    assert "No recompute settings found" in result.err


def test_show_broken(command):
    result = command("show", "a.yaml", files={"a.yaml": "megatron_cfg: {recompute_granularity: full"})
    assert result.code == 1
    assert "a.yaml:1:43: RCL901" in result.err


# ---- explain


@pytest.mark.parametrize("word", ["chek", "Show", "explian"])
def test_misspelled_command(command, word):
    result = command(word)
    assert result.code == 2
    assert f"no command and no file is named {word}; did you mean" in result.err


def test_file_named_like_a_misspelled_command(command):
    assert command("chek", files={"chek": ""}).code == 0
    assert "chek:1:1: error[RCL904]" not in command("chek").out
    assert "recipes:1:1: error[RCL904]" in command("recipes").out


def test_explain_lists_all_rules(command):
    rules, meant = command("explain").out.split("\n\n")
    assert [line.split()[0] for line in rules.splitlines()] == list(RULES)
    assert [line.split()[0] for line in meant.splitlines()] == meanings.names()


@pytest.mark.parametrize("name", ["RCL106", "rcl106", "unknown-module"])
def test_explain_one(command, name):
    result = command("explain", name)
    assert result.code == 0
    assert result.out.startswith("RCL106 unknown-module (error, fixable, since recompute-lint 0.1.0)\n\n")
    assert "moe_atc" in result.out


def test_explain_nothing(command):
    result = command("explain", "RCL1066")
    assert result.code == 2
    assert "did you mean RCL106?" in result.err


# ---- contract


def test_contract_show(command):
    out = command("contract", "show", "0.14.0").out
    assert out.startswith("megatron-core 0.14.0\n")
    assert "  shared_experts       since 0.14.0\n" in out
    assert "RCL106 unknown-module: recompute_granularity == 'selective'" in out
    assert "megatron/core/transformer/transformer_config.py#L" in out


def test_contract_show_before_there_were_modules(command):
    assert "none: this release does not have recompute_modules" in command("contract", "show", "0.3.0").out


def test_contract_show_json(command):
    schema = json.loads(command("contract", "show", "0.16.1", "--output-format", "json").out)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_contract_diff(command):
    out = command("contract", "diff", "0.12.3", "0.14.0").out
    assert out.startswith("megatron-core 0.12.3 -> 0.14.0\n\nModules added:\n  shared_experts\n")
    assert "\n         shared_experts recompute cannot work with --moe-shared-expert-overlap" in out
    back = command("contract", "diff", "0.14.0", "0.12.3").out
    assert "Modules removed (a recipe that lists one fails):\n  shared_experts\n" in back
    assert "No longer rejected:" in back


def test_contract_diff_of_equals(command):
    assert "Nothing about recomputation changed." in command("contract", "diff", "0.16.0", "0.16.1").out


def test_contract_diff_tells_changed_conditions():
    old, new = store.load("0.16.1"), store.load("0.16.1")
    schema = json.loads(json.dumps(new.schema))
    guard = next(branch for branch in schema["allOf"] if branch["x-rule"] == "invalid-method")
    guard["x-condition"] = "another condition"
    sections = dict(compare(old, type(new)("9.9", schema)))
    (row,) = sections["Rejected under other conditions"]
    assert "another condition" in row
    assert "before: recompute_granularity is not None" in row


def test_contract_derive(command):
    result = command("contract", "derive", "tree", "-o", "out.json", files={f"tree/{k}": v for k, v in TREE.items()})
    assert (result.code, result.out, result.err) == (0, "", "")
    with open("out.json") as stream:
        written = json.load(stream)
    assert [branch["x-rule"] for branch in written["allOf"]] == ["invalid-granularity"]
    assert json.loads(command("contract", "derive", "tree").out) == written


@pytest.mark.parametrize("files", [{"tree/x": ""}, {f"tree/{CONFIG}": "def broken(:\n"}])
def test_contract_derive_of_something_else(command, files):
    result = command("contract", "derive", "tree", files=files)
    assert result.code == 2
    assert result.err.startswith("recompute-lint: tree: ")
    assert "Traceback" not in result.err


def test_contract_of_a_source_tree(command):
    files = {f"tree/{name}": text for name, text in TREE.items()}
    result = command("contract", "show", "tree", "--no-cache", files=files)
    assert "RCL101 invalid-granularity" in result.out


# ---- compat


def test_compat(command):
    files = {"base.yaml": BASE, "child.yaml": CHILD}
    result = command("compat", ".", "--releases", "0.12..0.14", "--mcore", "0.14.0", files=files)
    assert result.code == 0
    assert result.out == (
        "1 file: RCL106 to 0.13.1, ok from 0.14.0\n"
        '    RCL106: "shared_experts" is not a recompute module of megatron-core 0.12.3\n'
        "  child.yaml\n\n1 file: ok in every release\n\n"
        "Compared: 0.12.3, 0.13.1, 0.14.0. In use: megatron-core 0.14.0: --mcore.\n"
    )
    assert "1 file: ok in every release\n  base.yaml\n" in command(*COMPAT, "--all").out


COMPAT = ("compat", ".", "--releases", "0.12..0.14", "--mcore", "0.14.0")


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ("oooo", "ok in every release"),
        ("xxxx", "RCL1 in every release"),
        ("xxoo", "RCL1 to 2, ok from 3"),
        ("ooox", "ok to 3, RCL1 from 4"),
        ("ooxooo", "ok, but 3 RCL1"),
        ("ooxxooooy", "ok, but 3 to 4 RCL1, 9 RCL2"),
        ("xoy", "RCL1 to 1, ok in 2, RCL2 from 3"),
    ],
)
def test_compat_says_verdicts_as_ranges(verdicts, words):
    names = [str(number) for number in range(1, len(verdicts) + 1)]
    cells = {name: Cell({"o": "ok", "x": "RCL1", "y": "RCL2"}[one]) for name, one in zip(names, verdicts, strict=True)}
    row = Row("a.yaml", cells, "1", Cell("ok"), "")
    assert as_text([row], names, all=False).startswith(f"1 file: {words}\n")


def test_compat_names_the_release_in_use_even_between_others(command):
    files = {"base.yaml": BASE, "child.yaml": CHILD}
    result = command("compat", ".", "--releases", "0.13..0.14", "--mcore", "0.13.0", files=files)
    assert result.code == 1
    assert "  child.yaml  <-- RCL106 in 0.13.0, the release in use\n" in result.out
    assert "Compared: 0.13.0, 0.13.1, 0.14.0. In use: megatron-core 0.13.0: --mcore.\n" in result.out


def test_compat_as_a_page(command):
    files = {"base.yaml": BASE, "a<b.yaml": CHILD}
    out = command(*COMPAT, "--output-format", "html", files=files).out
    assert out.startswith("<!doctype html>") and "http" not in out and "<script" not in out
    page = ElementTree.fromstring(out.partition("<body>")[2].partition("</body>")[0].join(("<body>", "</body>")))
    row = page.find(".//tbody/tr")
    assert row is not None
    assert [cell.text for cell in row] == ["a<b.yaml", "ok", "RCL106", "RCL106"]
    assert [cell.get("class") for cell in row][1:] == ["ok used", "bad", "bad"]
    (tooltip,) = row[-1]
    assert tooltip.text == '0.12.3, line 4: "shared_experts" is not a recompute module of megatron-core 0.12.3'


def test_facts_count_in_every_command(command):
    text = BASE + "    recompute_modules: [moe_act]\n"
    assert "RCL107" not in command("compat", "a.yaml", files={"a.yaml": text}).out
    assert "RCL107" in command("compat", "a.yaml", "--facts", "moe_grouped_gemm=false").out
    shown = command("show", "a.yaml", "--facts", "recompute_num_layers=3").out
    assert "  recompute_num_layers   3            from --facts or --model\n" in shown


def test_compat_fails_where_the_release_in_use_does(command):
    files = {"base.yaml": BASE, "child.yaml": CHILD}
    result = command("compat", "child.yaml", "--releases", "0.12..0.14", "--mcore", "0.12.0", files=files)
    assert result.code == 1


FINE = {"ok": True, "code": None, "message": None, "line": None}
NEWEST = {"release": store.releases()[-1], "because": "the newest release known", **FINE}


def test_compat_range_by_mcore_and_other_formats(command):
    files = {"base.yaml": BASE, "child.yaml": CHILD}
    arguments = ("compat", ".", "--mcore", "0.13.0..0.14.0", "--output-format")
    assert json.loads(command(*arguments, "json", "--all", files=files).out) == [
        {"file": "base.yaml", "in_use": NEWEST, "releases": {"0.13.1": FINE, "0.14.0": FINE}},
        {
            "file": "child.yaml",
            "in_use": NEWEST,
            "releases": {
                "0.13.1": {
                    "ok": False,
                    "code": "RCL106",
                    "message": '"shared_experts" is not a recompute module of megatron-core 0.13.1',
                    "line": 4,
                },
                "0.14.0": FINE,
            },
        },
    ]
    assert "| child.yaml | RCL106 | ok |" in command(*arguments, "markdown").out


def test_compat_of_a_range_without_releases(command):
    result = command("compat", ".", "--releases", "7..8", files={"a.yaml": BASE})
    assert result.code == 2
    assert "no release known is in 7..8" in result.err


@pytest.mark.parametrize(
    ("releases", "said"),
    [
        ("abc", '--releases: "abc" is not a range of releases; write 0.12..0.19, or 0.12..'),
        ("..", '--releases: ".." is not a range'),
        ("0.19..0.12", "no release known is in 0.19..0.12; known are 0.3.0 to 0.19.2; the older comes first"),
    ],
)
def test_compat_of_what_is_no_range(command, releases, said):
    result = command("compat", ".", "--releases", releases, files={"a.yaml": BASE})
    assert (result.code, said in result.err) == (2, True)


@pytest.mark.parametrize(
    ("releases", "compared"),
    [
        ("0.16..", ["0.16.1", "0.17.1", "0.18.2", "0.19.2"]),
        ("..0.5", ["0.3.0", "0.4.0", "0.5.0", "0.19.2"]),
        ("0.16.0", ["0.16.0", "0.19.2"]),
    ],
)
def test_compat_of_a_range_with_an_open_end(command, releases, compared):
    out = command("compat", ".", "--releases", releases, "--all", "--mcore", "0.19.2", files={"a.yaml": BASE}).out
    assert f"Compared: {', '.join(compared)}. " in out


def test_compat_where_all_is_well(command):
    result = command("compat", ".", "--releases", "0.14", files={"a.yaml": BASE})
    assert result.out.startswith("Every recipe is ok in every release. In use: megatron-core ")
