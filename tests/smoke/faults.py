"""Faults in recomputation, planted into Megatron-Core 0.16.1 one after another; each must be found.

Run as a script, in a process of its own, with the release first on the path: it prints what smoke finds for each fault,
and for the same configurations without any, as JSON. The text of a module is changed, compiled, and its functions are
given the code of the changed ones, so that Megatron-Core is imported once for all of them.
"""

import importlib
import inspect
import json
import sys
import types
from pathlib import Path
from typing import NamedTuple

from recompute_lint.smoke import sizes
from recompute_lint.smoke.request import SmokeOptions, SmokeSite

from .conftest import DENSE, MLA, MOE, full, selective

BF16 = {"bf16": True}
DROPOUT = {"hidden_dropout": 0.1, "attention_dropout": 0.1}
NO_DROPOUT = {"hidden_dropout": 0.0, "attention_dropout": 0.0}
GROUPED = {**MOE, **BF16, "moe_grouped_gemm": True}
SHARED = {**MOE, "moe_shared_expert_intermediate_size": 1024}
MIXED = {**MOE, "moe_layer_freq": [0, *[1] * 7]}
MTP = {**DENSE, "mtp_num_layers": 1}

RANDOM = "tensor_parallel.random"
LAYER = "transformer.transformer_layer"
BLOCK = "transformer.transformer_block"
ATTENTION = "transformer.attention"
LATENT = "transformer.multi_latent_attention"
EXPERTS = "transformer.moe.experts"
MOE_LAYER = "transformer.moe.moe_layer"
MTP_LAYER = "transformer.multi_token_prediction"

IN_BACKWARD = "outputs = ctx.run_function(*detached_inputs)"
NEVER = "if False:"


class Fault(NamedTuple):
    """A mistake, and a configuration that it makes wrong.

    Attributes:
        module: of Megatron-Core.
        old: the text that is replaced, wherever it stands in the module.
        new: by what.
        settings: the recipe's.
        verdict: what smoke must say.
        reason: words of the reason.
    """

    module: str
    old: str
    new: str
    settings: dict
    verdict: str
    reason: str


def nothing(module, old, settings, what):
    """A switch that is never on."""
    return Fault(module, old, NEVER, settings, "not-engaged", f"{what} is not recomputed")


WALK = "layer_idx < self.config.recompute_num_layers + recompute_skip_num_layers"
CORE_ON = "if self.checkpoint_core_attention and self.training:"
CORE_INPUTS = "            attn_mask_type = AttnMaskType(attn_mask_type.item())"
PRE_MLP_ON = "if self.recompute_pre_mlp_layernorm:"
DISCARD = "output.untyped_storage().resize_(0)"
KEEP = "        # Store everything.\n        ctx.save_for_backward(*args)"

