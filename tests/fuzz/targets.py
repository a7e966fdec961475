"""What is fuzzed: each kind of input, how one is made, and what must hold whatever it is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.fix import fixed
from recompute_lint.hooks.options import Configurations, UsageError
from recompute_lint.hooks.report import Report
from recompute_lint.lint_rules import registry
from recompute_lint.schemas.store import UnknownRelease
from tests.fuzz.mutate import ODD, as_bytes, mutated
from tests.fuzz.texts import FLAGS, HEAD


class Wrong(AssertionError):
    """An input did something that none may do."""


class Target(NamedTuple):
    """A kind of input."""

    #: One input, made from random numbers.
    make: Callable[[Random], Any]
    #: Look at an input; raises whatever is wrong.
    check: Callable[[Any], None]


# ---- files that are linted

_LINE = "python t.py {} --tensor-model-parallel-size 2 $ARGS\n"
_SCRIPTS = (
    FLAGS + "\\\n --recompute-method uniform --recompute-num-layers 1\n",
    'A=(--recompute-granularity selective\n  # why\n  --recompute-modules core_attn mlp)\npython t.py "${A[@]}" $B\n',
    "if [ $X = 1 ]; then\n  E='--recompute-method block'\nelse\n  E=\nfi\n"
    + _LINE.format("--recompute-granularity full $E"),
    "case $M in a) F=full;; *) F=selective;; esac\nf() { " + FLAGS.strip() + " ${F:-x}; }\nf\n",
    "cat <<EOF > run.sh\nsrun " + FLAGS + "\nEOF\nbash -c 'python t.py --recompute-granularity ful'\n",
    "for i in 1 2; do python t.py policy.megatron_cfg.recompute_modules=[mlp,moe] '+a.b={c: 1}' ~x.y; done\n",
    "FLAGS = --recompute-granularity full\nall:\n\t@python t.py $(FLAGS) $$X\n",
)
_RECIPES = (
    HEAD,
    HEAD + "    recompute_num_layers: ${l.1}\nl: [1, 2]\nx: {y: '${l.0}'}\n",
    "defaults: base.yaml\n" + HEAD + "    recompute_modules: [mlp, moe_act]\nx: ${policy.precision}\n",
    "defaults:\n  - _self_\n  - actor@a.b: full\nactor:\n  megatron:\n    override_transformer_config:\n"
    "      recompute_granularity: full\n",
    "modules:\n  pre_trainer:\n    framework: megatron\n    config: c.yaml\n    model: m.yaml\n    overrides:\n"
    "      recompute_granularity: ${G:full}\n      recompute_layer_ids: [0, 1]\n",
    "actor_train:\n  strategy_args:\n    strategy_name: megatron_train\n    strategy_config:\n"
    "      recompute_granularity: full\n      recompute_modules: core_attn,mlp\n",
    "model: Qwen\ntuner_type: lora\nrecompute_granularity: none\nrecompute_num_layers: '1'\nrecompute_modules: mlp\n",
    'MODEL_ARGS:\n  --recompute-granularity: selective\n  --recompute-modules: "[layernorm moe_act]"\n',
    "recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 1\nnum_layers: 8\n",
    "actor:\n  training_backend: megatron\n  model:\n    recompute_granularity: full\n"
    "    mcore_customization_config: {x: 1}\n",
    "trainer:\n  gradient_checkpointing: true\n  policy:\n    megatron_config:\n      transformer_config_kwargs:\n"
    "        recompute_granularity: selective\n        recompute_modules: [mlp]\n",
    "models:\n  policy_trainer:\n    recompute_granularity: full\n    recompute_num_layers: 1\n",
    "system:\n  precision: {bf16: true}\n  recompute_granularity: full\n  recompute_num_layers: 1\n"
    "model: {num_layers: 2}\n",
    "megatron_training:\n  recompute-granularity: full\nactor_config:\n  recompute_method: block\n",
    '{"text_decoder": {"model_id": "x", "recompute_granularity": "full", "recompute_num_layers": 1}}\n',
    "trainer:\n  recompute_granularity: ful\n  recompute_modules: [mlp]\n",
)


@lru_cache
def _seeds(ending: str) -> list[str]:
    """Texts of a kind: those above, and every example that a rule has."""
    own = {".yaml": _RECIPES, ".sh": _SCRIPTS}.get(ending, ())
    examples = [
        example.text
        for code in registry.RULES
        for example in (*registry.load(code).VALID, *registry.load(code).INVALID)
        if Path(example.filename).suffix == ending
    ]
    return [*own, *examples]


def _file(ending: str) -> Callable[[Random], tuple[str, bytes]]:
    def make(generator: Random) -> tuple[str, bytes]:
        seeds = _seeds(ending)
        text = generator.choice(seeds)
        if ending == ".yaml" and generator.random() < 0.3:
            text = _tree(generator, 0, "")
        if generator.random() < 0.95:
            text = mutated(generator, text, seeds)
        other = {".sh": "Makefile", ".yaml": "a.json"}.get(ending)
        name = other if other and generator.random() < 0.1 else f"a{ending}"
        return name, as_bytes(generator, text)

    return make


_KEYS = (
    "policy",
    "megatron_cfg",
    "defaults",
    "recompute_granularity",
    "recompute_method",
    "recompute_modules",
    "recompute_num_layers",
    "activation_checkpointing",
    "model_overrides",
    "modules",
    "overrides",
    "framework",
    "strategy_config",
    "strategy_name",
    "megatron",
    "override_transformer_config",
    "MODEL_ARGS",
    "language_model",
    "num_layers",
    "<<",
    "_override_",
    "recompute_layer_ids",
    "model",
)


def _tree(generator: Random, depth: int, indent: str) -> str:
    """A mapping of known keys with odd values."""
    rows = []
    for _ in range(generator.randrange(1, 5)):
        key = generator.choice(_KEYS) if generator.random() < 0.9 else json.dumps(generator.choice(ODD))
        if depth < 4 and generator.random() < 0.5:
            rows.append(f"{indent}{key}:\n{_tree(generator, depth + 1, indent + '  ')}")
        else:
            value = generator.choice(ODD)
            rows.append(f"{indent}{key}: {json.dumps(value) if generator.random() < 0.4 else value}\n")
    return "".join(rows)


def _checked(report: Report) -> Report:
    for diagnostic in report.diagnostics:
        if "please report" in diagnostic.help:
            raise Wrong(f"{diagnostic.message}")
    return report


_LINTERS: dict[str, Linter] = {}


def _lint(given: tuple[str, bytes]) -> None:
    """Lint, fix, and lint again: no fault, and a fix leaves nothing that it could put right."""
    name, data = given
    options = Configurations({"mcore": "0.19.2", "extend_select": ("RCL906",)}, isolated=True)
    linter = _LINTERS.setdefault("", Linter(options))
    linter.forget_files()
    report = _checked(linter.run([name], {name: data}))
    failures: list[str] = []

    def failed(path: str, error: Exception) -> None:
        failures.append(f"the fix of {path} fails: {error!r}")

    for content, _ in fixed(report.diagnostics, report.contents, unsafe=True, failed=failed).values():
        linter.forget_files()
        _checked(linter.run([name], {name: content}))
    if failures:
        raise Wrong(failures[0])
    from recompute_lint.hooks import output

    for format in output.FORMATS:
        text = output.load(format).render(report, color=False)
        if any(character in text for character in "\x1b\0\r\x85\u2028"):
            raise Wrong(f"{format} shows a control character")


# ---- files that say how


@contextlib.contextmanager
def _folder() -> Any:
    """A folder of one's own, for what is read from the disk; the same for all, since making one takes time."""
    here = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"recompute-lint-fuzz-{os.getpid()}")
    os.makedirs(here, exist_ok=True)
    yield here


