"""Sample configurations over all the fields that a contract's guards read, most of them near a guard's edge.

Uniform sampling never reaches a guard that asks for six things at once. So most samples start from a guard: the
pattern that it refuses is solved, one option at random, and then a field or two are changed, which gives its other
side as well. The values of a field are those that any pattern mentions for it, and a few by its type.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator

from recompute_lint.schemas.screen import UnknownKeyword, matches

Config = dict[str, Any]

#: The name under which a configuration says which version of Transformer Engine is installed.
TRANSFORMER_ENGINE = "transformer-engine"

#: Versions of Transformer Engine that are older and newer than what any guard asks for.
OLD, NEW = "1.0.0", "99.0.0"

#: What every configuration has; none of it matters to recompute.
REQUIRED: Config = {"num_layers": 4, "hidden_size": 64, "num_attention_heads": 4}

#: Settings that belong together: without the rest of its row, a setting is refused whatever recompute does.
CONTEXTS: tuple[Config, ...] = (
    {},
    {"attention_dropout": 0.0, "hidden_dropout": 0.0},
    {"attention_dropout": 0.0, "hidden_dropout": 0.0},
    {"bf16": True},
    {"num_moe_experts": 8, "moe_token_dispatcher_type": "alltoall", "add_bias_linear": False},
    {"num_moe_experts": 8, "moe_token_dispatcher_type": "alltoall", "moe_shared_expert_intermediate_size": 64},
    {"num_moe_experts": 8, "moe_token_dispatcher_type": "alltoall", "moe_expert_capacity_factor": 1.0}
    | {"moe_pad_expert_input_to_capacity": True, "moe_layer_freq": 2},
    {"num_moe_experts": 8, "moe_token_dispatcher_type": "alltoall", "moe_grouped_gemm": True, "bf16": True}
    | {"expert_model_parallel_size": 2, "add_bias_linear": False},
    {"tensor_model_parallel_size": 2, "sequence_parallel": True},
    {"tensor_model_parallel_size": 2, "tensor_parallel_num_weight_shards": 4},
    {"pipeline_model_parallel_size": 2, "pipeline_dtype": "bfloat16"},
    {"fine_grained_activation_offloading": True, "offload_modules": ["core_attn"]},
    {"fine_grained_activation_offloading": True, "offload_modules": ["moe_act"]},
    {"fine_grained_activation_offloading": True, "offload_modules": ["gdp_qkv"]},
    {"cpu_offloading": True, "cpu_offloading_num_layers": 2},
    {"fp8": "hybrid", "fp8_recipe": "tensorwise"},
    {"fp8": "hybrid", "fp8_recipe": "delayed"},
    {"cuda_graph_impl": "local", "cuda_graph_scope": ["attn"]},
    {"cuda_graph_impl": "local", "cuda_graph_scope": ["full_iteration"]},
    {"cuda_graph_impl": "transformer_engine", "cuda_graph_scope": ["attn"]},
    {"cuda_graph_impl": "transformer_engine", "cuda_graph_scope": "attn"},
    {"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": ["attn"]},
    {"cuda_graph_impl": "local", "cuda_graph_modules": ["moe_router"]},
    {"cuda_graph_impl": "full_iteration", "cuda_graph_modules": []},
)

#: Values for fields where what the patterns mention doesn't suffice or doesn't make sense.
VALUES: dict[str, list[Any]] = {
    "recompute_granularity": [None, "full", "selective", "Full", "none"],
    "recompute_method": [None, "block", "uniform", "blocks"],
    "recompute_num_layers": [None, 1, 2],
    "num_layers": [4, 6],
    "tensor_model_parallel_size": [1, 2],
    "tensor_parallel_num_weight_shards": [None, 1, 2, 4],
    "pipeline_model_parallel_size": [1, 2],
    "virtual_pipeline_model_parallel_size": [None, 1, 2, 3],
    "attention_dropout": [0.0, 0.1],
    "hidden_dropout": [0.0, 0.1],
    "moe_input_jitter_eps": [None, 0.01],
    "moe_shared_expert_intermediate_size": [None, 64],
    "fp8": [None, "hybrid", "e4m3"],
    "fp4": [None, "e2m1"],
    "fp8_recipe": ["delayed", "tensorwise", "blockwise"],
    "mhc_recompute_layer_num": [None, 1, 2, 0, -1, True],
    "gdp_num_chunk_states_to_recompute": [0, 2, 64, 65, -1],
    "gtp_weight_remat_size": [1, 2],
}


class Sampler:
    """Makes configurations for one contract.

    Args:
        contract: the schema.
        declared: the fields that the class has, which may be fewer than the contexts name.
        seed: samples are the same for the same seed.
    """

    def __init__(self, contract: dict[str, Any], declared: list[str], seed: int) -> None:
        self.random = random.Random(seed)
        self.contract = contract
        self.defaults = {name: field["default"] for name, field in contract["properties"].items() if "default" in field}
        self.contexts = [c for c in CONTEXTS if all(name in declared for name in c)]
        self.fields = {
            name: list(values_of(name, field, contract))
            for name, field in contract["properties"].items()
            if name in declared
        }

    def near(self, guard: dict[str, Any]) -> Config:
        """A configuration that a guard refuses, or nearly."""
        config = self.context()
        self.solve(guard["not"], config)
        if self.random.random() < 0.7:
            self.clear_way(guard, config)
        if self.random.random() < 0.3:
            self.step_over(guard, config)
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            self.change(config, guard["x-fields"])
        return config

    def clear_way(self, guard: dict[str, Any], config: Config) -> None:
        """Change a configuration that a guard refuses until the guards before it don't, if a few tries will do."""
        earlier = self.contract["allOf"][: self.contract["allOf"].index(guard)]
        for _ in range(12):
            instance = {**self.defaults, **config}
            first = next((other for other in earlier if fits(other["not"], instance)), None)
            if first is None or not fits(guard["not"], instance):
                return
            name = self.random.choice([name for name in first["x-fields"] if name in self.fields])
            value = self.random.choice(self.fields[name])
            if fits(guard["not"], {**instance, name: value}):
                config[name] = value

    def step_over(self, guard: dict[str, Any], config: Config) -> None:
        """Change a configuration that a guard refuses until it doesn't."""
        for _ in range(12):
            if not fits(guard["not"], {**self.defaults, **config}):
                return
            self.change(config, guard["x-fields"])

    def anywhere(self) -> Config:
        """A configuration with a few fields set at random."""
        config = self.context()
        for _ in range(self.random.randint(1, 6)):
            self.change(config, list(self.fields))
        return config

    def beside(self, config: Config) -> Config:
        """A configuration that differs from another in one field."""
        other = dict(config)
        self.change(other, list(self.fields))
        return other

    def context(self) -> Config:
        """A configuration with recompute off, of several settings that belong together."""
        config = {**REQUIRED, TRANSFORMER_ENGINE: self.random.choice((OLD, NEW))}
        for context in self.random.choices(self.contexts, k=self.random.choice((0, 1, 1, 2, 2, 3))):
            config.update(context)
        return config

    def change(self, config: Config, names: list[str]) -> None:
        """Set one of some fields at random, or unset it."""
        name = self.random.choice([name for name in names if name in self.fields] or list(self.fields))
        config[name] = self.random.choice(self.fields[name])

    def solve(self, pattern: dict[str, Any], config: Config) -> None:
        """Set fields so that a configuration matches a pattern, as far as one way through it allows."""
        wanted: dict[str, list[Any]] = {}
        parts = [pattern]
        while parts:
            part = parts.pop()
            parts += part.get("allOf", [])
            if "anyOf" in part:
                parts.append(self.random.choice(part["anyOf"]))
            for name, schema in part.get("properties", {}).items():
                wanted.setdefault(name, []).append(schema)
        for name, schemas in wanted.items():
            current = config.get(name, self.defaults.get(name))
            fitting = [value for value in self.fields.get(name, []) if all(fits(schema, value) for schema in schemas)]
            if fitting and not (all(fits(schema, current) for schema in schemas) and self.random.random() < 0.7):
                config[name] = self.random.choice(fitting)


