"""RCL199: a check of Megatron-Core's that no rule is for."""

from __future__ import annotations

from recompute_lint.lint_rules.check import check
from recompute_lint.schemas.contract import Contract
from recompute_lint.sources.model import Setting, Site, Span

SPAN = Span("recipe.yaml", 3, 5, 3, 9)
SCHEMA = {
    "x-modules": [],
    "properties": {"recompute_granularity": {"default": None}, "frobnicate": {"default": False}},
    "allOf": [
        {
            "x-rule": "contract-other",
            "x-source": "transformer_config.py#L1",
            "x-message": "never frobnicate",
            "x-subject": {"field": "recompute_granularity"},
            "x-fields": ["recompute_granularity", "frobnicate"],
            "not": {
                "required": ["recompute_granularity", "frobnicate"],
                "properties": {"recompute_granularity": {"const": "full"}, "frobnicate": {"const": True}},
            },
        }
    ],
}


def test_says_it_in_megatrons_words():
    settings = {
        "recompute_granularity": Setting("recompute_granularity", "full", SPAN, SPAN),
        "frobnicate": Setting("frobnicate", True, SPAN, SPAN),
    }
    effective = {name: setting.value for name, setting in settings.items()}
    site = Site("nemo-rl", "recipe.yaml", "", SPAN, settings, effective, {}, closed=False)
    (finding,) = check(site, Contract("9.9", SCHEMA))
    assert finding.rule == "contract-other"
    assert finding.span == SPAN
    assert finding.message == 'recompute_granularity cannot be "full" while frobnicate is true'
    assert finding.note == "megatron-core 9.9: never frobnicate (transformer_config.py#L1)"
