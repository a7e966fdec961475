"""What each framework's own parser and classes reject or ignore: texts whose findings ``words.py`` records, by rule."""

from __future__ import annotations

from recompute_lint.lint_rules.finding import Example

_SWIFT = "model: m\ntuner_type: lora\n"
_MEGATRON = "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 8 --num-attention-heads 1 "
_MEGATRON_TEST = "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 8\n  --num-attention-heads: 1\n"
_AREAL = "experiment_name: x\nactor:\n  backend: megatron:d1\n  gradient_checkpointing: true\n  megatron:\n"
_BRIDGE = "python scripts/performance/setup_experiment.py "
_PRIMUS = "modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n      num_layers: 4\n"
_FULL = "recompute_granularity: full\n      recompute_layer_ids: "
_SKYRL = "trainer:\n  gradient_checkpointing: false\n  policy:\n    megatron_config:\n"
_RLINF = "actor:\n  training_backend: megatron\n  model:\n    recompute_granularity: full\n"
_NEMO_RL = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"
_ROLL = "actor_train:\n  strategy_args:\n    strategy_name: megatron_train\n    strategy_config:\n      {}\n"
_VERL = "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer.yaml "
_ACTOR, _REF = (f"actor_rollout_ref.{role}.megatron.override_transformer_config" for role in ("actor", "ref"))
_SLIME = "ray job submit -- python3 train.py --actor-num-nodes 1 --hf-checkpoint /m --num-layers 4 "
_MINDSPEED_RL = "megatron_training:\n  model: x\nactor_config:\n  model: x\n  recompute_granularity: selective\n"


def _script(*commands: str) -> list[Example]:
    return [Example(f"{command}\n", filename="train.sh") for command in commands]


def _of(framework: str, *flags: str) -> list[Example]:
    """Launch scripts in a checkout of slime, or of its fork miles."""
    beside = {f"{framework}/utils/arguments.py": ""}
    return [Example(f"{_SLIME}{each}\n", filename="scripts/run.sh", beside=beside) for each in flags]