FAULTS = {
    "nothing: core_attn": nothing(ATTENTION, CORE_ON, {**DENSE, **selective("core_attn")}, "core_attn of layer 1"),
    "nothing: moe_act": Fault(
        EXPERTS, "if self.activation_recompute:", NEVER, {**GROUPED, **selective("moe_act")}, "not-engaged", "moe_act"
    ),
    "nothing: layernorm": Fault(
        LAYER,
        "if not isinstance(self.input_layernorm, IdentityOp):",
        "if False:",
        {**DENSE, **selective("layernorm")},
        "not-engaged",
        "layernorm of layer 1 is not recomputed",
    ),
    "nothing: mla_up_proj": nothing(
        LATENT, "if self.recompute_up_proj:", {**MLA, **selective("mla_up_proj")}, "mla_up_proj of layer 1"
    ),
    "nothing: mlp": nothing(LAYER, "if self.recompute_mlp:", {**DENSE, **selective("mlp")}, "mlp of layer 1"),
    "nothing: moe": nothing(MOE_LAYER, "if self.moe_layer_recompute:", {**MOE, **selective("moe")}, "moe of layer 1"),
    "nothing: shared_experts": nothing(
        MOE_LAYER,
        "if self.shared_experts_recompute:",
        {**SHARED, **selective("shared_experts")},
        "shared_experts of layer 1",
    ),
    "nothing: full": nothing(
        BLOCK,
        "if self.config.recompute_granularity == 'full' and self.training:",
        {**DENSE, **full("uniform", 1)},
        "layer 1",
    ),
    "the mask is dropped": Fault(
        BLOCK,
        "                            attention_mask=attention_mask,\n                            context=context,",
        "                            attention_mask=attention_mask ^ torch.is_grad_enabled(),\n"
        "                            context=context,",
        {**DENSE, **NO_DROPOUT, **full("uniform", 1)},
        "differed",
        "loss ",
    ),
    "MTP is given another input": Fault(
        RANDOM,
        IN_BACKWARD,
        "outputs = ctx.run_function(*(t * 1.001 if torch.is_tensor(t) and t.is_floating_point() else t "
        "for t in detached_inputs))",
        {**MTP, **NO_DROPOUT, **full("uniform", 1)},
        "differed",
        "gradient of ",
    ),
    "the random state is not restored": Fault(
        RANDOM,
        "_set_all_rng_states(*ctx.rng_states)",
        "pass",
        {**DENSE, **DROPOUT, **full("uniform", 1)},
        "differed",
        "gradient of ",
    ),
    "parameters get their gradients twice": Fault(
        RANDOM,
        "        torch.autograd.backward(outputs, args)\n        grads = tuple(inp.grad if",
        "        torch.autograd.backward(outputs, args, retain_graph=True)\n"
        "        kept = [getattr(i, 'grad', None) for i in detached_inputs]\n"
        "        kept = [None if grad is None else grad.clone() for grad in kept]\n"
        "        torch.autograd.backward(outputs, args)\n"
        "        for inp, grad in zip(detached_inputs, kept):\n"
        "            if grad is not None:\n"
        "                inp.grad = grad\n"
        "        grads = tuple(inp.grad if",
        {**DENSE, **NO_DROPOUT, **full("uniform", 1)},
        "differed",
        "gradient of ",
    ),
    "recomputed twice": Fault(
        RANDOM,
        IN_BACKWARD,
        f"ctx.run_function(*detached_inputs)\n                {IN_BACKWARD}",
        {**DENSE, **NO_DROPOUT, **full("uniform", 1)},
        "not-engaged",
        "layer 1 runs 3 times in a step, where 2 are due",
    ),
    "query 1 % off": Fault(
        ATTENTION,
        CORE_INPUTS,
        f"{CORE_INPUTS}\n            query = query * (1.01 if torch.is_grad_enabled() else 1)",
        {**DENSE, **BF16, **NO_DROPOUT, **selective("core_attn")},
        "differed",
        "gradient of ",
    ),
    "key 1 % off in latent attention": Fault(
        LATENT,
        "            return query, key, value\n\n        if self.recompute_up_proj:",
        "            return query, key * (1.01 if torch.is_grad_enabled() else 1), value\n\n"
        "        if self.recompute_up_proj:",
        {**MLA, **BF16, **NO_DROPOUT, **selective("mla_up_proj")},
        "differed",
        "loss ",
    ),
    "the gradients of inputs 1 % off": Fault(
        RANDOM,
        "grads = tuple(inp.grad if isinstance(inp, torch.Tensor) else inp for inp in detached_inputs)",
        "grads = tuple(inp.grad * 1.01 if isinstance(inp, torch.Tensor) and inp.grad is not None else None "
        "for inp in detached_inputs)",
        {**DENSE, **BF16, **NO_DROPOUT, **full("uniform", 1)},
        "differed",
        "gradient of ",
    ),
    "block: one layer too few": Fault(
        BLOCK, WALK, f"{WALK} - 1", {**DENSE, **full("block", 4)}, "not-engaged", "layer 2 is not recomputed"
    ),
    "core_attn: only in layer 1": Fault(
        ATTENTION,
        CORE_ON,
        "if self.checkpoint_core_attention and self.training and self.layer_number == 1:",
        {**DENSE, **selective("core_attn")},
        "not-engaged",
        "core_attn of layer 2 is not recomputed",
    ),
    "moe_act: probabilities 1 % off": Fault(
        EXPERTS,
        "res = self.activation_func(x) * probs",
        "res = self.activation_func(x) * probs * (1.01 if torch.is_grad_enabled() else 1)",
        {**GROUPED, **NO_DROPOUT, **selective("moe_act")},
        "differed",
        "loss ",
    ),
    "layernorm: only the input's": nothing(
        LAYER, PRE_MLP_ON, {**DENSE, **selective("layernorm")}, "layernorm of layer 1"
    ),
    "layernorm: not in MoE layers": Fault(
        LAYER,
        PRE_MLP_ON,
        "if self.recompute_pre_mlp_layernorm and not self.is_moe_layer:",
        {**MIXED, **selective("layernorm")},
        "not-engaged",
        "layernorm of layer 2 is not recomputed",
    ),
    "layernorm: the output is not discarded": Fault(
        RANDOM,
        DISCARD,
        "pass",
        {**DENSE, **selective("layernorm")},
        "not-engaged",
        "input_layernorm is recomputed, and ",
    ),
    "moe_act: the output is not discarded": Fault(
        RANDOM, DISCARD, "pass", {**GROUPED, **selective("moe_act")}, "not-engaged", "experts is recomputed, and "
    ),
    "mla_up_proj: the output is not discarded": Fault(
        RANDOM,
        DISCARD,
        "pass",
        {**MLA, **selective("mla_up_proj")},
        "not-engaged",
        "self_attention is recomputed, and ",
    ),
    "uniform: only the first chunk": Fault(
        BLOCK,
        "                hidden_states, context = checkpoint_handler(\n"
        "                    custom(layer_idx, layer_idx + self.config.recompute_num_layers)\n"
        "                )",
        "                run = custom(layer_idx, layer_idx + self.config.recompute_num_layers)\n"
        "                if layer_idx == 0:\n"
        "                    hidden_states, context = checkpoint_handler(run)\n"
        "                else:\n"
        "                    hidden_states, context = run(\n"
        "                        hidden_states, attention_mask, context, context_mask, rotary_pos_emb\n"
        "                    )",
        {**DENSE, **full("uniform", 1)},
        "not-engaged",
        "layer 2 is not recomputed; layer 3 is not recomputed",
    ),
    "block: only layer 1": Fault(
        BLOCK, WALK, "layer_idx == 0", {**DENSE, **full("block", 4)}, "not-engaged", "layer 2 is not recomputed"
    ),
    "MTP is not recomputed": Fault(
        MTP_LAYER,
        "if self.config.recompute_granularity == 'full' and self.training:",
        NEVER,
        {**MTP, **full("uniform", 1)},
        "not-engaged",
        "the MTP layer is not recomputed",
    ),
    "a leak in a module": Fault(
        LAYER,
        "        if self.recompute_mlp:\n",
        "        if self.recompute_mlp:\n            self.leak = pre_mlp_layernorm_output.detach().clone()\n",
        {**DENSE, **selective("mlp")},
        "not-engaged",
        "held by the model after a pass",
    ),
    "a leak in the context": Fault(
        RANDOM,
        KEEP,
        f"{KEEP}\n        ctx.leak = [a.detach().clone() for a in args if torch.is_tensor(a)]",
        {**DENSE, **full("uniform", 1)},
        "not-engaged",
        "kept until backward, and not saved for it",
    ),
}