_TOML = (
    '[tool.recompute-lint]\nselect = ["RCL1"]\nper-file-ignores = {"a/*" = ["RCL2"]}\nmcore = "0.16.1"\n',
    'ignore = ["unknown-module"]\nexclude = ["x", "*.yml"]\nfacts = {num_layers = 32, x = true}\nte = "2.6"\n',
    'extend-validators = ["check"]\nparameter-defaults = true\ndialect = "verl"\nbaseline = "b.json"\nmodel = "m"\n'
    'gpu-memory = "80GB"\n',
)
_BASELINES = (
    '{"version": 1, "findings": {"a.yaml": [{"code": "RCL106", "line": "x: [mlpp]"}]}}',
    '{"version": 1, "findings": {}}',
)
_CONFIGS = (
    '{"num_hidden_layers": 32, "num_experts": 8, "moe_intermediate_size": 10, "n_shared_experts": 1, "mlp_bias": true}',
    '{"text_config": {"num_hidden_layers": 2, "kv_lora_rank": 512, "num_nextn_predict_layers": 1}}',
)


def _text(seeds: tuple[str, ...]) -> Callable[[Random], bytes]:
    def make(generator: Random) -> bytes:
        return as_bytes(generator, mutated(generator, generator.choice(seeds), list(seeds)))

    return make


