"""Advice is a promise: what a guard's help line says has been run through the contract, for every guard there is."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from recompute_lint.lint_rules import registry
from recompute_lint.lint_rules.check import with_defaults
from recompute_lint.lint_rules.remedies import remedies
from recompute_lint.lint_rules.wording import decisive
from recompute_lint.schemas import store
from recompute_lint.schemas.contract import Contract, Guard
from recompute_lint.sources.model import Setting, Site, Span
from tests.differential.sample import TRANSFORMER_ENGINE, Sampler

#: The first release with each contract.
RELEASES = list({file: release for release, file in reversed(store.index()["releases"].items())}.values())

#: The rules whose help is found by trying.
RULES_OF_GUARDS = ("module-needs-feature", "module-conflict", "recompute-conflict")

SAMPLES = 6


def broken(contract: Contract, instance: dict) -> set[int]:
    """The guards that reject, by index; asked of ``jsonschema`` alone."""
    branches = contract.schema["allOf"]
    return {i for i, branch in enumerate(branches) if not Draft202012Validator(branch).is_valid(instance)}


def site_of(config: dict) -> Site:
    place = Span("a.yaml", 1, 1, 1, 2)
    settings = {name: Setting(name, value, place, place) for name, value in config.items()}
    return Site("transformer-config", "a.yaml", "", place, settings, dict(config), {}, closed=True)


def rejected(contract: Contract, guard: Guard) -> list[dict]:
    """Configurations that a guard rejects."""
    index = contract.guards.index(guard)
    sampler = Sampler(contract.schema, list(contract.fields), seed=index)
    found = []
    for _ in range(40 * SAMPLES):
        config = sampler.near(contract.schema["allOf"][index])
        config.pop(TRANSFORMER_ENGINE, None)
        if index in broken(contract, {**contract.defaults, **config}):
            found.append(config)
        if len(found) == SAMPLES:
            break
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_what_help_says_was_accepted(release):
    contract = store.load(release)
    for index, guard in enumerate(contract.guards):
        if guard.rule not in RULES_OF_GUARDS:
            continue
        configs = rejected(contract, guard)
        assert len(configs) > SAMPLES // 2, f"{guard.source}: too few configurations were found"
        for config in configs:
            site = with_defaults(site_of(config), contract)
            instance = site.known()
            before = broken(contract, instance)
            changes = remedies(site, guard, contract, instance, decisive(site, guard, contract, instance))
            assert changes, (guard.source, config)
            for change in changes:
                after = broken(contract, {**instance, **change.values})
                assert index not in after, (guard.source, config, change)
                assert after <= before, (guard.source, config, change)
            for finding in registry.load(guard.rule).report(site, guard, contract):
                assert all(change.text in finding.help for change in changes)
                assert "{" not in finding.note


@pytest.mark.parametrize("release", RELEASES)
def test_the_settings_named_are_enough_for_a_rejection(release):
    contract = store.load(release)
    for guard in contract.guards:
        for config in rejected(contract, guard)[:2] if guard.rule in RULES_OF_GUARDS else ():
            site = with_defaults(site_of(config), contract)
            instance = site.known()
            named = decisive(site, guard, contract, instance)
            alone = {name: instance[name] for name in named}
            assert contract.guards.index(guard) in broken(contract, alone)
            for name in named:
                fewer = {other: value for other, value in alone.items() if other != name}
                assert contract.guards.index(guard) not in broken(contract, fewer), (guard.source, name)


MODEL = "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\n"
EXPERTS = f"{MODEL}num_moe_experts: 8\nrecompute_granularity: selective\n"
FULL = "recompute_granularity: full\nrecompute_method: uniform\nrecompute_num_layers: 1\n"


@pytest.mark.parametrize(
    ("text", "help"),
    [
        (
            f"{EXPERTS}recompute_modules: [moe_act]\n",
            'set moe_grouped_gemm: true, or remove "moe_act" from recompute_modules',
        ),
        (
            f"{MODEL}{FULL}cpu_offloading: true\n",
            "set cpu_offloading: false, or remove recompute_granularity, recompute_method and recompute_num_layers",
        ),
        (
            f"{MODEL}{FULL}overlap_moe_expert_parallel_comm: true\n",
            "set overlap_moe_expert_parallel_comm: false, or set recompute_granularity: selective "
            "and remove recompute_method and recompute_num_layers",
        ),
        (
            f"{EXPERTS}recompute_modules: [moe]\nhidden_dropout: 0.0\ncuda_graph_impl: transformer_engine\n"
            "cuda_graph_scope: [moe_router]\n",
            'set cuda_graph_impl: none, or remove "moe" from recompute_modules',
        ),
        (
            f"{EXPERTS}recompute_modules: [layernorm]\nfp8: hybrid\n",
            'set fp8_recipe: tensorwise, or remove "layernorm" from recompute_modules',
        ),
        (
            "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
            "    recompute_modules: [moe_act]\n    moe_grouped_gemm: false\n",
            'set moe_grouped_gemm: true, or remove "moe_act" from recompute_modules',
        ),
        (
            "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
            "    model_overrides:\n      cpu_offloading: true\n",
            "set cpu_offloading: false, or set activation_checkpointing: false and remove recompute_granularity",
        ),
    ],
)
def test_help_names_the_other_setting_and_its_value(text, help, tmp_path, monkeypatch):
    assert help in [d.help for d in diagnostics(text, tmp_path, monkeypatch)]


def test_a_flag_is_named_as_it_is_written(tmp_path, monkeypatch):
    text = "python pretrain_gpt.py --num-layers 4 --cpu-offloading-num-layers 2 --recompute-activations\n"
    (found,) = diagnostics(text, tmp_path, monkeypatch, "a.sh")
    assert found.help == "remove --cpu-offloading-num-layers, or remove --recompute-activations"


def diagnostics(text, tmp_path, monkeypatch, name="recipe.yaml", mcore="0.16.1"):
    from recompute_lint.hooks.engine import Linter
    from recompute_lint.hooks.options import Configurations

    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    return Linter(Configurations({"mcore": mcore}, isolated=True)).run([name]).diagnostics


def test_a_deprecated_switch_that_is_not_written_is_not_named(tmp_path, monkeypatch):
    text = f"{MODEL}{FULL}enable_cuda_graph: true\n"
    (found,) = diagnostics(text, tmp_path, monkeypatch, mcore="0.14.0")
    assert (found.span.line, found.message) == (
        4,
        'recompute_granularity cannot be "full" while enable_cuda_graph is true',
    )


def test_several_defaults_are_called_so_once(tmp_path, monkeypatch):
    text = f"{MODEL}recompute_granularity: selective\nrecompute_modules: [core_attn]\ncuda_graph_impl: local\n"
    (found,) = diagnostics(text, tmp_path, monkeypatch)
    assert found.message == (
        '"core_attn" cannot be recomputed while cuda_graph_impl is "local" and these are left at their defaults: '
        'attention_dropout: 0.1 and cuda_graph_scope: "full"'
    )


@pytest.mark.parametrize("mcore", ["0.15.3", "0.16.1"])
def test_a_flag_is_the_word_or_the_list_that_the_release_has(tmp_path, monkeypatch, mcore):
    text = (
        "python pretrain_gpt.py --num-layers 4 --num-experts 8 --hidden-dropout 0 --cuda-graph-impl transformer_engine "
        "--cuda-graph-scope attn --recompute-granularity selective --recompute-modules moe\n"
    )
    assert diagnostics(text, tmp_path, monkeypatch, "a.sh", mcore) == []


@pytest.mark.parametrize(
    ("flags", "advice", "after"),
    [
        (
            "--recompute-num-layers 1",
            "replace --recompute-activations by --recompute-granularity full and add --recompute-method uniform",
            "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
        ),
        (
            "--recompute-method block",
            "replace --recompute-activations by --recompute-granularity full and add --recompute-num-layers 1",
            "--recompute-granularity full --recompute-method block --recompute-num-layers 1",
        ),
        (
            "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
            "remove --recompute-activations",
            "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
        ),
    ],
)
def test_a_switch_takes_no_value(flags, advice, after, tmp_path, monkeypatch):
    command = "python pretrain_gpt.py --num-layers 4"
    found = diagnostics(f"{command} --recompute-activations {flags}\n", tmp_path, monkeypatch, "a.sh")
    assert any(one.help.endswith(f", or {advice}") for one in found)
    assert diagnostics(f"{command} {after}\n", tmp_path, monkeypatch, "a.sh") == []
