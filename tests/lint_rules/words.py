"""Record what the rules say: ``python -m tests.lint_rules.words`` writes ``words.txt`` anew, to be reviewed as a diff.

Each entry is the finding of a rule in one of its own examples: place with columns, message, note, help and fix.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from recompute_lint.hooks import memory
from recompute_lint.hooks.diagnostics import Diagnostic
from recompute_lint.hooks.engine import Linter
from recompute_lint.hooks.fix import resolved
from recompute_lint.hooks.options import Configurations
from recompute_lint.lint_rules.finding import Example
from recompute_lint.lint_rules.rcl210_does_not_fit import Verdict
from recompute_lint.lint_rules.registry import RULES, load
from tests.lint_rules import framework_texts

RECORD = Path(__file__).with_name("words.txt")

_FLAT = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"
_NEMO_RL = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"

#: The files of examples that are not one text, by rule; the first is linted. None is a file that is not there.
FILES: dict[str, list[dict[str, bytes | None]]] = {
    "RCL904": [
        {"recipe.yaml": b"recompute_granularity: \xff\xfe\n"},
        {"a.py": b"# \xff\nx = cfg.get('recompute_granularity', 'full')\n"},
        {"gone.yaml": None},
    ],
}

#: Further texts, for what the examples of a rule do not make it say.
TEXTS: dict[str, list[Example]] = {
    "RCL101": [
        Example(f"{_FLAT}recompute_granularity: moe\n", options={"mcore": "0.16.1"}),
        Example(f"{_FLAT}recompute_granularity: none\n", options={"mcore": "0.16.1"}),
    ],
    "RCL105": [
        Example(
            "actor:\n  path: x\n  gradient_checkpointing: true\n  megatron:\n    recompute_granularity: selective\n"
        ),
        Example("model:\n  activations_checkpoint_granularity: selective\n  activations_checkpoint_num_layers: 1\n"),
    ],
    "RCL106": [
        Example(
            f"{_NEMO_RL}    recompute_granularity: selective\n    recompute_modules: [shared_experts]\n",
            options={"mcore": "0.13.1"},
        ),
    ],
    "RCL107": [
        Example(
            f"{_FLAT}recompute_granularity: selective\nrecompute_modules: [layernorm]\nfp8: hybrid\n"
            "fp8_recipe: tensorwise\n",
            options={"mcore": "0.16.1", "te": "2.5.0"},
        )
    ],
    "RCL108": [
        Example(
            f"{_FLAT}recompute_granularity: selective\nrecompute_modules: [core_attn]\ncuda_graph_impl: local\n",
            options={"mcore": "0.16.1"},
        ),
        Example(f"{_FLAT}recompute_granularity: selective\ncuda_graph_impl: local\n", options={"mcore": "0.16.1"}),
        Example(
            f"{_FLAT}num_moe_experts: 8\nrecompute_granularity: selective\nrecompute_modules: [moe]\n"
            "fine_grained_activation_offloading: true\noffload_modules: [core_attn, expert_fc1]\n",
            options={"mcore": "0.19.2"},
        ),
        Example(
            f"{_FLAT}recompute_granularity: selective\nmoe_layer_recompute: true\nnum_moe_experts: 8\n"
            "overlap_moe_expert_parallel_comm: true\n",
            options={"mcore": "0.19.2"},
        ),
    ],
    "RCL109": [
        Example(
            f"{_FLAT}recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 1\n"
            "moe_layer_recompute: true\n",
            options={"mcore": "0.16.1"},
        ),
        Example(
            f"{_NEMO_RL}    model_overrides:\n      overlap_moe_expert_parallel_comm: true\n",
            options={"mcore": "0.16.1"},
        ),
        Example(
            "python pretrain_gpt.py --num-layers 4 --recompute-activations --cpu-offloading-num-layers 2\n",
            filename="train.sh",
            options={"mcore": "0.16.1"},
        ),
    ],
    "RCL111": [
        Example(
            "modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n      num_layers: 4\n"
            "      recompute_granularity: full\n      recompute_method: block\n      recompute_layer_ids: [0, 7]\n"
        ),
        Example(
            "modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n"
            "      recompute_granularity: selective\n      recompute_layer_ids: []\n"
        ),
        Example(
            "python pretrain_gpt.py --num-layers 4 --recompute-granularity full --recompute-method uniform "
            "--recompute-num-layers 1 --distribute-saved-activations\n",
            filename="train.sh",
        ),
    ],
    "RCL112": [
        Example(
            f"{_FLAT}recompute_granularity: full\nrecompute_method: block\nrecompute_num_layers: 1\n"
            "mtp_num_layers: 1\n",
            options={"mcore": "0.15.3"},
        ),
        Example(
            f"{_FLAT}recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 1\n"
            "mtp_num_layers: 1\nsft: true\n",
            options={"mcore": "0.17.0"},
        ),
        Example(
            "num_layers: 10\nhidden_size: 64\nnum_attention_heads: 4\nrecompute_granularity: full\n"
            "recompute_method: uniform\nrecompute_num_layers: 2\npipeline_model_parallel_size: 2\n",
            options={"mcore": "0.16.1"},
        ),
        Example(
            "num_layers: 10\nhidden_size: 64\nnum_attention_heads: 4\nrecompute_granularity: full\n"
            "recompute_method: uniform\nrecompute_num_layers: 2\npipeline_model_parallel_size: 3\n"
            "num_layers_in_first_pipeline_stage: 2\nnum_layers_in_last_pipeline_stage: 5\n",
            options={"mcore": "0.16.1"},
        ),
    ],
    "RCL201": [
        Example(
            f"{_FLAT}recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 1\n"
            "recompute_modules: [layernorm]\n"
        )
    ],
    "RCL202": [
        Example(
            "actor:\n  path: x\n  gradient_checkpointing: false\n  megatron:\n    recompute_granularity: selective\n"
        )
    ],
    "RCL203": [
        Example(
            f"{_FLAT}add_bias_linear: false\nnum_moe_experts: 8\nrecompute_granularity: selective\n"
            "recompute_modules: [shared_experts]\n",
            options={"mcore": "0.16.1"},
        )
    ],
    "RCL206": [
        Example(f"{_FLAT}recompute_granularity: selective\nrecompute_modulse: [moe]\n"),
        Example(
            "python pretrain_gpt.py --num-layers 4 --recompute-granularty selective --recompute-num-layers 1\n",
            filename="train.sh",
        ),
    ],
    "RCL301": [Example(f'x = cfg.get("recompute_method", {name})\n', filename="a.py") for name in ("f" * 40, "f" * 41)],
    "RCL209": [
        Example(f"{_FLAT}recompute_num_layers: 1\n"),
        Example(f"{_FLAT}recompute_method: null\nrecompute_num_layers: 1\n"),
    ],
    "RCL303": [
        Example('ALLOWED_RECOMPUTE_MODULES = ("core_attn", "moe_act", "attention")\n', filename="a.py"),
        Example(
            '# Valid options for recompute_modules: ["core_attn", "moe", "mlpp"].\nmodules = None\n',
            filename="a.py",
            options={"mcore": "0.12.3"},
        ),
    ],
}


_BASIS = "predicted with megatron-core 0.16.1 and transformer-engine 2.10.0 on 8 GPUs"

#: What is predicted of a recipe, for the rule that runs a model.
VERDICTS = [
    Verdict(10**11, 80 * 10**9, "selective [mlp]", 77 * 10**9, True, ("recompute_modules: [mlp]",), _BASIS),
    Verdict(10**12, 80 * 10**9, "full uniform 1", 90 * 10**9, False, ("recompute_granularity: full",), _BASIS),
]


def entries() -> Iterator[tuple[str, str]]:
    """For each example, what it is called and the whole of what is said about it."""
    for code in RULES:
        examples = [*load(code).INVALID, *TEXTS.get(code, ()), *framework_texts.TEXTS.get(code, ())]
        for index, example in enumerate(examples):
            texts = {example.filename: example.text, **example.beside}
            files = {name: text.encode() for name, text in texts.items()}
            yield f"{code} {index}", _said(code, files, dict(example.options))
        for index, files in enumerate(FILES.get(code, ()), len(examples)):
            yield f"{code} {index}", _said(code, files, {})
        if code == memory.RULE:
            for index, verdict in enumerate(VERDICTS):
                yield f"{code} {index}", _said_of(verdict)


def _said(code: str, files: Mapping[str, bytes | None], options: dict[str, object]) -> str:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            if content is not None:
                Path(folder, name).write_bytes(content)
        os.chdir(folder)
        try:
            linter = Linter(Configurations({"mcore": "0.16.1", **options}, isolated=True), predicts=True)
            found = linter.run([next(iter(files))]).diagnostics
        finally:
            os.chdir(before)
    texts = {name: (content or b"").decode("utf-8", "replace") for name, content in files.items()}
    return "".join(_block(diagnostic, texts) for diagnostic in found if diagnostic.code == code)


def _said_of(verdict: Verdict) -> str:
    check = memory.check
    memory.check = lambda site, options: load(memory.RULE).report(site, verdict)
    try:
        return _said(memory.RULE, {"recipe.yaml": _NEMO_RL.encode()}, {"gpu_memory": "80GB"})
    finally:
        memory.check = check


def _block(diagnostic: Diagnostic, texts: dict[str, str]) -> str:
    span = diagnostic.span
    place = f"{span.path}:{span.line}:{span.column}-{span.end_line}:{span.end_column}"
    rows = [f"{place} {diagnostic.severity}: {diagnostic.message}"]
    rows += [f"  note: {diagnostic.note}"] if diagnostic.note else []
    rows += [f"  help: {diagnostic.help}"] if diagnostic.help else []
    fix = diagnostic.fix and resolved(diagnostic.fix, texts[span.path])
    if fix:
        rows.append(f"  fix: {fix.message} ({'safe' if fix.safe else 'unsafe'})")
        for edit in fix.edits:
            at = f"{edit.span.line}:{edit.span.column}-{edit.span.end_line}:{edit.span.end_column}"
            rows.append(f"    {at} {edit.text!r}")
    return "\n".join(rows) + "\n"


def text() -> str:
    """The whole record."""
    return "\n".join(f"{name}\n{said}" for name, said in entries())


if __name__ == "__main__":
    RECORD.write_text(text(), encoding="utf-8")
