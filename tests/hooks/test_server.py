"""The language server, spoken to as an editor does."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, write

HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
TYPO = HEAD + "    recompute_modules: [mlpp]\n"
CHILD = "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    recompute_modules: [mlp]\n"
DEADLINE = 60
START = {"line": 0, "character": 0}


class Editor:
    """A client: sends, and keeps what comes."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "recompute_lint", "server", "--mcore", "0.16.1", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=environment,
        )
        self.received: queue.Queue[dict[str, Any]] = queue.Queue()
        self.told: list[str] = []
        threading.Thread(target=self._receive, daemon=True).start()
        self._number = 0
        self._version = 0
        capabilities = {
            "general": {"positionEncodings": ["utf-16"]},
            "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}},
        }
        self.capabilities = self.ask("initialize", processId=None, rootUri=folder.as_uri(), capabilities=capabilities)
        self.tell("initialized")

    def _receive(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            length = int(header.split(b":")[1])
            while self.process.stdout.readline().strip():
                pass
            message = json.loads(self.process.stdout.read(length))
            if message.get("method") == "window/showMessage":
                self.told.append(message["params"]["message"])
            self.received.put(message)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
        self.process.stdin.flush()

    def tell(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, *, keep: bool = False, **params: Any) -> Any:
        answer = self.answer(method, params, keep=keep)
        assert "error" not in answer, answer
        return answer["result"]

    def answer(self, method: str, params: Any, *, keep: bool = False) -> dict[str, Any]:
        """The answer to a request; what else comes meanwhile is kept or forgotten."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        others = []
        while True:
            message = self.received.get(timeout=DEADLINE)
            if message.get("id") == self._number and "method" not in message:
                for other in others if keep else ():
                    self.received.put(other)
                return message
            others.append(message)

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def found(self, name: str) -> list[dict[str, Any]]:
        """The diagnostics that come for a file next."""
        return self.published(name)["diagnostics"]

    def published(self, name: str) -> dict[str, Any]:
        """What is published for a file next."""
        while True:
            message = self.received.get(timeout=DEADLINE)
            params = message.get("params", {})
            if message.get("method") == "textDocument/publishDiagnostics" and params["uri"] == self.uri(name):
                return params

    def settled(self) -> list[str]:
        """The names of the files for which something is published until the server has nothing more to do."""
        time.sleep(0.8)  # longer than it waits
        self.ask("textDocument/hover", textDocument={"uri": self.uri("nosuch.yaml")}, position=START, keep=True)
        names = []
        while not self.received.empty():
            message = self.received.get()
            if message.get("method") == "textDocument/publishDiagnostics":
                names.append(message["params"]["uri"].rpartition("/")[2])
        return names

    def open(self, name: str, text: str) -> list[dict[str, Any]]:
        document = {"uri": self.uri(name), "languageId": "yaml", "version": 0, "text": text}
        self.tell("textDocument/didOpen", textDocument=document)
        return self.found(name)

    def change(self, name: str, text: str) -> None:
        self._version += 1
        document = {"uri": self.uri(name), "version": self._version}
        self.tell("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])

    def actions(self, name: str, line: int, *only: str) -> list[dict[str, Any]]:
        place = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 99}}
        context = {"diagnostics": [], **({"only": list(only)} if only else {})}
        return self.ask("textDocument/codeAction", textDocument={"uri": self.uri(name)}, range=place, context=context)


@pytest.fixture
def editor(tmp_path) -> Iterator[Editor]:
    write(tmp_path, {"base.yaml": HEAD})
    client = Editor(tmp_path)
    yield client
    client.ask("shutdown")
    client.tell("exit")
    assert client.process.wait(DEADLINE) == 0


def test_a_finding_comes_and_goes(editor):
    (found,) = editor.open("a.yaml", TYPO)
    assert found["code"] == "RCL106"
    assert found["severity"] == 1
    assert found["range"] == {"start": {"line": 4, "character": 24}, "end": {"line": 4, "character": 28}}
    assert found["message"].splitlines()[0] == '"mlpp" is not a recompute module of megatron-core 0.16.1'
    assert 'help: did you mean "mlp"?' in found["message"]
    editor.change("a.yaml", TYPO.replace("mlpp", "mlp"))
    assert editor.found("a.yaml") == []


def test_uris_are_as_the_editor_writes_them(editor):
    assert "%C3%A9%20x.yaml" in editor.uri("é x.yaml")
    assert [found["code"] for found in editor.open("é x.yaml", TYPO)] == ["RCL106"]


def test_columns_count_as_the_editor_counts(editor):
    (found,) = editor.open("a.yaml", TYPO.replace("recompute_modules: [mlpp]", "recompute_modules: [🎉, mlp]"))
    assert found["range"]["start"]["character"] == 24
    assert found["range"]["end"]["character"] == 26


def test_a_parent_that_is_not_saved_counts(editor):
    assert editor.open("child.yaml", CHILD) == []
    assert editor.open("base.yaml", HEAD.replace("selective", "full")) == []
    editor.change("base.yaml", HEAD.replace("selective", "full") + "    recompute_modules: [mlp]\n")
    assert {found["code"] for found in editor.found("base.yaml")} == {"RCL201"}
    editor.change("base.yaml", HEAD)
    assert editor.found("child.yaml") == []


def test_what_is_closed_is_no_longer_reported(editor):
    assert editor.open("a.yaml", TYPO)
    editor.tell("textDocument/didClose", textDocument={"uri": editor.uri("a.yaml")})
    assert editor.found("a.yaml") == []


def test_a_quick_fix(editor):
    editor.open("a.yaml", TYPO)
    action, _ = editor.actions("a.yaml", 4)
    assert action["title"] == 'Write "mlp" (RCL106)'
    assert action["isPreferred"] is False
    place = {"start": {"line": 4, "character": 24}, "end": {"line": 4, "character": 28}}
    assert action["edit"] == {"changes": {editor.uri("a.yaml"): [{"range": place, "newText": "mlp"}]}}
    assert editor.actions("a.yaml", 3) == []
    assert editor.actions("a.yaml", 4, "refactor") == []


def test_a_quick_fix_of_python(editor):
    editor.open("a.py", 'x = getattr(c,  # 🎉\n  "recompute_method", "block")\n')
    action, _ = editor.actions("a.py", 0, "quickfix")
    assert action["title"] == "Read it without a default (RCL301)"
    place = {"start": {"line": 0, "character": 4}, "end": {"line": 1, "character": 30}}
    edit = {"range": place, "newText": "c.recompute_method  # 🎉"}
    assert action["edit"] == {"changes": {editor.uri("a.py"): [edit]}}


def test_all_safe_fixes_at_once(editor):
    editor.open("a.yaml", HEAD + "    recompute_modules: [mlp, mlp, mlp]\n")
    (action,) = editor.actions("a.yaml", 0, "source.fixAll")
    assert action["kind"] == "source.fixAll.recompute-lint"
    (edit,) = action["edit"]["changes"][editor.uri("a.yaml")]
    assert edit["newText"] == HEAD + "    recompute_modules: [mlp]\n"
    assert edit["range"]["end"] == {"line": 5, "character": 0}
    assert [one["kind"] for one in editor.actions("a.yaml", 4, "quickfix")] == ["quickfix"] * 3


def test_an_action_suppresses_a_finding_on_its_line(editor):
    editor.open("a.yaml", TYPO)
    action = editor.actions("a.yaml", 4)[-1]
    assert (action["title"], action["kind"]) == ("Suppress RCL106 on this line", "quickfix")
    (edit,) = action["edit"]["changes"][editor.uri("a.yaml")]
    assert edit["newText"] == "    recompute_modules: [mlpp]  # recompute-lint: disable=RCL106"
    lines = TYPO.splitlines()
    editor.change("a.yaml", "\n".join([*lines[:4], edit["newText"], ""]))
    assert editor.found("a.yaml") == []


def test_an_action_adds_to_the_comment_that_there_is(editor):
    editor.open("a.yaml", TYPO.replace("[mlpp]", "[mlpp]  # recompute-lint: disable=RCL2 since"))
    (edit,) = editor.actions("a.yaml", 4)[-1]["edit"]["changes"][editor.uri("a.yaml")]
    assert edit["newText"] == "    recompute_modules: [mlpp]  # recompute-lint: disable=RCL2,RCL106 since"


def test_no_action_suppresses_where_a_comment_cannot_stand(editor):
    editor.open("a.sh", "python t.py --recompute-granularity fulll \\\n  --x\n")
    assert [action["title"] for action in editor.actions("a.sh", 0) if "Suppress" in action["title"]] == []


def at(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def test_hovering_shows_what_is_in_effect(editor):
    editor.open("child.yaml", CHILD)
    document = {"uri": editor.uri("child.yaml")}
    shown = editor.ask("textDocument/hover", textDocument=document, position=at(3, 8))
    assert 'recompute_granularity  "selective"' in shown["contents"]["value"]
    assert "base.yaml:4" in shown["contents"]["value"]
    assert shown["range"]["start"] == {"line": 3, "character": 4}
    assert editor.ask("textDocument/hover", textDocument=document, position=at(0, 2)) is None


def test_hovering_shows_what_a_word_means_and_what_is_found(editor):
    editor.open("a.yaml", TYPO.replace("[mlpp]", "[mlp, mlpp]"))
    document = {"uri": editor.uri("a.yaml")}
    module = editor.ask("textDocument/hover", textDocument=document, position=at(4, 25))["contents"]["value"]
    assert module.startswith("**mlp**: The MLP of each dense layer.\n\nFrees: ")
    assert "[Source](https://github.com/NVIDIA/Megatron-LM/blob/core_v0.16.1/megatron/core/transformer/" in module
    assert "RCL106" not in module
    wrong = editor.ask("textDocument/hover", textDocument=document, position=at(4, 31))["contents"]["value"]
    assert wrong.startswith("**RCL106 unknown-module**: A name in recompute_modules that the Megatron-Core in use")
    field = editor.ask("textDocument/hover", textDocument=document, position=at(3, 8))["contents"]["value"]
    assert field.startswith("**recompute_granularity**: Whether whole layers are recomputed")


def test_a_finding_links_to_its_rule_and_to_what_is_related(editor):
    text = TYPO.replace("[mlpp]", "[moe_act]") + "    moe_grouped_gemm: false\n"
    (found,) = editor.open("a.yaml", text)
    # a process of its own, in which the project may be published
    assert re.match(r"https://\S+(/NVIDIA/Megatron-LM/blob/core_v|/rules/rcl107/$)", found["codeDescription"]["href"])
    related = {one["message"]: one["location"] for one in found["relatedInformation"]}
    place = related["moe_grouped_gemm is set here"]
    assert (place["uri"], place["range"]["start"]) == (editor.uri("a.yaml"), at(5, 4))


def test_what_is_inherited_is_related(editor):
    write(editor.folder, {"base.yaml": TYPO})
    (found,) = editor.open("child.yaml", "defaults: base.yaml\n")
    related = {one["message"]: one["location"] for one in found["relatedInformation"]}
    assert related["inherited from here"]["uri"] == editor.uri("base.yaml")
    assert related["inherited from here"]["range"]["start"] == at(4, 24)


@pytest.mark.parametrize(
    ("named", "start", "end"),
    [("defaults: base.yaml\n", 10, 19), ('defaults: ["./base.yaml"]\n', 12, 23), ("defaults:\n  - base.yaml\n", 4, 13)],
)
def test_a_parents_name_is_a_link(editor, named, start, end):
    text = named + "policy:\n  megatron_cfg:\n    recompute_granularity: full\n"
    editor.open("child.yaml", text)
    document = {"uri": editor.uri("child.yaml")}
    (link,) = editor.ask("textDocument/documentLink", textDocument=document)
    assert link["target"] == editor.uri("base.yaml")
    line = named.count("\n") - 1
    assert link["range"] == {"start": at(line, start), "end": at(line, end)}
    place = editor.ask("textDocument/definition", textDocument=document, position=at(line, start + 1))
    assert (place["uri"], place["range"]["start"]) == (editor.uri("base.yaml"), at(0, 0))
    setting = editor.ask("textDocument/definition", textDocument=document, position=at(line + 3, 8))
    assert (setting["uri"], setting["range"]["start"]) == (editor.uri("base.yaml"), at(3, 4))
    assert editor.ask("textDocument/definition", textDocument=document, position=at(line + 1, 2)) is None


@pytest.mark.parametrize(
    ("name", "text", "line", "character", "offered"),
    [
        ("a.yaml", HEAD + "    recompute_modules: [core_attn, ]\n", 4, 35, {"mlp", "shared_experts"}),
        ("a.yaml", HEAD + "    recompute_modules:\n      - \n", 5, 8, {"core_attn", "mlp"}),
        ("a.yaml", HEAD.replace("selective", ""), 3, 27, {"full", "selective"}),
        ("a.sh", "python t.py --recompute-modules moe_ --x\n", 0, 36, {"moe_act"}),
        ("a.sh", "python t.py --recompute-method \n", 0, 31, {"uniform", "block"}),
        ("a.yaml", "a:\n  - \n", 1, 4, None),
        ("a.yaml", "policy: \n", 0, 8, None),
    ],
)
def test_modules_and_values_are_completed(editor, name, text, line, character, offered):
    editor.open(name, text)
    document = {"uri": editor.uri(name)}
    items = editor.ask("textDocument/completion", textDocument=document, position=at(line, character))
    by_name = {item["label"]: item for item in items}
    assert (offered or set()) <= by_name.keys() and bool(by_name) == bool(offered)
    assert "gdn_norm_out" not in by_name, "which 0.16.1 does not have"
    assert all(item["documentation"]["value"] and item["detail"] for item in items)
    if "core_attn," in text:
        assert "core_attn" not in by_name


def test_a_document_that_is_no_file_yet(editor):
    for language, text, code in (
        ("yaml", TYPO, "RCL106"),
        ("python", 'x = c.get("recompute_method", "block")\n', "RCL301"),
    ):
        uri = f"untitled:Untitled-{language}"
        document = {"uri": uri, "languageId": language, "version": 0, "text": text}
        editor.tell("textDocument/didOpen", textDocument=document)
        while (message := editor.received.get(timeout=DEADLINE)).get("params", {}).get("uri") != uri:
            pass
        assert [found["code"] for found in message["params"]["diagnostics"]] == [code]
        place = {"start": at(0, 0), "end": at(9, 0)}
        context = {"diagnostics": []}
        actions = editor.ask("textDocument/codeAction", textDocument={"uri": uri}, range=place, context=context)
        assert {uri} == {changed for action in actions for changed in action["edit"]["changes"]}


def test_other_files_and_broken_ones_are_no_trouble(editor):
    assert [found["code"] for found in editor.open("broken.yaml", "megatron_cfg: [\n")] == ["RCL901"]
    document = {"uri": editor.uri("notes.txt"), "languageId": "text", "version": 0, "text": TYPO}
    editor.tell("textDocument/didOpen", textDocument=document)
    assert editor.actions("notes.txt", 4) == []


def test_a_wrong_configuration_is_told_once(tmp_path):
    write(tmp_path, {"recompute-lint.toml": "nonsense = 1\n"})
    client = Editor(tmp_path)
    assert client.open("a.yaml", TYPO) == []
    client.change("a.yaml", TYPO)
    client.ask("shutdown")
    (told,) = client.told
    assert told.startswith("recompute-lint: ") and "unknown key nonsense" in told
    client.tell("exit")
    assert client.process.wait(DEADLINE) == 0


def test_options_are_checked_before_it_serves(command):
    result = command("server", "--select", "RCL777")
    assert result.code == 2 and "RCL777" in result.err


def test_without_its_extra_it_says_so(command, monkeypatch):
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    monkeypatch.delitem(sys.modules, "recompute_lint.hooks.server", raising=False)
    result = command("server")
    assert result.code == 2 and "needs the extra lsp: pip install '.[lsp]'" in result.err


def test_what_is_published_has_the_version_that_it_is_of(editor):
    editor.open("a.yaml", TYPO)
    for number in (1, 2):
        editor.change("a.yaml", TYPO + "\n" * number)
        assert editor.published("a.yaml")["version"] == number


@pytest.mark.parametrize(
    "text",
    [
        'defaults: "a\\0b.yaml"\n' + HEAD,
        HEAD + "    recompute_method: ${mul:aaaaaaaa,1000000000000}\n",
        "defaults: " + "../" * 3000 + "x.yaml\n" + HEAD,
        HEAD + "x: " + "[" * 900 + "]" * 900,
        HEAD + "x: [" + "a," * 250_000 + "]",
    ],
)
def test_a_document_that_is_too_much_silences_no_other(editor, text):
    editor.open("bad.yaml", text)
    assert [found["code"] for found in editor.open("a.yaml", TYPO)] == ["RCL106"]


def test_a_fault_of_ours_silences_that_document_alone(tmp_path):
    """Whatever raises in a reader or a rule."""
    from recompute_lint.hooks.open_documents import OpenDocuments
    from recompute_lint.hooks.options import Configurations

    documents = OpenDocuments(lambda: Configurations({"mcore": "0.16.1"}, isolated=True))
    documents.put(str(tmp_path / "a.yaml"), TYPO.encode())
    documents.put(str(tmp_path / "bad.yaml"), HEAD.encode())
    real = documents.linter

    def linter():
        made = real()
        look = made._look
        made._look = lambda path, data: 1 / 0 if "bad" in path else look(path, data)
        return made

    documents.linter = linter
    found, _ = documents.lint()
    assert [diagnostic.code for diagnostic in found[str(tmp_path / "a.yaml")]] == ["RCL106"]
    (diagnostic,) = found[str(tmp_path / "bad.yaml")]
    assert diagnostic.code == "RCL904" and "ZeroDivisionError" in diagnostic.message
    assert diagnostic.help == "please report this, with the file"


def test_only_what_depends_on_a_change_is_linted_again(editor):
    editor.open("base.yaml", HEAD)
    editor.open("child.yaml", CHILD)
    editor.open("grandchild.yaml", "defaults: child.yaml\n")
    editor.open("other.yaml", HEAD)
    editor.settled()
    editor.change("base.yaml", HEAD + "\n")
    assert sorted(editor.settled()) == ["base.yaml", "child.yaml", "grandchild.yaml"]
    editor.change("other.yaml", HEAD + "\n")
    assert editor.settled() == ["other.yaml"]


def test_many_changes_are_linted_together(editor):
    editor.open("a.yaml", TYPO)
    editor.settled()
    for number in range(1000):
        editor.change("a.yaml", TYPO + "\n" * (number % 7))
    editor.change("a.yaml", HEAD)
    assert 0 < len(editor.settled()) < 40


def test_a_parent_that_changes_outside_is_noticed(editor):
    registered = editor.received.get(timeout=DEADLINE)
    assert registered["method"] == "client/registerCapability"
    assert registered["params"]["registrations"][0]["method"] == "workspace/didChangeWatchedFiles"
    assert editor.open("child.yaml", CHILD) == []
    (editor.folder / "base.yaml").write_text(HEAD.replace("selective", "full"))
    changes = [{"uri": editor.uri("base.yaml"), "type": 2}]
    editor.tell("workspace/didChangeWatchedFiles", changes=changes)
    assert [found["code"] for found in editor.found("child.yaml")] == ["RCL201"]
    (editor.folder / "recompute-lint.toml").write_text('ignore = ["RCL201"]\n')
    editor.tell("workspace/didChangeWatchedFiles", changes=changes)
    assert editor.found("child.yaml") == []


@pytest.mark.parametrize("method", ["textDocument/hover", "textDocument/codeAction", "nosuch/method"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        [],
        None,
        {"textDocument": 1},
        {"textDocument": {"uri": "x"}, "position": {"line": -1, "character": -1}},
        {"textDocument": {"uri": "untitled:1"}, "position": {"line": 10**12, "character": 10**12}},
    ],
)
def test_a_bad_request_is_answered(editor, method, params):
    answer = editor.answer(method, params)
    assert "error" in answer or answer["result"] in (None, [])
    assert [found["code"] for found in editor.open("a.yaml", TYPO)] == ["RCL106"]


@pytest.mark.parametrize("line", [-1, 10**6])
def test_a_place_that_is_none(editor, line):
    editor.open("a.yaml", TYPO)
    place = {"line": line, "character": line}
    answer = editor.answer("textDocument/hover", {"textDocument": {"uri": editor.uri("a.yaml")}, "position": place})
    assert "error" in answer or answer["result"] is None


def test_more_documents_than_parents_are_kept(editor):
    """A parent that is open and not saved counts, however many documents are open besides."""
    editor.open("base.yaml", HEAD.replace("selective", "full"))
    for number in range(140):
        editor.open(f"{number}.yaml", HEAD)
    assert [found["code"] for found in editor.open("child.yaml", CHILD)] == ["RCL201"]
