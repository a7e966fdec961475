"""The contract of one release: the JSON Schema of what its ``TransformerConfig`` accepts, for recomputation."""

from functools import cached_property
from typing import Any, NamedTuple

from .screen import UnknownKeyword, matches


class Guard(NamedTuple):
    """One ``raise`` or ``assert`` of Megatron-Core: a branch of the schema's ``allOf``."""

    #: The name of the rule that reports it.
    rule: str
    #: Megatron-Core's message, with the placeholders that :mod:`.messages` fills in.
    message: str
    #: What it rejects, in short.
    condition: str
    #: ``megatron/core/transformer/transformer_config.py#L1155``.
    source: str
    #: The field that a finding is shown at.
    field: str
    #: The items of ``field`` that it is about; none when it is about the whole value.
    items: tuple[str, ...]
    #: Every field it looks at.
    fields: tuple[str, ...]
    #: Packages whose version decides: it rejects only where the requirement is not met.
    requires: dict[str, str]
    #: What to do about it, where the schema says that.
    help: str = ""


class Contract:
    """A schema of ``schemas/mcore``, or one derived from a source tree.

    Attributes:
        version: the release, or what the user named the source tree.
        schema: the JSON Schema (Draft 2020-12).
        provisional: whether it takes the place of a source tree that is not there. A configuration that only some
            releases reject, or that a newer one may accept, is not reported then.
    """

    def __init__(self, version: str, schema: dict[str, Any], *, provisional: bool = False) -> None:
        self.version = version
        self.schema = schema
        self.provisional = provisional
        self._verdicts: dict[str, list[Guard]] = {}

    def __eq__(self, other: object) -> bool:
        """Whether the other is the same schema under the same name."""
        if not isinstance(other, Contract):
            return NotImplemented
        return (self.version, self.provisional, self.schema) == (other.version, other.provisional, other.schema)

    def __hash__(self) -> int:
        return hash((self.version, self.provisional))

    def made_provisional(self) -> "Contract":
        """The same, in the place of a source tree that may be newer."""
        return Contract(self.version, self.schema, provisional=True)

    @property
    def modules(self) -> list[str]:
        """The recompute modules there are, in the order of Megatron-Core's source."""
        return self.schema.get("x-modules", [])

    @property
    def recompute(self) -> list[str]:
        """The fields that decide about recomputation, in the order of Megatron-Core's source."""
        return self.schema.get("x-recompute", [])

    @cached_property
    def types(self) -> dict[str, str]:
        """The JSON type of each recompute field that may be of one type only, beside null."""
        stated = {name: self.fields[name].get("type", []) for name in self.recompute}
        lists = {name: [type] if isinstance(type, str) else type for name, type in stated.items()}
        found = {name: [type for type in types if type != "null"] for name, types in lists.items()}
        return {name: types[0] for name, types in found.items() if len(types) == 1}

    @property
    def fields(self) -> dict[str, dict[str, Any]]:
        """The fields that any guard looks at, with type, default and source."""
        return self.schema["properties"]

    @cached_property
    def own(self) -> dict[str, str]:
        """The fields that are a framework's own and no ``TransformerConfig``'s, with the JSON type of each."""
        return {name: field["x-own"] for name, field in self.fields.items() if "x-own" in field}

    @cached_property
    def guards(self) -> list[Guard]:
        """Every guard, in the order in which Megatron-Core runs them."""
        return [_guard(branch) for branch in self.schema["allOf"]]

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Megatron-Core's default of each field that a guard looks at and that has one."""
        return {name: field["default"] for name, field in self.fields.items() if "default" in field}

    @cached_property
    def every_default(self) -> dict[str, Any]:
        """:attr:`defaults`, and those of fields that no guard looks at, where they are not null."""
        return {**self.schema.get("x-defaults", {}), **self.defaults}

    @cached_property
    def retired(self) -> dict[str, Any]:
        """The defaults of the fields that a guard looks at and that Megatron-Core's source calls deprecated."""
        return {name: self.defaults[name] for name, field in self.fields.items() if field.get("deprecated")}

    def default(self, field: str) -> Any:
        """Megatron-Core's default of any field of its configuration; None where it has none, or no such field."""
        return self.every_default.get(field)

    def takes_word(self, field: str) -> bool:
        """Whether a field is a string, and cannot be a list, such as ``cuda_graph_scope`` in 0.15."""
        types = self.fields.get(field, {}).get("type", [])
        return "string" in types and "array" not in types

    def source_of(self, field: str) -> str:
        """Where ``field`` is declared."""
        return self.fields.get(field, {}).get("x-source", "")

    def violations(self, instance: dict[str, Any]) -> list[Guard]:
        """The guards that reject ``instance``, a mapping of fields to JSON values; a missing field is unknown.

        Nearly every configuration is valid, and that is found without loading ``jsonschema``. When something is wrong,
        that library says what. Equal instances are checked once.
        """
        relevant = {name: instance[name] for name in instance.keys() & self.fields.keys()}
        key = repr(sorted(relevant.items()))
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._verdicts[key] = [] if self._is_clean(relevant) else self._violated(relevant)
        return verdict

    def _is_clean(self, instance: dict[str, Any]) -> bool:
        try:
            return all(
                matches(branch, instance) for branch in self.schema["allOf"] if instance.keys() >= _must_have(branch)
            )
        except UnknownKeyword:
            return False

    def _violated(self, instance: dict[str, Any]) -> list[Guard]:
        from jsonschema import Draft202012Validator

        guards_only = {key: value for key, value in self.schema.items() if key != "properties"}
        broken = {error.absolute_schema_path[1] for error in Draft202012Validator(guards_only).iter_errors(instance)}
        return [guard for index, guard in enumerate(self.guards) if index in broken]


def _must_have(branch: dict[str, Any]) -> set[str]:
    """The fields without which a branch cannot be violated, as far as that can be seen at a glance."""
    return set(branch.get("not", {}).get("required", ()))


def _guard(branch: dict[str, Any]) -> Guard:
    subject = branch["x-subject"]
    item = subject.get("item")
    return Guard(
        branch["x-rule"],
        branch["x-message"],
        branch.get("x-condition", ""),
        branch["x-source"],
        subject["field"],
        tuple(subject.get("items", (item,) if item else ())),
        tuple(branch.get("x-fields", ())),
        branch.get("x-requires", {}),
        branch.get("x-help", ""),
    )
