"""What the packages ``jsonschema`` and ``referencing`` need of ``rpds``, which is compiled.

These are maps, sets and lists that are never changed; a change is a copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class HashTrieMap(dict):
    """A mapping; :meth:`insert` and its like leave it as it is."""

    @classmethod
    def convert(cls, value: Any) -> HashTrieMap:
        """A mapping of this kind with what another has."""
        return value if isinstance(value, cls) else cls(value)

    def insert(self, key: Any, value: Any) -> HashTrieMap:
        """With one more."""
        return HashTrieMap({**self, key: value})

    def remove(self, key: Any) -> HashTrieMap:
        """Without one.

        Raises:
            KeyError: it is not there.
        """
        rest = dict(self)
        del rest[key]
        return HashTrieMap(rest)

    def discard(self, key: Any) -> HashTrieMap:
        """Without one, if it is there."""
        return self.remove(key) if key in self else self

    def update(self, *others: Any, **named: Any) -> HashTrieMap:  # type: ignore[override]
        """With what others have."""
        return HashTrieMap({**self, **{key: value for other in others for key, value in dict(other).items()}, **named})

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


class HashTrieSet(frozenset):
    """A set; :meth:`insert` and its like leave it as it is."""

    def insert(self, value: Any) -> HashTrieSet:
        """With one more."""
        return HashTrieSet([*self, value])

    def discard(self, value: Any) -> HashTrieSet:
        """Without one, if it is there."""
        return HashTrieSet(item for item in self if item != value)

    def update(self, *others: Iterable[Any]) -> HashTrieSet:
        """With what others have."""
        return HashTrieSet([*self, *(value for other in others for value in other)])


class List(tuple):
    """A list that grows at its front."""

    def __new__(cls, *values: Any) -> List:
        """The values, or those of the one sequence that is given."""
        return super().__new__(cls, values[0] if len(values) == 1 and not isinstance(values[0], str) else values)

    def push_front(self, value: Any) -> List:
        """With one more before the others."""
        return List((value, *self))

    @property
    def first(self) -> Any:
        """The value at the front."""
        return self[0]

    @property
    def rest(self) -> List:
        """All but the first."""
        return List(self[1:])
