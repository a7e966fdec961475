"""RCL906: unused suppressions."""

from __future__ import annotations

import json

import pytest

GET = 'x = config.get("recompute_granularity", "full")'
READ = 'x = config["recompute_granularity"]'
RECIPE = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n"


def found(command, text: str, *options: str, name: str = "a.py") -> list[str]:
    asked = ("--extend-select", "RCL906", "--mcore", "0.16.1", *options)
    result = command("check", "--output-format", "json", *asked, name, files={name: text})
    return [f"{entry['code']} {entry['message']}" for entry in json.loads(result.out)]


@pytest.mark.parametrize(
    "text",
    [
        f"{GET}  # noqa: RCL301\n",
        f"{GET}  # recompute-lint: disable=RCL3\n",
        f"{GET}  # recompute-lint: disable=hidden-default\n",
        f"# recompute-lint: disable=RCL301\n{READ}\n{GET}\n",
        f"# recompute-lint: disable-next-line=RCL301\n{GET}\n",
        f"{READ}\n# recompute-lint: disable=RCL301\n{GET}\n# recompute-lint: enable=RCL301\n",
        f"{READ}  # noqa\n",
        f"{READ}  # noqa: E501\n",
        f'{READ}\ny = "# noqa: RCL301"\n',
        f"{READ}  # noqa: RCL301, RCL906\n",
    ],
)
def test_leaves_alone(command, text):
    assert found(command, text) == []


@pytest.mark.parametrize(
    ("comment", "idle"),
    [
        ("# noqa: RCL301", "RCL301"),
        ("# NOQA: rcl301,RCL302", "RCL301, RCL302"),
        ("# why not  # recompute-lint: disable=RCL2", "RCL2"),
        ("# recompute-lint: disable=all", "all"),
    ],
)
def test_reports(command, comment, idle):
    assert found(command, f"{READ}  {comment}\n") == [f"RCL906 unused suppression of {idle}"]


def test_reports_one_for_the_next_line(command):
    text = f"# recompute-lint: disable-next-line=RCL301\n{READ}\n{GET}\n"
    assert found(command, text)[0] == "RCL906 unused suppression of RCL301"


def test_only_what_is_asked_for(command):
    text = f"{READ}  # noqa: RCL301\n"
    assert command("check", "a.py", files={"a.py": text}).code == 0
    assert command("check", "--select", "RCL", "a.py").code == 0
    assert command("check", "--select", "unused-suppression", "a.py").code == 0  # RCL301 has not run
    assert command("check", "--select", "RCL301,unused-suppression", "a.py").code == 1


def test_says_nothing_of_rules_that_have_not_run(command):
    assert found(command, f"{READ}  # noqa: RCL301\n", "--ignore", "RCL301") == []
    lists = f"{READ}  # noqa: RCL303\n"
    assert len(found(command, lists)) == 1
    assumed = command("check", "--extend-select", "RCL906", "a.py", files={"a.py": lists})
    assert assumed.code == 0


@pytest.mark.parametrize("name", ["a.yaml", "run.sh"])
def test_in_other_files(command, name):
    text = RECIPE if name == "a.yaml" else "torchrun pretrain_gpt.py --recompute-activations\n"
    assert found(command, f"# recompute-lint: disable=RCL1\n{text}", name=name) == ["RCL906 unused suppression of RCL1"]
    assert found(command, f"x: 'a # noqa: RCL1'\n{text}", name=name) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{READ}  # noqa: RCL301\n", f"{READ}\n"),
        (f"{READ}  # ours  # noqa: RCL301\n", f"{READ}  # ours\n"),
        (f"{GET}  # noqa: E501, RCL302 ,RCL301\n", f"{GET}  # noqa: E501, RCL301\n"),
        (f"{READ}\n    # noqa: RCL301\nz = 1\n", f"{READ}\nz = 1\n"),
        (f"{READ}  # noqa: RCL301 for now\n", f"{READ}  # noqa: RCL301 for now\n"),
        (f"{READ}  # recompute-lint: disable=RCL301\r\n", f"{READ}\r\n"),
    ],
)
def test_fix(command, before, after):
    files = {"a.py": before.encode()}
    command("check", "--fix", "--mcore", "0.16.1", "--extend-select", "RCL906", "a.py", files=files)
    with open("a.py", "rb") as stream:
        assert stream.read() == after.encode()