def _put(name: str, data: bytes) -> str:
    with _folder() as folder:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(data)
        return path


def _toml(data: bytes) -> None:
    for name in ("pyproject.toml", "recompute-lint.toml"):
        with contextlib.suppress(UsageError, UnknownRelease):
            Configurations({}, _put(name, data)).for_file("a.yaml").wants("RCL101", "a/b.yaml")


def _baseline(data: bytes) -> None:
    from recompute_lint.hooks.baseline import Baseline

    with contextlib.suppress(UsageError):
        Baseline(_put("b.json", data)).gone(["a.yaml"], lambda code, path: True)


def _facts(data: bytes) -> None:
    from recompute_lint.sources import facts

    with contextlib.suppress(facts.WrongFacts):
        facts.of_model(facts.config_of(_put("config.json", data)))
    with contextlib.suppress(facts.WrongFacts):
        facts.parse(data.decode("utf-8", "replace"))


_SOURCE = """
from enum import Enum
ALLOWED = {"core_attn", "mlp", "moe"}

class Scope(str, Enum):
    full = "full"

class ModelParallelConfig:
    tensor_model_parallel_size: int = 1
    sequence_parallel: bool = False

class TransformerConfig(ModelParallelConfig):
    num_layers: int = 0
    recompute_granularity: str = None
    recompute_method: str = None
    recompute_num_layers: int = None
    recompute_modules: list = None
    fp8: str = None

    def __post_init__(self):
        super().__post_init__()
        if self.recompute_modules is None:
            self.recompute_modules = ["core_attn"]
        if self.recompute_granularity is not None:
            if self.recompute_granularity not in ["full", "selective"]:
                raise ValueError(f"{self.recompute_granularity} is wrong")
            if self.recompute_method is None and self.recompute_granularity == "full":
                raise ValueError("method")
        if self.recompute_granularity == "selective":
            invalid = set(self.recompute_modules) - ALLOWED
            assert not invalid, "modules"
            for module in self.recompute_modules:
                if module == "moe" and self.fp8 is not None and is_te_min_version("2.6"):
                    raise ValueError("moe")
"""


def _tree_of(generator: Random) -> bytes:
    parts = _SOURCE.split("\n")
    return mutated(generator, _SOURCE, ["\n".join(parts[8:20]), "\n".join(parts[20:])]).encode("utf-8", "replace")


def _derive(data: bytes) -> None:
    from recompute_lint.schemas.contract import Contract
    from recompute_lint.schemas.tree_cache import freshly_derived

    path = _put("tree/megatron/core/transformer/transformer_config.py", data)
    try:
        schema = freshly_derived(path.partition("/megatron/")[0]).schema
    except UnknownRelease as error:
        if "please report" in str(error):
            raise Wrong(str(error)) from error
        return
    contract = Contract("x", schema)
    for granularity in (None, "full", "ful", "selective"):
        contract.violations({**contract.defaults, "recompute_granularity": granularity, "recompute_modules": ["mlpp"]})


# ---- what an editor says

_METHODS = (
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didClose",
    "textDocument/didSave",
    "textDocument/hover",
    "textDocument/codeAction",
    "workspace/didChangeWatchedFiles",
    "nosuch",
    "$/cancelRequest",
)


def _value(generator: Random) -> Any:
    return generator.choice(
        (
            None,
            -1,
            0,
            1,
            2**40,
            1.5,
            True,
            "",
            "x",
            "file:///a.yaml",
            "file:///b.py",
            "untitled:1",
            "\0",
            [],
            {},
            generator.choice(ODD),
        )
    )