def fits(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value matches a schema."""
    try:
        return matches(schema, value)
    except UnknownKeyword:
        return Draft202012Validator(schema).is_valid(value)


def values_of(name: str, field: dict[str, Any], contract: dict[str, Any]) -> Iterator[Any]:
    """The values to try for a field, each once."""
    seen: list[Any] = []
    found = itertools.chain(VALUES.get(name) or _mentioned(name, field, contract), [field.get("default")])
    allowed = field.get("type", [])
    nullable = "null" in allowed or "default" not in field
    for value in found:
        if (value is None and not nullable) or any(value == other and type(value) is type(other) for other in seen):
            continue
        seen.append(value)
        yield value


def _mentioned(name: str, field: dict[str, Any], contract: dict[str, Any]) -> list[Any]:
    """What a contract's patterns mention for a field, brought into the field's types, and common values of these."""
    types = field.get("type", [])
    types = [types] if isinstance(types, str) else types
    scalars: list[Any] = list(field.get("enum", []))
    items: list[str] = list(contract["x-modules"]) if name == "recompute_modules" else []
    for schema in _schemas_of(name, contract["allOf"]):
        for part in _parts(schema):
            constants = [part["const"]] if "const" in part else part.get("enum", [])
            scalars += constants
            items += [constant for constant in constants if isinstance(constant, str)]
            items += re.findall(r"\w+", part.get("pattern", ""))
            for bound in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
                if bound in part and abs(part[bound]) < 10:
                    scalars += [part[bound] - 1, part[bound], part[bound] + 1]
    values: list[Any] = [None]
    kinds = {"boolean": bool, "integer": int, "number": (int, float), "string": str}
    for kind, accepted in kinds.items():
        if kind in types:
            values += [s for s in scalars if isinstance(s, accepted) and isinstance(s, bool) is (kind == "boolean")]
    if "boolean" in types:
        values += [False, True]
    if "array" in types:
        items = list(dict.fromkeys([*items, *(["bogus"] if name == "recompute_modules" else [])]))
        lists = [list(group) for size in (0, 1, 2) for group in itertools.permutations(items, size)]
        values += lists[: len(items) + 1] * 4 + lists[len(items) + 1 :][::3]
        if "string" in types:
            values += [",".join(each) for each in lists]
    return values


def _schemas_of(name: str, schema: Any) -> Iterator[Any]:
    """Every schema for a field in a contract's guards."""
    if isinstance(schema, list):
        for part in schema:
            yield from _schemas_of(name, part)
    elif isinstance(schema, dict):
        if name in schema.get("properties", {}):
            yield schema["properties"][name]
        for key in ("not", "allOf", "anyOf", "properties"):
            if key in schema:
                part = schema[key]
                yield from _schemas_of(name, list(part.values()) if key == "properties" else part)


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """A field's schema and every schema in it."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from _parts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _parts(value)
