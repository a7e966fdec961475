"""Scripts of projects whose Megatron is not, or not only, Megatron-LM."""

from __future__ import annotations

import pytest

OLD_PARSER = "group.add_argument('--checkpoint-activations', action='store_true')\n"
HALF = "--recompute-granularity full --recompute-method uniform"  # and no number of layers


def found(lint, files: dict[str, str]) -> list[tuple[int, str]]:
    return [(line, code) for _, line, _, code in lint({".git/HEAD": "", **files}, mcore="0.16.1")]


def script(flags: str, program: str = "pretrain_gpt.py") -> dict[str, str]:
    return {"scripts/run.sh": f"torchrun {program} --num-layers 8 {flags}\n"}


def test_without_a_sign_of_one_megatron_core_is_the_law(lint) -> None:
    assert found(lint, script(HALF)) == [(1, "RCL104")]
    assert found(lint, script("--checkpoint-activations")) == [(1, "RCL208")]


def test_a_parser_from_before_2024_has_defaults_of_its_own(lint) -> None:
    fork = {"megatron/arguments.py": OLD_PARSER}
    assert found(lint, {**fork, **script(HALF)}) == []
    assert found(lint, {**fork, **script("--checkpoint-activations")}) == []
    assert found(lint, {**fork, **script("--recompute-granularity fulll")}) == [(1, "RCL101")]


def test_one_that_has_given_the_old_switch_up(lint) -> None:
    fork = {"megatron/arguments.py": "# --checkpoint-activations is no longer valid\n"}
    assert found(lint, {**fork, **script("--checkpoint-activations")}) == [(1, "RCL208")]


def test_another_repository_above_says_nothing(lint) -> None:
    inner = {f"inner/{name}": text for name, text in {".git/HEAD": "", **script(HALF)}.items()}
    assert found(lint, {"megatron/arguments.py": OLD_PARSER, **inner}) == [(1, "RCL104")]


@pytest.mark.parametrize("program", ["pretrain_gpt.py", "$HERE/pretrain_gpt.py", "./pretrain_gpt.py"])
def test_a_program_that_patches_megatron_core(lint, program: str) -> None:
    patched = {"pretrain_gpt.py": "import os\nfrom mindspeed_llm import megatron_adaptor\n"}
    flags = "--recompute-granularity full --recompute-method block --recompute-num-layers 1 --mtp-num-layers 1"
    assert found(lint, script(flags, program)) == [(1, "RCL112")]
    assert found(lint, {**patched, **script(flags, program)}) == []


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ("", [(1, "RCL209")]),
        ("--recompute-in-advance", []),  # MindSpeed's, which works with the number
        ("--recompute-granularty full", [(1, "RCL206")]),  # unknown to all; without it, the number would count
        ("--recompute-loss-function", [(1, "RCL209")]),  # slime's, about something else
    ],
)
def test_flags_of_its_own(lint, more: str, codes: list[tuple[int, str]]) -> None:
    assert sorted(found(lint, script(f"--recompute-num-layers 8 {more}"))) == codes


def test_a_program_above_the_repository_is_not_read(lint) -> None:
    inner = {f"inner/{name}": text for name, text in {".git/HEAD": "", **script(HALF, "../../pretrain.py")}.items()}
    assert found(lint, {"pretrain.py": "import mindspeed\n", **inner}) == [(1, "RCL104")]
