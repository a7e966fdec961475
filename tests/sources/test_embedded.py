"""Scripts, Python and YAML inside other files."""

from __future__ import annotations

import json

import pytest

FLAGS = "--recompute-granularity {} --recompute-method block --recompute-num-layers 1"
MCORE = {"mcore": "0.16.1"}
WRONG = FLAGS.format("fulll")
RIGHT = FLAGS.format("full")


def check(lint, name: str, text: str, at: str, code: str = "RCL101") -> None:
    """The one mistake is found where ``at`` stands, and nothing once it is fixed."""
    before = text[: text.index(at)]
    place = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert lint({name: text}, [name], **MCORE) == [(name, *place, code)]
    assert lint({name: text.replace("fulll", "full").replace("moee", "moe")}, [name], **MCORE) == []


@pytest.mark.parametrize(
    "text",
    [
        f"jobs:\n  a:\n    steps:\n      - run: |\n          set -e\n          python t.py \\\n            {WRONG}\n",
        f"run: |-\n  python t.py --x ${{{{ matrix.x }}}} {WRONG}\n\n\nnext: 1\n",
        f"run: >\n  python t.py\n  {WRONG}\n\n  echo done\n",
        "command: >-\n  ./train.sh --nodes 1\n  model.recompute_granularity=fulll\n  model.x=1",
        f'command: "python \\"t.py\\" {WRONG}"\n',
        f"command: 'python t.py\n  {WRONG}'\n",
        f"command: python t.py {WRONG}\n",
        f"command: [bash, -c, 'python t.py {WRONG}']\n",
        "args: [--recompute-granularity, fulll, --recompute-method, block, --recompute-num-layers, '1']\n",
        'args:\n  - --recompute-granularity\n  - "fulll"\n  - --recompute-method=block\n  - --recompute-num-layers=1\n',
        "args: [--recompute-granularity=fulll, --recompute-method=block, --x, $(X), $(MORE_ARGS)]\n",
        "overrides: ['model.recompute_granularity=fulll', model.x=3]\n",
        f"a: &a\n  run: python t.py {WRONG}\nb: *a\n",
        f"extra_args: {WRONG}\n",
        "command: [python, m.py, model.recompute_granularity=fulll, model.recompute_method=uniform]\n",
        "spec:\n  template:\n    spec:\n      containers:\n      - command: [python, t.py]\n"
        "        args: ['--recompute-granularity', 'fulll', '--recompute-method', 'block',\n"
        "          '--recompute-num-layers', '1']\n",
    ],
)
def test_commands_in_yaml(lint, text: str) -> None:
    check(lint, "job.yaml", text, "fulll")


def test_commands_in_json(lint) -> None:
    check(lint, "job.json", json.dumps({"a": {"command": f'python "t.py" {WRONG}'}}, indent=1), "fulll")
    words = ["--recompute-granularity", "fulll", "--recompute-method", "block", "--recompute-num-layers", "1"]
    check(lint, "job.json", json.dumps({"args": words}, indent=1), "fulll")


@pytest.mark.parametrize(
    "text",
    [
        "description: Use --recompute-granularity fulll to enable it\n",
        "description: --recompute-granularity fulll is what we use\n",
        "help: '--recompute-granularity full|selective'\n",
        "names: [--recompute-granularity, --recompute-method]\n",
        "choices: [recompute_granularity, fulll]\n",
        f"# run: python t.py {WRONG}\n",
        f"run: echo {WRONG}\n",
        f"run: |\n  # python t.py {WRONG}\n",
        "args: [--recompute-granularity, $(GRANULARITY)]\n",
    ],
)
def test_what_is_no_command_in_yaml(lint, text: str) -> None:
    assert lint({"job.yaml": text}, **MCORE) == []


def test_what_a_list_does_not_name_is_absent(lint) -> None:
    text = "args: [--recompute-granularity, full, --recompute-method, block{}]\n"
    assert [code for *_, code in lint({"a.yaml": text.format("")}, **MCORE)] == ["RCL104"]
    assert lint({"a.yaml": text.format(", $(MORE)")}, **MCORE) == []
    assert lint({"a.yaml": text.format("") + "more: --recompute-num-layers\n"}, **MCORE) == []


