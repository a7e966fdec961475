"""Whose a file is: ``read`` of a dialect gives None for what it does not know, no site for what is not Megatron's."""

from __future__ import annotations

import pytest

from recompute_lint.sources.dialects import Reading, load
from recompute_lint.sources.dialects.table import DIALECTS
from recompute_lint.sources.model import UNKNOWN
from recompute_lint.sources.reader import Document, Reader

BY_NAME = {dialect.name: dialect for dialect in DIALECTS}
OF_YAML = [dialect.name for dialect in DIALECTS if "yaml" in dialect.kind.split()]

#: Those that a file cannot be said to be of, whatever is in it.
NEVER = {"embedded", "megatron-bridge"}

#: Those that take a mapping of any shape for settings.
SITES = {"ms-swift": 1, "primus": 1, "transformer-config": 1}


def read(name: str, text: str, **options: bool) -> Reading | None:
    return load(BY_NAME[name]).read(Document("a.yaml", text.encode()), Reader(), **options)


@pytest.mark.parametrize("text", ["x: 1\n", "- x\n", "", "x: {recompute_granularity: [full\n"])
@pytest.mark.parametrize("name", OF_YAML)
def test_a_file_that_it_does_not_know_is_another_s(name: str, text: str) -> None:
    assert read(name, text) is None
    assert read(name, text, forced=False) is None


@pytest.mark.parametrize("name", OF_YAML)
def test_a_mapping_is_its_own_where_the_user_says_so(name: str) -> None:
    found = read(name, "x: 1\n", forced=True)
    if name in NEVER:
        assert found is None
    else:
        assert found is not None
        assert (len(found.sites), found.problems) == (SITES.get(name, 0), [])


#: Files of a framework in which it trains by something else, or sets nothing.
WITHOUT_MEGATRON = {
    "rlinf": "actor:\n  training_backend: fsdp\n  model:\n    recompute_granularity: fulll\n",
    "roll": "actor_train:\n  strategy_args:\n    strategy_name: fsdp2_train\n    strategy_config:\n      x: 1\n",
    "chatlearn": "runtime_args:\n  train_backend: fsdp\nmodels:\n  policy_trainer:\n    recompute_granularity: full\n",
    "skyrl": "trainer:\n  policy:\n    megatron_config:\n      transformer_config_kwargs:\n        x: 1\n",
}


@pytest.mark.parametrize("name", WITHOUT_MEGATRON)
def test_a_file_of_its_own_without_megatron_has_no_site(name: str) -> None:
    assert read(name, WITHOUT_MEGATRON[name]) == Reading([], [])


def test_other_modules_stand_beside_what_primus_trains() -> None:
    trainer = "  pre_trainer:\n    framework: megatron\n    overrides:\n      recompute_granularity: full\n"
    found = read("primus", f"modules:\n  a: 3\n  b: {{x: 1}}\n  c: null\n{trainer}  d: {{framework: torchtitan}}\n")
    assert found is not None and [site.path for site in found.sites] == ["modules.pre_trainer.overrides"]
    assert read("primus", "modules:\n  a: 3\n  b: {x: 1}\n") is None
    assert read("primus", "modules:\n  b: {framework: torchtitan}\n") == Reading([], [])


def test_what_megatron_lm_takes_from_the_environment_is_unknown() -> None:
    text = "language_model:\n  recompute_granularity: {}\n  num_layers: 4\nmodel_parallel: {{x: 1}}\n"
    for value, known in (("full", "full"), ("${GRANULARITY}", UNKNOWN)):
        found = read("megatron-lm", text.format(value))
        assert found is not None
        (site,) = found.sites
        assert site.settings["recompute_granularity"].value is known or known == "full"
        assert site.settings["recompute_granularity"].computed is (known is UNKNOWN)


def test_a_role_without_a_model_stands_beside_one_with_it() -> None:
    backend = "  training_backend: megatron\n"
    found = read("rlinf", f"actor:\n{backend}critic:\n{backend}  model:\n    recompute_method: block\n")
    assert found is not None and [site.path for site in found.sites] == ["critic.model"]
