"""Python, YAML and their like in here-documents and behind ``python -c``, and pieces of files inside other pieces."""

from __future__ import annotations

import json

import pytest

MCORE = {"mcore": "0.16.1"}

RECIPE = (
    "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: {}\n"
    "    tensor_model_parallel_size: $TP\n"
)


def check(lint, name: str, text: str, at: str, code: str = "RCL101") -> None:
    """The one mistake is found where ``at`` stands, and nothing once it is right."""
    before = text[: text.index(at)]
    place = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert lint({name: text}, [name], **MCORE) == [(name, *place, code)]
    right = text.replace("fulll", "full").replace(', "full")', ")").replace(', \\"full\\")', ")")
    assert lint({name: right}, [name], **MCORE) == []


@pytest.mark.parametrize(
    "line",
    [
        "cat > recipe.yaml <<EOF",
        "cat <<EOF > /tmp/recipe.yml",
        "cat <<-'EOF' >> $FOLDER/recipe.yaml",
        'CONFIG=/x/recipe.yaml\ncat <<EOF > "${CONFIG}"',
        "tee recipe.yaml >/dev/null <<EOF",
        "sudo tee -a recipe.yaml <<EOF",
        "cat \\\n  > recipe.yaml <<EOF",
        "kubectl create -f - <<EOF",
    ],
)
def test_yaml_in_here_documents(lint, line: str) -> None:
    text = f"set -e\n{line}\n{RECIPE.format('fulll')}EOF\nuv run x.py\n"
    check(lint, "run.sh", text, "fulll")


@pytest.mark.parametrize("value", ["$G", "${G}", '"$G"', "'${G:-full}'", "$(cat g)", "`cat g`", "${G}lll # x"])
def test_what_the_shell_fills_in_is_unknown(lint, value: str) -> None:
    text = f"cat > r.yaml <<EOF\n{RECIPE.format(value)}EOF\n"
    assert lint({"run.sh": text}, **MCORE) == []


def test_what_the_shell_leaves(lint) -> None:
    text = f"cat > r.yaml <<EOF\n{RECIPE}EOF\n"
    assert lint({"run.sh": text.format("\\$G")}, **MCORE) == [("run.sh", 5, 29, "RCL101")]
    assert lint({"run.sh": text.format("$G").replace("<EOF", "<'EOF'")}, **MCORE) == [("run.sh", 5, 28, "RCL101")]
    assert lint({"run.sh": text.format("{a: $G}")}, **MCORE) == [("run.sh", 5, 28, "RCL110")]


def test_a_list_that_the_shell_fills_in(lint) -> None:
    text = (
        "cat > r.yaml <<EOF\nmodel:\n  recompute_granularity: selective\n  recompute_modules: [{}moee]\n"
        "  recompute_num_layers: ${{LAYERS}}\nEOF\n"
    )
    for before in ("", "$MORE, ", "${MORE}, ", '"$MORE", '):
        found = lint({"run.sh": text.format(before)}, **MCORE)
        assert found == [("run.sh", 4, 23 + len(before), "RCL106")], before


@pytest.mark.parametrize(
    "text",
    [
        "python - <<EOF\nc = make()\nc.model.recompute_granularity = 'fulll'\nEOF\n",
        "python3 <<'EOF'\nc = make()\nc.model.recompute_granularity = 'fulll'\nEOF\n",
        "uv run python - \"$X\" <<EOF\nc = make('$A', $B)\nc.model.recompute_granularity = 'fulll'\nEOF\n",
        "cat <<EOF | python\nc = make()\nc.model.recompute_granularity = 'fulll'\nEOF\n",
        "cat > recipe.py <<EOF\nc = make()\nc.model.recompute_granularity = 'fulll'\nEOF\n",
        "python -c 'c = make(); c.model.recompute_granularity = \"fulll\"'\n",
        'python3 -u -c "\nc = make(\\"$X\\")\nc.model.recompute_granularity = \'fulll\'\n"\n',
    ],
)
def test_python_in_scripts(lint, text: str) -> None:
    check(lint, "run.sh", text, "fulll")


@pytest.mark.parametrize(
    "text",
    [
        'python - <<EOF\ng = c.get("recompute_granularity", "full")\nEOF\n',
        'python - "$@" <<EOF\nx = "$X"\ng = c.get("recompute_granularity", "full")\nEOF\n',
        'python -c \'g = c.get("recompute_granularity", "full")\'\n',
    ],
)
def test_hidden_defaults_in_scripts(lint, text: str) -> None:
    check(lint, "run.sh", text, "c.get", "RCL301")


@pytest.mark.parametrize(
    "text",
    [
        "python - <<EOF\nc.model.recompute_granularity = '$G'\nc.finalize()\nEOF\n",
        "python train.py --recipe - <<EOF\nrecompute_granularity = 'fulll'\nEOF\n",
        "cat <<EOF\nrecompute_granularity: fulll\nrecompute_method: uniform\nEOF\n",
        "# cat > r.yaml <<EOF\nrecompute_granularity: fulll\n",
        "cat > notes.txt <<EOF\nrecompute_granularity: fulll\nrecompute_method: uniform\nEOF\n",
        "cat > $OUT <<EOF\nrecompute_granularity: fulll\nrecompute_method: uniform\nEOF\n",
        "python - <<EOF\nthis is no Python, c.recompute_granularity = 'fulll'\nEOF\n",
        "cat > r.yaml <<EOF\n",
        "cat > r.yaml <<EOF",
    ],
)
def test_what_cannot_be_told(lint, text: str) -> None:
    assert lint({"run.sh": text}, **MCORE) == []