def test_a_yaml_of_a_framework_is_still_read_as_such(lint) -> None:
    recipe = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: fulll\n"
    text = f"{recipe}run: t.py {WRONG}\n"
    assert [(line, code) for _, line, _, code in lint({"a.yaml": text})] == [(4, "RCL101"), (5, "RCL101")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Dockerfile", f"FROM a AS b\nRUN --mount=type=cache,target=/x python t.py \\\n  {WRONG}\n"),
        ("Dockerfile.gpu", f"ENV X=1\nCMD python t.py {WRONG}\n"),
        (
            "train.dockerfile",
            'CMD ["python", "t.py", "--recompute-granularity", "fulll", "--recompute-method", "block"]\n',
        ),
        ("Containerfile", f"ENV G fulll\nENV G=fulll\nENTRYPOINT exec python t.py {FLAGS.format('$G')}\n"),
        ("justfile", f"g := 'fulll'\ntrain: build\n    @python t.py {FLAGS.format('{{ g }}')} --x {{{{n}}}}\n"),
        ("ci.just", f"train arg='--recompute-granularity':\n  #!/bin/bash\n  python t.py {WRONG} {{{{arg}}}}\n"),
        ("job.sub", f"#BSUB -n 8\npython t.py {WRONG}\n"),
        ("job.pbs", f"#PBS -l nodes=8\npython t.py {WRONG}\n"),
        ("notes.txt", f"export X=1\npython t.py {WRONG}\n"),
        ("run", f"cd x\npython t.py {WRONG}\n"),
        ("recipe.conf", 'import x\n\nx.model.recompute_granularity = "fulll"\n'),
        ("run.sh.j2", f"{{% if a %}}\npython t.py {WRONG} --x {{{{ x }}}}\n{{% endif %}}\n"),
        ("run.py.tmpl", 'x.recompute_granularity = "fulll"\nx.y = {{ y }}\n'),
        (
            "r.yaml.j2",
            "policy:\n  megatron_cfg:\n{# x #}\n    {% if a %}\n    activation_checkpointing: true\n    {% endif %}\n"
            "    recompute_granularity: fulll\n    x: {{ x }}\n",
        ),
    ],
)
def test_other_kinds_of_files(lint, name: str, text: str) -> None:
    at = text.rindex("fulll") if name == "Containerfile" else text.index("fulll")
    found = lint({name: text}, [name], **MCORE)
    line = text.count("\n", 0, at) + 1
    assert [(path, row, code) for path, row, _, code in found][:1] == [(name, line, "RCL101")]
    assert "RCL101" not in [code for *_, code in lint({name: text.replace("fulll", "full")}, [name], **MCORE)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "run.sh.j2",
            "python t.py --recompute-granularity {{ g }} --recompute-method {{m}} {% if x %}--x{% endif %}\n",
        ),
        ("r.yaml.j2", "policy:\n  megatron_cfg:\n    recompute_granularity: {{ g }}\n"),
        (
            "justfile",
            "train g:\n    python t.py --recompute-granularity {{g}} {{ more }} {{ if x {'a'} else {'b'} }}\n",
        ),
        ("Dockerfile", "ARG G\nRUN python t.py --recompute-granularity $G\nLABEL x='--recompute-granularity fulll'\n"),
        (
            "x.md",
            "Never `--recompute-granularity fulll`\n```bash\n# python t.py --recompute-granularity fulll\n```\n",
        ),
        ("x.md", "```text\npython t.py --recompute-granularity fulll\n```\n"),
        ("x.md", "```yaml\npolicy: [\nrecompute_granularity: fulll\n```\n"),
        ("x.toml", "[tool.x]\nrecompute_granularity = \n"),
        ("x.toml", 'description = """\nrecompute_granularity = "fulll"\n"""\n'),
        ("x.ipynb", '{"cells": [{"cell_type": "code", "recompute_granularity": 1'),
        ("x.ipynb", '{"recompute_granularity": "fulll"}'),
    ],
)
def test_what_cannot_be_told_is_left(lint, name: str, text: str) -> None:
    assert lint({name: text}, [name], **MCORE) == []


