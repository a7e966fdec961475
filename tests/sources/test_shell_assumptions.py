"""What a script tests of a variable holds in the branch that the test leads to."""

from collections.abc import Callable

import pytest

FULL = "--recompute-method uniform --recompute-num-layers 1"
RUN = "python pretrain_gpt.py --recompute-granularity $R $M\n"
DEFAULTS = [': "${R:=selective}"\n', "R=${R:-selective}\n", "R=selective\n"]


@pytest.mark.parametrize("default", DEFAULTS)
@pytest.mark.parametrize(
    "test",
    [
        f'if [ "$R" = full ]; then\n  M="{FULL}"\nfi\n',
        f'if [[ $R == "full" ]]; then M="{FULL}"; fi\n',
        f'if test $R != selective; then M="{FULL}"; fi\n',
        f'[ "$R" = full ] && M="{FULL}"\n',
        f'case "$R" in\n  full|all) M="{FULL}" ;;\nesac\n',
        f'if [ $N ]; then :; elif [ "$R" = full ]; then M="{FULL}"; fi\n',
    ],
)
def test_another_value_is_unknown_there(default: str, test: str, lint: Callable) -> None:
    assert not lint({"a.sh": f"{default}M=\n{test}{RUN}"})


@pytest.mark.parametrize("default", DEFAULTS)
@pytest.mark.parametrize(
    "test",
    [
        f'if [ "$R" = selective ]; then M="{FULL}"; fi\n',
        f'if [ "$R" != full ]; then M="{FULL}"; fi\n',
        f'if [ -n "$R" ]; then M="{FULL}"; fi\n',
        f'if [ "$OTHER" = full ]; then M="{FULL}"; fi\n',
        f'case $R in\n  full) ;;\n  selective) M="{FULL}" ;;\nesac\n',
        f'case $R in\n  full) ;;\n  *) M="{FULL}" ;;\nesac\n',
        f'[ "$R" = full ] || M="{FULL}"\n',
    ],
)
def test_the_value_stands_where_the_test_leaves_it(default: str, test: str, lint: Callable) -> None:
    assert "RCL105" in [code for *_, code in lint({"a.sh": f"{default}M=\n{test}{RUN}"})]