def planned(settings):
    """The request that smoke makes of these settings."""
    plan = sizes.plan(SmokeSite("r.yaml:1", settings), SmokeOptions(sizes={"seq_length": 16, "vocab_size": 64}))
    real = {name: value for name, value in plan.real.items() if name not in sizes.RUN_SIZES}
    return {"settings": plan.settings, "run": plan.run, "real": real}


def functions_of(space, code):
    """Every function of a module, and of its classes, with the code compiled for it."""
    found = {}
    for owner in (space, *(value for value in vars(space).values() if inspect.isclass(value))):
        if inspect.isclass(owner) and owner.__module__ != space.__name__:
            continue
        prefix = f"{owner.__qualname__}." if inspect.isclass(owner) else ""
        for name, value in vars(owner).items():
            function = inspect.unwrap(getattr(value, "__func__", value))
            if isinstance(function, types.FunctionType) and prefix + name in code:
                found[function] = code[prefix + name]
    return found


def codes(code, prefix=""):
    """The code of every function in a compiled module, by its qualified name; functions inside functions aside."""
    found = {}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            name = prefix + constant.co_name
            if constant.co_flags & inspect.CO_NEWLOCALS:
                found[name] = constant
            else:
                found.update(codes(constant, f"{name}."))
    return found


def main():
    from recompute_lint.smoke import child, trial

    request = {"device": "cpu", "fused": False, "parallel": {}, "memory_limit": 4 << 30, "needs_ranks": None}
    child.prepare(request, lambda stage: None)
    results = {}

    def run(name, settings):
        asked = {**request, **planned(settings), "fused": bool(settings.get("multi_latent_attention"))}
        result = trial.smoke(asked, lambda stage: None, lambda row: None)
        results[name] = [result["verdict"], result["reason"]]

    for name, fault in FAULTS.items():
        module = importlib.import_module(f"megatron.core.{fault.module}")
        text = Path(module.__file__).read_text()
        assert fault.old in text, name
        changed = codes(compile(text.replace(fault.old, fault.new), module.__file__, "exec"))
        before = {function: function.__code__ for function in functions_of(module, changed)}
        run(f"without: {name}", fault.settings)
        for function, code in functions_of(module, changed).items():
            if code.co_filename == function.__code__.co_filename and code.co_freevars == function.__code__.co_freevars:
                function.__code__ = code
        try:
            run(name, fault.settings)
        finally:
            for function, code in before.items():
                function.__code__ = code
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