TEXTS: dict[str, list[Example]] = {
    "RCL101": [
        *_script(
            f"{_MEGATRON}--recompute-granularity ful --recompute-activations",
            f"{_MEGATRON}--recompute-granularity None --recompute-method uniform",
            "megatron sft --model m --recompute_granularity null",
            f"{_VERL}{_ACTOR}.recompute_granularity=off",
        ),
        *_of("slime", "--recompute-granularity none"),
        Example(f"{_NEMO_RL}    recompute_granularity: none\n    recompute_modules: [mlp]\n"),
        Example(f"{_NEMO_RL}    recompute_granularity: 'null'\n"),
        Example(f"{_AREAL}    recompute_granularity: none\n"),
        Example(f"{_PRIMUS}      recompute_granularity: none\n"),
        Example(_ROLL.format("recompute_granularity: none")),
        Example(f"{_RLINF.replace('full', 'none')}"),
        Example(f"{_SKYRL}      transformer_config_kwargs:\n        recompute_granularity: none\n"),
        Example("c.model.recompute_granularity = 'none'\npretrain(c)\n", filename="recipe.py"),
    ],
    "RCL106": [
        Example(f"{_PRIMUS}      recompute_granularity: selective\n      recompute_modules: [mlpp, '${{X:mlpp}}']\n"),
        Example("x:\n  recompute_granularity: selective\n  recompute_modules: [mlpp, '${oc.env:X}']\n"),
        *_script(
            f"{_BRIDGE}--recompute_modules core_attn,mpl",
            f"{_BRIDGE}--recompute_modules 'core_attn,mpl'",
            f"X=core_attn,mpl\n{_BRIDGE}--recompute_modules $X",
        ),
    ],
    "RCL108": [
        Example(
            "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\nnum_moe_experts: 8\n"
            "recompute_granularity: selective\nmoe_layer_recompute: true\ncuda_graph_impl: local\n"
        ),
    ],
    "RCL111": [
        Example(f"{_SWIFT}recompute_granularity: null\n"),
        Example(f"{_SWIFT}recompute_granularity: full\nrecompute_method: null\nrecompute_num_layers: 1.5\n"),
        Example(f"{_SWIFT}recompute_m: uniform\n"),
        Example(f"{_MEGATRON_TEST}  --recompute-granularity: null\n  --recompute_method: block\n"),
        Example(f"{_MEGATRON_TEST}  --recompute-activations: false\n"),
        Example(f"{_AREAL}    recompute_module: [mlp]\n    recompute_num_layers: 1.5\n"),
        Example(f"{_AREAL}    recompute_everything: true\n"),
        Example(f"{_PRIMUS}      {_FULL}first\n"),
        Example(f"{_PRIMUS}      {_FULL}[]\n"),
        Example(f"{_PRIMUS}      mtp_num_layers: 0\n      {_FULL}[0, 4]\n"),
        Example(f"{_PRIMUS}      recompute_granularity: selective\n      recompute_layer_ids: [0]\n"),
        Example(f"{_PRIMUS}      recompute_method: block\n      {_FULL}[0]\n"),
        Example(_ROLL.format("distribute_saved_activations: true")),
        Example(f"{_MINDSPEED_RL}  recompute_modules: [mlp]\n"),
        Example(f"{_NEMO_RL}    recompute_method: block\n    model_overrides:\n      recompute_method: block\n"),
        *_script(
            f"{_MEGATRON}--recompute_granularity selective",
            f"{_MEGATRON}--recompute-granularity selective --recompute-modules",
            f"{_MEGATRON}--recompute-activations true",
            f"{_MEGATRON.replace('pretrain_gpt', 'mine')}--recompute-activations true",
            f"{_MEGATRON.replace('pretrain_gpt', 'mine')}--recompute-activations false",
            f"{_BRIDGE}--recompute_num_layers one",
            f"{_BRIDGE}--recompute core_attn,mlp",
            f"{_MEGATRON}--no-recompute-activations",
            f"{_MEGATRON}--recompute-gran selective",
            f"{_MEGATRON}--recompute-granularity selective --recompute-modules=core_attn mlp",
            f"{_MEGATRON}--recompute-granularity selective\r",
            f"{_VERL}{_REF}.recompute_granularity=selective",
            f"{_VERL}{_ACTOR}.recompute_granularity=full,selective",
            "megatron sft --model m --distribute_saved_activations true",
            "megatron sft --model m --recompute_granularity selective --recompute_modules",
        ),
        *_of("miles", "--recompute_granularity selective", "--recompute-granularity selective --recompute-modules"),
        Example(_AREAL.replace("true", "false") + "    recompute_granularity: null\n    recompute_modules: mlp\n"),
        Example(
            "python3 train.py --config config.yaml actor.megatron.recompute_granularity=selective\n",
            filename="train.sh",
            beside={"config.yaml": f"{_AREAL}    wrap_policy: x\n"},
        ),
    ],
    "RCL201": [Example(f"{_PRIMUS}      recompute_modules: [mlp]\n      {_FULL}[0]\n")],
    "RCL202": [Example(f"{_SKYRL}      transformer_config_kwargs:\n        recompute_granularity: selective\n")],
    "RCL206": [
        Example("experiment:\n  auto_tuner:\n    space:\n      recompute_granularty: [full]\n"),
        Example("policy:\n  megatron_cgf:\n    activation_checkpointing: true\n    recompute_granularity: full\n"),
        Example("model:\n  activations_checkpoint_granularity: full\n  activations_checkpoint_metod: uniform\n"),
    ],
    "RCL208": _script(
        f"{_MEGATRON}--checkpoint-activations",
        f"{_MEGATRON}--activations-checkpoint-method uniform --recompute-granularity full",
    ),
    "RCL209": [
        *_script(
            f"{_MEGATRON}--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 "
            "--recompute-activations"
        ),
        Example(f"{_RLINF}    distribute_saved_activations: true\n"),
        Example(
            "defaults: base.yaml\npolicy:\n  megatron_cfg:\n    _override_: true\n    recompute_granularity: full\n",
            beside={"base.yaml": f"{_NEMO_RL}    recompute_modules: [mlp]\n"},
        ),
        *_script(
            f"{_MEGATRON}--recompute-granularity full --recompute-activations",
            f"{_BRIDGE}--recompute_num_layers 4 --recompute_granularity full",
            f"{_BRIDGE}--recompute_modules mlp model.recompute_granularity=full",
            f"{_VERL}model_engine=megatron actor_rollout_ref.model.enable_gradient_checkpointing=True",
            f"{_VERL}model_engine=megatron actor_rollout_ref.model.enable_gradient_checkpointing=True $ARGS",
            "primus-cli direct -- train pretrain --config a.yaml --recompute-granularity full",
        ),
        *_of("slime", "--recompute_granularity selective", "--recompute-gran full", "--no-recompute-activations"),
    ],
    "RCL901": [
        Example(f"{_NEMO_RL}    recompute_granularity: full\n  \x07 x: 1\n"),
        Example(f"{_NEMO_RL}    recompute_granularity: 'full\n"),
        Example(f"{_NEMO_RL}    recompute_granularity: full\n\tx: 1\n"),
        Example(f"{_NEMO_RL}    recompute_granularity: full\n  - x\n"),
        Example(f"{_NEMO_RL}    recompute_granularity: *full\n"),
        Example(f"{_NEMO_RL}    recompute_granularity: @full\n"),
        Example(f"{_NEMO_RL}    recompute_granularity: {{full"),
        Example(f"{_NEMO_RL}    <<: base\n    recompute_granularity: full\n"),
        Example(f"{_NEMO_RL}    recompute_granularity: [full\n"),
    ],
    "RCL903": [
        Example("extends: [b.yaml]\n" + _PRIMUS, beside={"b.yaml": "extends: [recipe.yaml]\n" + _PRIMUS}),
        Example("defaults: b.yaml\n" + _NEMO_RL, beside={"b.yaml": "defaults: recipe.yaml\n" + _NEMO_RL}),
    ],
    "RCL902": [
        Example("extends: [b.yaml]\n" + _PRIMUS),
        Example("extends: [bases.yaml]\n" + _PRIMUS, beside={"base.yaml": _PRIMUS}),
        Example(f"defaults: nowhere/base.yaml\n{_NEMO_RL}"),
        Example(f"defaults: bases.yaml\n{_NEMO_RL}", beside={"base.yaml": _NEMO_RL}),
    ],
    "RCL907": [
        Example("recompute_granularity: full  # recompute-lint: disable=RCL99\n"),
        Example("recompute_granularity: full  # recompute-lint: disable=RCL101,unknwon-module,zzz\n"),
        Example("x: 1\n  # recompute-lint: disable=RCL101\nrecompute_granularity: full\n"),
        Example("recompute_granularity: full  # recompute-lint: disabel=RCL101\n"),
    ],
    "RCL905": [
        Example(f"{text}x = cfg.get('recompute_granularity', 'full')\n", filename="a.py")
        for text in ("# -*- coding: nonsense -*-\n", "\0")
    ],
}
