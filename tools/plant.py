#!/usr/bin/env python3
"""Plant mistakes at real places, one at a time, and count how many of them the linter finds.

    python tools/plant.py CHECKOUTS [--each 300] [--seed 13] [--verbose]

CHECKOUTS is a folder with one checkout for each repository, named ``OWNER+NAME``, and beside it, in ``OWNER+NAME.rev``,
its commit. A place is a setting of recomputation with a value that is written out; :mod:`mistakes` finds them and knows
what is right before the linter is asked. Tests, documents and logs are left out, and so are Python files that read or
declare the settings themselves: the insides of frameworks.

A mistake is found when the linter has a finding of one of the rules that are right for it, at the settings that stand
together, or in a file that they inherit from. Every other finding that was not there before is listed: it is a false
one, unless the table of consequences has it.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from recompute_lint import Diagnostic, lint_text  # noqa: E402
from recompute_lint.lint_rules.registry import RULES  # noqa: E402
from tools.mistakes import CONSEQUENCES, Mistake, groups, mistakes, places  # noqa: E402

#: The repositories, each with its framework.
FRAMEWORKS = {
    "AMD-AGI/Primus": "primus",
    "GeodesicResearch/geodesic-megatron": "megatron-bridge",
    "ISEEKYAN/mbridge": "megatron-lm",
    "L-hongbin/slime-kernel-agent": "slime",
    "NVIDIA-NeMo/Megatron-Bridge": "megatron-bridge",
    "NVIDIA-NeMo/RL": "nemo-rl",
    "NVIDIA/Megatron-LM": "megatron-lm",
    "NVIDIA/NeMo": "nemo",
    "NVIDIA/NeMo-Aligner": "nemo",
    "NVIDIA/NeMo-Framework-Launcher": "nemo",
    "NVIDIA/dgxc-benchmarking": "megatron-bridge",
    "ROCm/Megatron-LM": "megatron-lm",
    "THUDM/slime": "slime",
    "alibaba/Pai-Megatron-Patch": "megatron-lm",
    "alibaba/ROLL": "roll",
    "bigscience-workshop/Megatron-DeepSpeed": "megatron-lm",
    "epfLLM/Megatron-LLM": "megatron-lm",
    "flagos-ai/Megatron-LM-FL": "megatron-lm",
    "fyh2001/megatron-sft-recipes": "ms-swift",
    "inclusionAI/AReaL": "areal",
    "krafton-ai/Megatron-Dion": "megatron-lm",
    "mlcommons/training_results_v5.0": "nemo",
    "modal-labs/multinode-training-guide": "slime",
    "modelscope/ms-swift": "ms-swift",
    "radixark/miles": "slime",
    "swiss-ai/Megatron-LM": "megatron-lm",
    "verl-project/verl-recipe": "verl",
    "volcengine/verl": "verl",
    "yanring/Megatron-MoE-ModelZoo": "megatron-lm",
    "Ascend/MindSpeed": "mindspeed",
    "Ascend/MindSpeed-LLM": "mindspeed",
    "Ascend/MindSpeed-MM": "mindspeed",
    "Ascend/MindSpeed-RL": "mindspeed-rl",
    "FlagOpen/FlagScale": "flagscale",
    "NVIDIA-NeMo/Automodel": "automodel",
    "NovaSky-AI/SkyRL": "skyrl",
    "RLinf/RLinf": "rlinf",
    "alibaba/ChatLearn": "chatlearn",
    "AMD-AGI/Primus-SaFE": "primus",
    "Kimsale/qwen3.5_35B_mindspeed": "mindspeed",
    "OpenEuroLLM/Megatron-Bridge-utils": "megatron-bridge",
    "budcankui-dev/Mindspeed-AE": "mindspeed",
    "chennyso/Megatron-LM": "megatron-lm",
    "frankyaoxiao/ms-swift-MoE": "ms-swift",
    "hsushuai/ms-swift-scripts": "ms-swift",
    "kaiko-ai/Megatron-Bridge": "megatron-bridge",
    "llm-jp/scripts": "megatron-lm",
    "marin-community/MarinSkyRL": "skyrl",
    "momo609/mindspeed": "mindspeed",
    "montehoover/verl": "verl",
    "okoge-kaz/Megatron-Bridge": "megatron-bridge",
    "shangxt10/verl_mindspeedmm": "verl",
    "xingyaoww/code-act": "megatron-lm",
    "zidanehuang001/Megatron-Bridge": "megatron-bridge",
    "zyzshishui/slime": "slime",
}

#: The frameworks whose dialects are the oldest, and slime, whose scripts are Megatron-LM's; the others are read since.
KNOWN = frozenset(
    {"areal", "megatron-bridge", "megatron-lm", "ms-swift", "nemo", "nemo-rl", "primus", "roll", "slime", "verl"}
)

#: File types by suffix; what has none of these is not planted in.
TYPES = {
    ".bash": "script",
    ".json": "json",
    ".mk": "script",
    ".py": "python",
    ".sbatch": "script",
    ".sh": "script",
    ".slurm": "script",
    ".sub": "script",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".ipynb": "notebook",
}

_SETTING = r"(?:recompute[_-](?:granularity|method|num[_-]layers|modules)|activations_checkpoint_\w+)"

#: Folders and files that no user writes a training into: tests, documents, and the insides of frameworks.
_LEFT_OUT = re.compile(
    r"(?:^|/)(?:tests?|tests_extend|unit_tests|functional_tests|test_cases|docs?|skills|logs?|ci|third_party|megatron/core)/"
    r"|(?:^|/)(?:mindspeed|nemo/collections)/(?!llm/recipes)"
    r"|(?:^|/)(?:test_[^/]*|[^/]*_test)\.\w+$|(?:^|/)(?:conftest|arguments|config_utils)\.py$|golden_values",
    re.IGNORECASE,
)
#: What a file has that hands its settings to something other than Megatron.
_ELSEWHERE = re.compile(r"^\s*training_backend: *[\"']?fsdp", re.MULTILINE)
#: What a Python file that reads or declares the settings has in it.
_INTERNAL = re.compile(
    rf"add_argument\(\s*[\"']--{_SETTING}|(?:\bif\b|\bassert\b|\belif\b)[^\n]*{_SETTING}"
    rf"|{_SETTING}[\"']?\s*(?:==|!=|\bin\b|\bis\b|\bnot\b)|^[ \t]+{_SETTING}[ \t]*:[ \t]*[\w\[\]. |\"',]+(?:=|$)"
    rf"|getattr\([^\n]*{_SETTING}|\.get\(\s*[\"']{_SETTING}",
    re.MULTILINE,
)


class Result(NamedTuple):
    """What became of a mistake."""

    repository: str
    framework: str
    file: str
    file_type: str
    form: str
    mistake: Mistake
    line: int
    found: bool
    #: The findings that were not there before, are not right for the mistake, and do not follow from it.
    others: tuple[str, ...]


def files(root: Path) -> Iterator[tuple[str, str, str]]:
    """The files of a checkout that settings are planted in: path, type and text."""
    for folder, names, entries in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for entry in sorted(entries):
            path = Path(folder, entry)
            relative = path.relative_to(root).as_posix()
            file_type = TYPES.get(path.suffix) or ("script" if entry in ("Makefile", "Dockerfile") else "")
            if not file_type or _LEFT_OUT.search(relative) or not path.is_file() or path.stat().st_size > 2**20:
                continue
            content = path.read_bytes()
            if b"recompute" not in content and b"activations_checkpoint" not in content:
                continue
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError:
                continue
            if not (file_type == "python" and _INTERNAL.search(text)) and not _ELSEWHERE.search(text):
                yield relative, file_type, text


class _Candidate(NamedTuple):
    path: str
    file_type: str
    form: str
    line: int
    mistake: Mistake


def _candidates(root: Path, framework: str, seed: int) -> Iterator[_Candidate]:
    """Every mistake that can be planted in a checkout."""
    for path, file_type, text in files(root):
        for group in groups(places(text, file_type)):
            first = group.get("granularity") or next(iter(group.values()))
            chance = random.Random(f"{seed} {path} {first.key}")
            for mistake in mistakes(text, group, framework, chance):
                yield _Candidate(path, file_type, first.form, first.line, mistake)


def plant_in(root: Path, each: int, seed: int, mcore: str, framework: str) -> Iterator[Result]:
    """Plant a sample of ``each`` mistakes in a checkout."""
    repository = root.name.replace("+", "/")
    candidates = list(_candidates(root, framework, seed))
    chosen = random.Random(f"{seed} {repository}").sample(candidates, min(each, len(candidates)))
    before: dict[str, list[Diagnostic]] = {}
    for candidate in sorted(chosen, key=lambda one: (one.path, one.line, one.mistake.kind)):
        path, mistake = root / candidate.path, candidate.mistake
        text = path.read_bytes().decode("utf-8")
        if candidate.path not in before:
            before[candidate.path] = lint_text(text, path, mcore=mcore, isolated=True).diagnostics
        planted = mistake.planted(text)
        after = lint_text(planted, path, mcore=mcore, isolated=True).diagnostics
        found, others = judge(mistake, before[candidate.path], after, planted.count("\n") - text.count("\n"), path)
        yield Result(repository, framework, *candidate[:3], mistake, candidate.line, found, others)


def judge(
    mistake: Mistake, before: list[Diagnostic], after: list[Diagnostic], added: int, path: Path
) -> tuple[bool, tuple[str, ...]]:
    """Whether a mistake was found, and what else appeared that does not follow from it.

    A finding that was there before at other settings, in the same words, does not hide a new one at these.

    Args:
        mistake: what was planted.
        before: the findings without it.
        after: those with it.
        added: how many lines it adds.
        path: the file.
    """
    known = Counter((one.code, one.message, _is_near(mistake, one, 0)) for one in before)
    found, others = False, []
    for diagnostic in after:
        key = (diagnostic.code, diagnostic.message, _is_near(mistake, diagnostic, added))
        known[key] -= 1
        if known[key] >= 0:
            continue
        rule, line = RULES[diagnostic.code].name, diagnostic.span.line
        inherited = Path(diagnostic.span.path).name != path.name
        if rule in mistake.right and (inherited or _is_near(mistake, diagnostic, added)):
            found = True
        elif rule not in CONSEQUENCES.get(mistake.kind, ()):
            others.append(f"{line}: {diagnostic.code} {diagnostic.message}")
    return found, tuple(others)


def _is_near(mistake: Mistake, diagnostic: Diagnostic, added: int) -> bool:
    return mistake.lines[0] - 1 <= diagnostic.span.line <= mistake.lines[1] + 1 + added


def table(title: str, results: list[Result], key: Callable[[Result], str]) -> Iterator[str]:
    """Rows of Markdown: how many were planted and found, by something."""
    yield f"| {title} | planted | found | recall |"
    yield "|---|---:|---:|---:|"
    for name in sorted({key(result) for result in results}):
        own = [result for result in results if key(result) == name]
        hits = sum(result.found for result in own)
        yield f"| {name} | {len(own)} | {hits} | {100 * hits / len(own):.1f} % |"


def report(results: list[Result], commits: dict[str, str], *, verbose: bool) -> Iterator[str]:
    """The tables, and what appeared that was not planted."""
    known = [result for result in results if result.framework in KNOWN]
    for name, own in (("files of the frameworks known longest", known), ("all files", results)):
        hits = sum(result.found for result in own)
        yield f"{name}: {hits} of {len(own)} found, {100 * hits / max(1, len(own)):.2f} %"
    yield ""
    keys: dict[str, Callable[[Result], str]] = {
        "mistake": lambda result: result.mistake.kind,
        "framework": lambda result: result.framework,
        "file type": lambda result: result.file_type,
        "repository": lambda result: f"{result.repository} {commits.get(result.repository, '')}".strip(),
    }
    for title, key in keys.items():
        yield from table(title, results, key)
        yield ""
    appeared = [(result, other) for result in results for other in result.others]
    yield f"{len(appeared)} findings appeared that were not planted."
    for result, other in appeared if verbose else appeared[:40]:
        yield f"  {result.repository} {result.file}:{other}  ({result.mistake.kind} at {result.line})"
    if verbose:
        yield ""
        for result in results:
            if not result.found:
                place = f"{result.repository} {result.file}:{result.line}"
                yield f"missed: {place} [{result.form}] {result.mistake.kind} ({result.framework})"


def main() -> int:
    """Run; exit 1 where something appeared that was not planted."""
    parser = argparse.ArgumentParser(description="Plant mistakes at real places, and count how many are found.")
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--each", type=int, default=300, help="mistakes for each repository, at most (default: 300)")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--mcore", default="0.16.1")
    parser.add_argument("--only", action="append", help="only repositories whose name has this in it")
    parser.add_argument("-v", "--verbose", action="store_true", help="list every mistake that is missed")
    options = parser.parse_args()
    results: list[Result] = []
    commits = {}
    for root in sorted(path for path in options.checkouts.iterdir() if path.is_dir()):
        name = root.name.replace("+", "/")
        if name not in FRAMEWORKS or (options.only and not any(part in name for part in options.only)):
            continue
        revision = root.with_name(f"{root.name}.rev")
        commits[name] = revision.read_text().split()[0] if revision.exists() else ""
        results.extend(plant_in(root, options.each, options.seed, options.mcore, FRAMEWORKS[name]))
    print("\n".join(report(results, commits, verbose=options.verbose)))
    return 1 if any(result.others for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
