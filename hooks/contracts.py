"""The contract for each file: what its options ask for, or what its project uses."""

from __future__ import annotations

import os

from ..schemas.choose import Choice, choose
from ..schemas.names import MODULES
from ..sources.projects import project_root
from .options import Configurations


class Contracts:
    """Chooses contracts, each project's once.

    Args:
        configurations: the options for each file.
        cache: whether contracts that are derived from a source tree are kept for the next run.
    """

    def __init__(self, configurations: Configurations, *, cache: bool = False) -> None:
        self._configurations = configurations
        self._cache = cache
        self._choices: dict[tuple[str, str, str], Choice] = {}
        self._roots: dict[str, str] = {}

    def for_file(self, path: str) -> Choice:
        """The contract for the file at ``path``.

        Raises:
            store.UnknownRelease: there is none for what is asked for.
        """
        folder = os.path.dirname(os.path.abspath(path))
        root = self._roots.get(folder)
        if root is None:
            root = self._roots[folder] = project_root(folder)
        options = self._configurations.for_file(path)
        request = (options.mcore, options.mcore_by, root)
        choice = self._choices.get(request)
        if choice is None:
            made = choose(options.mcore, root, cache=self._cache, by=options.mcore_by)
            # projects that use the same release share its contract, and its verdicts
            known = [choice.contract for choice in self._choices.values()]
            shared = next((contract for contract in known if contract == made.contract), made.contract)
            choice = self._choices[request] = made._replace(contract=shared)
        return choice

    def modules(self, path: str) -> list[str]:
        """Every recompute module that a release has or had, and those of the Megatron-Core that ``path`` is for."""
        return list(dict.fromkeys((*MODULES, *self.for_file(path).contract.modules)))
