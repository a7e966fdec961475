"""Run every kind of recomputation in every kind of small model, and compare with what the linter says.

``python tools/smoke_matrix.py RELEASE`` needs what ``scripts/test`` installs, and the release's source where
``update_contracts.py --download-only`` puts it. A configuration that fails while training, and that the linter has
nothing to say of, is printed, and so is one that passes where the linter reports an error. Takes ten to thirty minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "recompute-lint" / "megatron-core"

DENSE: dict[str, object] = {
    "num_layers": 8,
    "hidden_size": 256,
    "num_attention_heads": 8,
    "num_query_groups": 4,
    "add_bias_linear": False,
    "gated_linear_unit": True,
    "activation_func": "silu",
    "normalization": "RMSNorm",
}
EXPERTS: dict[str, object] = {
    "num_moe_experts": 8,
    "moe_router_topk": 2,
    "moe_ffn_hidden_size": 128,
    "moe_token_dispatcher_type": "alltoall",
}
LATENT: dict[str, object] = {
    "num_query_groups": None,
    "multi_latent_attention": True,
    "q_lora_rank": 128,
    "kv_lora_rank": 64,
    "qk_head_dim": 32,
    "qk_pos_emb_head_dim": 16,
    "v_head_dim": 32,
}
BIASES = {"add_bias_linear": True, "gated_linear_unit": False, "activation_func": "gelu", "normalization": "LayerNorm"}
MODELS: dict[str, dict[str, object]] = {
    "dense": DENSE,
    "experts": {**DENSE, **EXPERTS},
    "shared-experts": {**DENSE, **EXPERTS, "moe_shared_expert_intermediate_size": 128},
    "grouped": {**DENSE, **EXPERTS, "moe_grouped_gemm": True, "bf16": True},
    "first-dense": {**DENSE, **EXPERTS, "moe_layer_freq": [0, 1, 1, 1, 1, 1, 1, 1]},
    "latent": {**DENSE, **LATENT},
    "latent-experts": {**DENSE, **LATENT, **EXPERTS},
    "biases": {**DENSE, **BIASES},
    "qk-norm": {**DENSE, "qk_layernorm": True},
    "dense-mtp": {**DENSE, "mtp_num_layers": 1},
    "experts-mtp": {**DENSE, **EXPERTS, "mtp_num_layers": 1},
    "latent-mtp": {**DENSE, **LATENT, "mtp_num_layers": 1},
}
LISTS = (
    *(["core_attn"], ["moe_act"], ["layernorm"], ["mla_up_proj"], ["mlp"], ["moe"], ["shared_experts"]),
    *(["moe", "layernorm"], ["mlp", "layernorm", "core_attn"], ["moe_act", "moe"]),
)
FULL = (("uniform", 1), ("uniform", 4), ("block", 1), ("block", 8))


def configurations() -> dict[str, dict[str, object]]:
    """Every model with every kind of recomputation, by name."""
    found = {}
    for name, model in MODELS.items():
        settings = {field: value for field, value in model.items() if value is not None}
        for method, layers in FULL:
            full = {"recompute_granularity": "full", "recompute_method": method, "recompute_num_layers": layers}
            found[f"{name}--full-{method}-{layers}"] = {**settings, **full}
        for modules in LISTS:
            selective = {"recompute_granularity": "selective", "recompute_modules": modules}
            found[f"{name}--{'-'.join(modules)}"] = {**settings, **selective}
    return found


def _run(*arguments: str) -> dict | list:
    command = [sys.executable, "-m", "recompute_lint", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False).stdout)


def main() -> int:
    """Compare; exit 1 where the two disagree."""
    release = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for name, settings in configurations().items():
            Path(folder, f"{name}.yaml").write_text(json.dumps(settings, indent=1))
        said: dict[str, set[str]] = {}
        for entry in _run("check", "--isolated", "--mcore", release, "--output-format", "json", folder):
            said.setdefault(Path(entry["filename"]).stem, set()).add(f"{entry['code']} {entry['severity']}")
        limits = ("--timeout", "60", "--memory-limit", "2", "--mcore", str(CACHE / release))
        results = _run("smoke", "--isolated", *limits, "--output-format", "json", folder)["sites"]  # type: ignore[call-overload]
    disagree = 0
    for result in results:
        name = Path(result["site"].rpartition(":")[0]).stem
        verdict, codes = result["verdict"], said.get(name, set())
        failed = verdict not in ("pass", "not-run")
        if (failed and not codes) or (verdict == "pass" and any(code.endswith("error") for code in codes)):
            disagree += 1
            print(f"{name}: {verdict}, {result.get('reason')}; the linter says {', '.join(sorted(codes)) or 'nothing'}")
    print(f"{release}: {dict(Counter(result['verdict'] for result in results))}, {disagree} disagree")
    return 1 if disagree else 0


if __name__ == "__main__":
    sys.exit(main())
