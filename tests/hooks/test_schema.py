"""``schema``: one JSON Schema that needs no other file, as check-jsonschema and yaml-language-server take it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from recompute_lint.schemas import bundle, store
from recompute_lint.schemas.names import FIELDS

from ..conftest import CORPUS, ROOT, needs_corpus, write
from ..npm import packages

NEWEST = store.load(store.releases()[-1])


def check_jsonschema(folder: Path, schema: dict, recipe: str) -> str:
    """What check-jsonschema says of a recipe."""
    program = shutil.which("check-jsonschema", path=str(Path(sys.executable).parent)) or shutil.which(
        "check-jsonschema"
    )
    if program is None:
        pytest.importorskip("check_jsonschema")
    command = [program] if program else [sys.executable, "-m", "check_jsonschema"]
    (folder / "schema.json").write_text(json.dumps(schema))
    (folder / "recipe.yaml").write_text(recipe)
    done = subprocess.run(
        [*command, "--schemafile", "schema.json", "recipe.yaml"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", bundle.names())
@pytest.mark.parametrize("release", ["0.11.0", "0.16.1", store.releases()[-1]])
def test_it_needs_no_other_file(name, release):
    schema = bundle.bundle(name, store.load(release))
    Draft202012Validator.check_schema(schema)
    text = json.dumps(schema)
    assert "$id" not in schema and '"x-' not in text
    for reference in re.findall(r'"\$ref": "([^"]*)"', text):
        assert reference.startswith("#/$defs/") and reference.rpartition("/")[2] in schema["$defs"]
    if name != bundle.CONFIGURATION:
        assert schema["$comment"] == f"For megatron-core {release}; written by recompute-lint schema {name}."


def test_the_command(command):
    listed = command("schema").out
    assert [line.split()[0] for line in listed.splitlines()] == bundle.names()
    schema = json.loads(command("schema", "nemo-rl", "--mcore", "0.16.1").out)
    assert schema == bundle.bundle("nemo-rl", store.load("0.16.1"))
    assert command("schema", "nemo-rl", "--mcore", "0.16.1", "-o", "out.json").out == ""
    assert json.loads(Path("out.json").read_text()) == schema
    wrong = command("schema", "nemo-lr")
    assert (wrong.code, "did you mean nemo-rl?" in wrong.err) == (2, True)
    assert command("schema", "nemo-rl", "--mcore", "banana").code == 2
    assert command("schema", "nemo-rl", "-o", "no/such/folder").code == 2


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ("recompute_modules: [core_attn, shared_experts]", "ok"),
        ("recompute_modules: [gdn_norm_out]", "'gdn_norm_out' is not one of ['core_attn', 'moe_act'"),
        ("recompute_granuarlity: selective", "$.policy.megatron_cfg"),
        ("recompute_module: [mlp]", "$.policy.megatron_cfg"),
        ("recompute-modules: [mlp]", "$.policy.megatron_cfg"),
        ("recompute_granularity: ${policy.x}", "ok"),
        ("recompute_logprob: true", "ok"),
    ],
)
def test_check_jsonschema_takes_it_as_it_is(tmp_path, recipe, said):
    schema = bundle.bundle("nemo-rl", store.load("0.16.1"))
    out = check_jsonschema(tmp_path, schema, f"policy:\n  megatron_cfg:\n    {recipe}\n")
    assert said in out
    assert ("validation done" in out) == (said == "ok")


def test_modules_are_those_of_the_release_with_what_each_is():
    for release in ("0.12.0", "0.16.1", "0.19.2"):
        contract = store.load(release)
        module = bundle.bundle("nemo-rl", contract)["$defs"]["module"]
        assert module["enum"] == contract.modules
        assert module["description"] == f"A recompute module of megatron-core {release}."
        assert len(set(module["enumDescriptions"])) == len(contract.modules)
    everything = json.dumps(bundle.bundle("roll", store.load("0.12.0")))
    assert "core_attn|" in everything and "shared_experts" not in everything


def test_a_field_that_the_release_does_not_have_is_refused():
    fields = bundle.bundle("nemo-rl", store.load("0.11.0"))["$defs"]["fields"]["properties"]
    assert fields["recompute_modules"] is False and fields["recompute_granularity"] is not False


@pytest.mark.parametrize("name", [*FIELDS])
def test_no_setting_is_taken_for_a_misspelled_one(name):
    schema = bundle.bundle("transformer-config", NEWEST)
    patterns = schema["$defs"]["fields"]["patternProperties"]
    assert not any(re.search(pattern, name) for pattern in patterns)
    for wrong in (name[1:], name[:-1], f"{name}s", name.replace("_", "-"), name.replace("s", "z", 1)):
        if wrong != name:
            assert any(re.search(pattern, wrong) for pattern in patterns), wrong


@needs_corpus
@pytest.mark.parametrize("name", [name for name in bundle.names() if (CORPUS / name).is_dir()])
def test_every_published_recipe_is_valid(name):
    """For main, whose modules they may list."""
    contract = store.load(store.releases()[-1])
    newer = json.loads((ROOT / "schemas" / "recipes" / "recompute.json").read_text())["$defs"]["module"]["enum"]
    contract = type(contract)("main", {**contract.schema, "x-modules": newer})
    validator = Draft202012Validator(bundle.bundle(name, contract))
    for path in sorted((CORPUS / name).rglob("*.yaml")):
        if name == "primus" and "configs/models" in str(path):
            continue
        for recipe in yaml.safe_load_all(path.read_text()):
            assert [error.json_path for error in validator.iter_errors(recipe)] == [], path


# ---- ajv and yaml-language-server, from npm


AJV = """
const [schema, recipe] = [process.argv[2], process.argv[3]].map((name) => JSON.parse(require("fs").readFileSync(name)));
const validate = new (require("ajv/dist/2020"))({ strict: false, allErrors: true }).compile(schema);
console.log(validate(recipe) ? "valid" : "wrong");
"""


@pytest.mark.parametrize("name", bundle.names())
def test_ajv_takes_each_as_it_is(tmp_path, name):
    """One file, without looking for another; keywords that say nothing of validity are passed over."""
    folder = packages("ajv@8.20.0")
    schema = bundle.bundle(name, store.load("0.16.1"))
    write(tmp_path, {"schema.json": json.dumps(schema), "a.json": "{}", "b.json": "[]", "ajv.js": AJV})
    for recipe, said in (("a.json", "valid\n"), ("b.json", "wrong\n")):
        command = ["node", str(tmp_path / "ajv.js"), str(tmp_path / "schema.json"), str(tmp_path / recipe)]
        environment = {**os.environ, "NODE_PATH": str(folder)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
        assert (done.stdout, done.stderr) == (said, "")


def _ask(server: subprocess.Popen[bytes], number: int, method: str, parameters: dict, settings: dict) -> tuple:
    """The answer to a request, and the diagnostics that were sent before it."""
    assert server.stdin is not None and server.stdout is not None
    problems: list = []

    def send(message: dict) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        server.stdin.flush()

    send({"id": number, "method": method, "params": parameters} if number else {"method": method, "params": parameters})
    while number:
        length = 0
        while line := server.stdout.readline().strip():
            length = int(line.partition(b":")[2]) if line.lower().startswith(b"content-length") else length
        message = json.loads(server.stdout.read(length))
        if message.get("id") == number and "method" not in message:
            return message.get("result"), problems
        if message.get("method") == "textDocument/publishDiagnostics":
            problems = message["params"]["diagnostics"]
        elif "id" in message:
            count = len(message["params"].get("items", ()))
            send({"id": message["id"], "result": [settings] * count})
    return None, problems


def test_yaml_language_server_takes_it_as_it_is(tmp_path):
    (tmp_path / "schema.json").write_text(json.dumps(bundle.bundle("nemo-rl", store.load("0.16.1"))))
    text = (
        "policy:\n  megatron_cfg:\n    recompute_granuarlity: full\n    recompute_modules: [core_attn, gdn_norm_out]\n"
    )
    settings = {"validate": True, "hover": True, "completion": True, "schemaStore": {"enable": False}}
    settings["schemas"] = {str(tmp_path / "schema.json"): ["*.yaml"]}
    program = packages("yaml-language-server@2.0.0") / "yaml-language-server" / "bin" / "yaml-language-server"
    command = ["node", str(program), "--stdio"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        capabilities = {
            "workspace": {"configuration": True},
            "textDocument": {"hover": {"contentFormat": ["markdown"]}},
        }
        start = {"processId": None, "rootUri": None, "capabilities": capabilities}
        _ask(server, 1, "initialize", start, settings)
        _ask(server, 0, "initialized", {}, settings)
        _ask(server, 0, "workspace/didChangeConfiguration", {"settings": {"yaml": settings}}, settings)
        document = {"uri": "file:///tmp/a.yaml", "languageId": "yaml", "version": 1, "text": text}
        _ask(server, 0, "textDocument/didOpen", {"textDocument": document}, settings)
        at = {"textDocument": {"uri": document["uri"]}, "position": {"line": 3, "character": 26}}
        problems: list = []
        for number in range(2, 40):
            shown, sent = _ask(server, number, "textDocument/hover", at, settings)
            problems = sent or problems
            if problems:
                break
            time.sleep(0.2)
        offered, _ = _ask(server, 99, "textDocument/completion", at, settings)
        server.kill()
    assert "Property recompute_granuarlity is not allowed." in [problem["message"] for problem in problems]
    assert "`core_attn`: The core attention of each layer" in shown["contents"]["value"]
    assert shown["contents"]["value"].count("A NeMo-RL recipe") == 1
    documented = {item["label"]: item.get("documentation") for item in offered["items"]}
    assert "gdn_norm_out" not in documented and "shared_experts" in documented


def test_schemastores_catalogue_has_every_schema():
    entries = json.loads((ROOT / "schemas" / "schemastore.json").read_text())["schemas"]
    assert {entry["name"] for entry in entries} == {
        "recompute-lint" if name == bundle.CONFIGURATION else f"recompute-lint {name}" for name in bundle.names()
    }
    for entry in entries:
        assert set(entry) <= {"name", "description", "fileMatch", "url"} and entry["url"].endswith(".json")
