"""What the fields and variables of a running ``__post_init__`` hold: assignments, and branches that meet again."""

from __future__ import annotations

import ast
from typing import TypeAlias

from . import logic, operators, values
from .evaluate import Evaluator
from .logic import Condition
from .values import Cases, Untranslatable

#: What the configuration's fields and the running function's variables hold.
State: TypeAlias = "tuple[dict[str, Cases], dict[str, Cases]]"


class Store(Evaluator):
    """An evaluator whose state statements change."""

    def assign(self, target: ast.expr, cases: Cases) -> None:
        """Let a variable, a field, or each of several hold something.

        Raises:
            Untranslatable: the target is something else, such as an item of a list.
        """
        match target:
            case ast.Name(id=name):
                self.store(name, cases)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                self.store(f"self.{name}", cases)
            case ast.Tuple(elts=parts):
                for index, part in enumerate(parts):
                    self.assign(part, values.merge((c, operators.part(v, index)) for c, v in cases))
            case _:
                raise Untranslatable(ast.unparse(target))

    def store(self, name: str, cases: Cases) -> None:
        """Let a variable, or a field written ``self.name``, hold something."""
        if name.startswith("self."):
            self.fields[name.removeprefix("self.")] = cases
        else:
            self.frame.locals[name] = cases

    def set_where(self, condition: Condition, name: str, cases: Cases) -> None:
        """Set a field where a condition holds."""
        before = self.field(name.removeprefix("self."))
        opposite = logic.negate(condition)
        kept = [(logic.all_of(opposite, c), v) for c, v in before]
        self.store(name, values.merge([*((logic.all_of(condition, c), v) for c, v in cases), *kept]))

    def snapshot(self) -> State:
        """What everything holds now."""
        return dict(self.fields), dict(self.frame.locals)

    def restore(self, state: State) -> None:
        """Let everything hold what it did when the snapshot was made."""
        self.fields, self.frame.locals = dict(state[0]), dict(state[1])

    def join(
        self,
        condition: Condition,
        state: State,
        opposite: Condition,
        other: State,
    ) -> None:
        """Make the state that is one where a condition holds and another where its opposite does."""
        self.restore(other)
        for mine, theirs, current in zip(state, other, (self.fields, self.frame.locals), strict=True):
            for name in {**mine, **theirs}:
                first, second = mine.get(name), theirs.get(name)
                if first is second:
                    continue
                if current is self.fields:
                    first, second = first or self.initial(name), second or self.initial(name)
                joined = [(logic.all_of(condition, c), v) for c, v in first or ()]
                joined += [(logic.all_of(opposite, c), v) for c, v in second or ()]
                current[name] = values.merge(joined)
