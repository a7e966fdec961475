"""Whether the Megatron-Core that smoke and bench would run is the one that the recipes are written for."""

from __future__ import annotations

from collections.abc import Iterable

from ...schemas import detect, store
from ...schemas.choose import statement
from ...sources.projects import project_root
from ..options import Configurations, UsageError


def check(files: Iterable[str], options: Configurations) -> None:
    """Refuse to run another release than the project of a file, or its configuration, names.

    What names no release, such as a source tree that is in use as it is, is not compared.

    Raises:
        UsageError: the release that is installed is another; the message names both, and how to have the right one.
    """
    running = detect.importable()
    if running is None or not running.version:
        return  # that there is none is said by what runs it
    for root, mcore, by in dict.fromkeys((project_root(file), *_configured(options, file)) for file in files):
        if mcore:
            release = store.released(mcore) or store.newest_in(mcore)
            if release and release != (store.released(running.version) or running.version):
                raise _another(f"{by} sets megatron-core {mcore}", release, running)
        elif (said := statement(root)) is not None and not said.allows(running.version):
            exact = said.hint.version
            where = f"megatron-core {exact} is {said.hint.where}" if exact else f"megatron-core is {said.hint.where}"
            raise _another(where, said.choice.contract.version, running)


def _configured(options: Configurations, file: str) -> tuple[str, str]:
    found = options.for_file(file)
    return found.mcore, found.mcore_by


def _another(said: str, release: str, running: detect.Hint) -> UsageError:
    return UsageError(
        f"{said}, and {running.version} is {running.where}: what runs would say nothing of {release}. "
        f"Install megatron-core=={release} there; as a hook, with "
        f"additional_dependencies: ['.[smoke]', megatron-core=={release}]. --mcore installed runs it all the same"
    )