def _message(generator: Random) -> dict[str, Any]:
    def maybe(value: Any) -> Any:
        return _value(generator) if generator.random() < 0.1 else value

    def place() -> Any:
        return maybe({"line": maybe(generator.randrange(8)), "character": maybe(generator.randrange(40))})

    uri = maybe(generator.choice(("file:///a.yaml", "file:///b.sh", "file:///c.py", "file:///d.txt")))
    endings = {"file:///b.sh": ".sh", "file:///c.py": ".py"}
    seeds = _seeds(endings.get(uri, ".yaml") if isinstance(uri, str) else ".yaml")
    text = mutated(generator, generator.choice(seeds), seeds).encode("utf-8", "replace").decode()
    change: dict[str, Any] = {"text": maybe(text)}
    if generator.random() < 0.5:
        change["range"] = maybe({"start": place(), "end": place()})
    params: dict[str, Any] = {
        "textDocument": maybe({"uri": uri, "version": maybe(1), "languageId": "x", "text": maybe(text)}),
        "position": place(),
        "range": maybe({"start": place(), "end": place()}),
        "context": maybe({"diagnostics": maybe([])}),
        "contentChanges": maybe([maybe(change)]),
        "changes": maybe([maybe({"uri": uri, "type": maybe(1)})]),
        "id": maybe(1),
    }
    for key in list(params):
        if generator.random() < 0.03:
            del params[key]
    message = {"jsonrpc": "2.0", "method": maybe(generator.choice(_METHODS)), "params": maybe(params)}
    if message["method"] in ("textDocument/hover", "textDocument/codeAction", "nosuch"):
        message["id"] = 1
    return message


def _messages(generator: Random) -> list[dict[str, Any]]:
    return [_message(generator) for _ in range(6)]


class _Sink:
    """Keeps what the server sends."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        body = data.partition(b"\r\n\r\n")[2] or data
        with contextlib.suppress(ValueError):
            self.sent.append(json.loads(body))

    def close(self) -> None:
        """There is nothing to close."""


def _serve(messages: list[dict[str, Any]]) -> None:
    """Every request is answered, and what is published is about a document that is open."""
    asyncio.run(_served(messages))


async def _served(messages: list[dict[str, Any]]) -> None:
    import logging

    from recompute_lint.hooks.server import make

    logging.disable(logging.CRITICAL)
    server = make(lambda: Configurations({"mcore": "0.19.2"}, isolated=True))
    sink = _Sink()
    server.protocol.set_writer(sink)

    def say(message: dict[str, Any]) -> None:
        with contextlib.suppress(Exception):  # which pygls reports to the editor and goes on
            server.protocol.handle_message(
                json.loads(json.dumps(message), object_hook=server.protocol.structure_message)
            )

    say({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}, "processId": None}})
    await asyncio.sleep(0)
    for message in messages:
        before = len(sink.sent)
        say(message)
        for _ in range(4):
            await asyncio.sleep(0)
        if "id" in message and not any(sent.get("id") == 1 for sent in sink.sent[before:]):
            raise Wrong(f"not answered: {json.dumps(message)[:300]}")
    await asyncio.sleep(0.03)
    for sent in sink.sent:
        for found in (sent.get("params") or {}).get("diagnostics", ()) if isinstance(sent.get("params"), dict) else ():
            if "please report" in found["message"]:
                raise Wrong(found["message"])


TARGETS = {
    "yaml": Target(_file(".yaml"), _lint),
    "script": Target(_file(".sh"), _lint),
    "python": Target(_file(".py"), _lint),
    "toml": Target(_text(_TOML), _toml),
    "baseline": Target(_text(_BASELINES), _baseline),
    "facts": Target(_text(_CONFIGS), _facts),
    "source": Target(_tree_of, _derive),
    "editor": Target(_messages, _serve),
}
#: How often each is tried, of a hundred inputs; the slow ones less often.
SHARES = {"yaml": 32, "script": 24, "python": 20, "toml": 8, "baseline": 6, "facts": 6, "source": 2, "editor": 2}


def input_of(kind: str, seed: int, number: int) -> Any:
    """The input of that number."""
    return TARGETS[kind].make(Random(f"{seed} {kind} {number}"))