def test_the_text_ends_with_its_word(lint) -> None:
    text = (
        "cat > a.yaml <<A; cat > b.yaml <<'B'\nmodel:\n  recompute_granularity: full\n  recompute_method: block\n"
        "  recompute_num_layers: 1\nA\nmodel:\n  recompute_granularity: fulll\nB\nrecompute_granularity: fulll\n"
    )
    assert lint({"run.sh": text}, **MCORE) == [("run.sh", 8, 26, "RCL101")]


def test_a_script_in_a_manifest_in_a_script(lint) -> None:
    text = (
        "cat <<EOF | kubectl apply -f -\nspec:\n  containers:\n  - command:\n    - bash\n    - -c\n    - |\n"
        "      python3 -m verl.trainer.main_ppo x=${X} \\\n"
        "        +a.megatron.override_transformer_config.recompute_granularity=fulll\nEOF\n"
    )
    check(lint, "run.sh", text, "fulll")


def test_a_manifest_holds_files(lint) -> None:
    text = "kind: ConfigMap\ndata:\n  recipe.yaml: |\n    policy:\n      megatron_cfg:\n{}"
    inner = "        activation_checkpointing: true\n        recompute_granularity: fulll\n"
    check(lint, "a.yaml", text.format(inner), "fulll")
    assert lint({"a.yaml": text.format(inner).replace("recipe.yaml", "recipe.txt")}, **MCORE) == []


@pytest.mark.parametrize(
    "text",
    [
        'steps:\n- shell: python\n  run: |\n    g = c.get("recompute_granularity", "full")\n',
        'run: |\n  python - <<EOF\n  g = c.get("recompute_granularity", "full")\n  EOF\n',
        'command:\n- python\n- -c\n- |\n  g = c.get("recompute_granularity", "full")\n',
        'data:\n  setup.py: |\n    g = c.get("recompute_granularity", "full")\n',
    ],
)
def test_python_in_yaml(lint, text: str) -> None:
    check(lint, "a.yaml", text, "c.get", "RCL301")


def test_rules_for_python_hold_in_notebooks_and_fences(lint) -> None:
    line = 'g = c.get("recompute_granularity", "full")\n'
    cell = {"cell_type": "code", "source": ["!pip install x\n", line]}
    check(lint, "a.ipynb", json.dumps({"cells": [cell]}, indent=1), "c.get", "RCL301")
    check(lint, "a.md", f"```python\n{line}```\n", "c.get", "RCL301")
    check(lint, "a.py.j2", f"x = {{{{ x }}}}\n{line}", "c.get", "RCL301")


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("r.yaml", RECIPE.format("fulll")),
        ("run.sh", "python t.py --recompute-granularity fulll --recompute-method block --recompute-num-layers 1\n"),
        ("r.py", "c = make()\nc.model.recompute_granularity = 'fulll'\n"),
    ],
)
def test_files_that_a_notebook_writes(lint, name: str, source: str) -> None:
    cell = {"cell_type": "code", "source": [f"%%writefile {name}\n", *source.splitlines(keepends=True)]}
    check(lint, "a.ipynb", json.dumps({"cells": [cell]}, indent=1), "fulll")


def test_here_documents_of_docker_files(lint) -> None:
    flags = "python t.py --recompute-granularity fulll --recompute-method block --recompute-num-layers 1\n"
    check(lint, "Dockerfile", f"FROM x\nRUN <<EOF\n{flags}EOF\n", "fulll")
    check(lint, "Dockerfile", f"FROM x\nCOPY <<EOF /r.yaml\n{RECIPE.format('fulll')}EOF\n", "fulll")


@pytest.mark.parametrize("language", ["json", "toml"])
def test_fences_of_settings(lint, language: str) -> None:
    text = {
        "json": '{"a": {"recompute_granularity": "fulll", "recompute_method": "block", "recompute_num_layers": 1}}',
        "toml": '[a]\nrecompute_granularity = "fulll"\nrecompute_method = "block"\nrecompute_num_layers = 1',
    }
    check(lint, "a.md", f"# T\n\n```{language}\n{text[language]}\n```\n", '"fulll"')


def test_a_script_that_begins_with_a_test(lint) -> None:
    text = (
        'command=$(cat <<- EOM\n  if [ "\\$RANK" -eq "0" ]; then\n    env ;\n  fi ;\n  cd /opt/x ;\n'
        "  numactl --membind=\\$((RANK/4)) \\\n  python t.py --recompute-granularity fulll\nEOM\n)\n"
    )
    found = lint({"run.sh": text}, **MCORE)
    assert found == [("run.sh", 7, 39, "RCL101")]
    usage = text.replace("  if [", "Usage: run.sh\n  if [")
    assert lint({"run.sh": usage}, **MCORE) == []


def test_pieces_are_read_so_deep(lint) -> None:
    text = "recompute_granularity: fulll\nrecompute_method: block\n"
    for depth in range(30):
        text = f"cat > a{depth}.yaml <<E{depth}\nx.sh: |\n" + "".join(f"  {line}\n" for line in text.splitlines())
        text += f"E{depth}\n"
    assert lint({"run.sh": text}, **MCORE) == []