class TestMarkdown:
    TEXT = (
        "# Training\n\n```console\n$ python t.py --recompute-granularity fulll --recompute-method block "
        '--recompute-num-layers 1\nok\n```\n\n- a\n\n  ~~~python\n  cfg.model.recompute_granularity = "fulll"\n  ~~~\n'
        "\n> ```yml\n> policy:\n>   megatron_cfg:\n>     activation_checkpointing: true\n"
        ">     recompute_granularity: fulll\n> ```\n"
    )

    def test_fences(self, lint) -> None:
        found = lint({"a.md": self.TEXT}, ["a.md"], **MCORE)
        assert found == [("a.md", 4, 39, "RCL101"), ("a.md", 11, 38, "RCL101"), ("a.md", 18, 30, "RCL101")]

    def test_folders_are_not_searched_for_them(self, lint) -> None:
        """Documents show what is wrong as well as what is right."""
        assert lint({"docs/a.md": self.TEXT, "docs/a.sh.j2": "python t.py --recompute-granularity fulll\n"}) == []


class TestNotebooks:
    @staticmethod
    def notebook(*cells: str | list[str]) -> str:
        return json.dumps({"cells": [{"cell_type": "code", "outputs": [], "source": cell} for cell in cells]}, indent=1)

    def test_python(self, lint) -> None:
        text = self.notebook("x = 1", ['s = "ä"\n', 'cfg.model.recompute_granularity = "fulll"\n', "%time x\n", "f()"])
        check(lint, "a.ipynb", text, "fulll")

    def test_commands(self, lint) -> None:
        text = self.notebook(["x = 1\n", "!python t.py \\\n", f"  {WRONG}\n", "y = 2"])
        check(lint, "a.ipynb", text, "fulll")

    def test_a_cell_of_bash(self, lint) -> None:
        check(lint, "a.ipynb", self.notebook(f"%%bash\npython t.py {WRONG}"), "fulll")

    def test_other_cells_are_left(self, lint) -> None:
        cells = [{"cell_type": "markdown", "source": [f"!python t.py {WRONG}"]}, {"cell_type": "code", "source": ["x"]}]
        assert lint({"a.ipynb": json.dumps({"cells": cells})}) == []

    def test_a_fix_keeps_the_file_a_notebook(self, command) -> None:
        from pathlib import Path

        text = self.notebook('cfg.model.recompute_modules = ["mlp", "moee"]\ncfg.x = "y"')
        command("check", "--fix", "--unsafe-fixes", "--mcore", "0.16.1", "a.ipynb", files={"a.ipynb": text})
        after = Path("a.ipynb").read_text()
        assert after in (text, text.replace("moee", "moe"))
        json.loads(after)


def test_toml(lint) -> None:
    text = (
        'title = "x"\nx.y = 1\n[policy.megatron_cfg]\nactivation_checkpointing = true # all of it\n'
        'recompute_granularity = "selective"\n"recompute_modules" = [\n  "mlp", # and\n  \'moee\',\n]\n'
        "\n[[a]]\nb = {c = 1}\n[[a]]\n"
    )
    check(lint, "a.toml", text, "'moee'", "RCL106")


def test_a_word_of_several_places_is_still_in_the_file(lint) -> None:
    text = "run: |\n  M='fulll'\n  python t.py --recompute-granularity $M --recompute-method block\n"
    assert lint({"a.yaml": text}, **MCORE)[0] == ("a.yaml", 2, 6, "RCL101")


@pytest.mark.parametrize(
    "name", ["a.yaml", "a.md", "a.ipynb", "a.toml", "Dockerfile", "justfile", "a.sh.j2", "a.yaml.j2"]
)
@pytest.mark.parametrize(
    "text",
    [
        "```bash\n--recompute-granularity",
        '{"cells": [{"cell_type": "code", "source": ["--recompute-granularity \\',
        "{{ --recompute-granularity {% {{",
        'x = """--recompute-granularity',
        "a: |\n--recompute-granularity fulll\n",
        "a: >2\n   --recompute-granularity fulll",
        "- '--recompute-granularity\r\n\r\n fulll'\r\n",
        "CMD [[[[[\\\n--recompute-granularity",
        "recompute_granularity = [{{{{",
        "`" * 5000 + "recompute_granularity" + "{{" * 5000,
    ],
)
def test_hostile_input_is_no_trouble(lint, name: str, text: str) -> None:
    found = lint({name: text}, [name])
    assert all(code.startswith("RCL9") for *_, code in found if code not in ("RCL101", "RCL103", "RCL104"))
