"""What README has for Neovim works in Neovim: findings, hovering, completion, and a quick fix."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, write

NVIM = shutil.which("nvim", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))


def is_new_enough() -> bool:
    """Whether there is a Neovim that has ``vim.lsp.config``."""
    if NVIM is None:
        return False
    said = subprocess.run([NVIM, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"NVIM v(\d+)\.(\d+)", said)
    return found is not None and (int(found[1]), int(found[2])) >= (0, 11)


RECIPE = "policy:\n  megatron_cfg:\n    recompute_granularity: selective\n    recompute_modules: [layernorm, moe_atc]\n"
DRIVE = """
vim.cmd("edit a.yaml")
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 50)
for _, found in ipairs(vim.diagnostic.get(0)) do print(found.lnum, found.col, found.code, found.source) end
local client = vim.lsp.get_clients({ name = "recompute_lint" })[1]
local at = { textDocument = vim.lsp.util.make_text_document_params(0), position = { line = 3, character = 37 } }
local hover = client:request_sync("textDocument/hover", at, 30000, 0)
print((hover.result.contents.value:gsub("\\n.*", "")))
local offered = client:request_sync("textDocument/completion", at, 30000, 0).result
print("completions", #(offered.items or offered))
vim.api.nvim_win_set_cursor(0, { 4, 36 })
vim.lsp.buf.code_action({ filter = function(one) return one.title:match("moe_act") ~= nil end, apply = true })
vim.wait(30000, function() return vim.fn.getline(4):match("moe_act") ~= nil end, 50)
print(vim.fn.getline(4))
vim.cmd("qa!")
"""


def snippet() -> str:
    """README's lines for Neovim."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"(?s)In Neovim, from 0\.11 on:\n\n```lua\n(.*?)```", text)
    assert found is not None
    return found[1]


def test_both_pages_have_the_same_snippet():
    page = (ROOT / "editors" / "README.md").read_text(encoding="utf-8")
    (lua,) = re.findall(r"(?s)```lua\n(.*?)```", page)
    assert "".join(lua.split()).replace(",}", "}") == "".join(snippet().split()).replace(",}", "}")


@pytest.mark.skipif(not is_new_enough(), reason="needs Neovim 0.11")
def test_readmes_snippet(tmp_path):
    program = f'#!/bin/sh\nexec "{sys.executable}" -m recompute_lint "$@"\n'
    beside = {"init.lua": snippet(), "drive.lua": DRIVE, "bin/recompute-lint": program, ".git/HEAD": ""}
    write(tmp_path, {"a.yaml": RECIPE, **beside})
    (tmp_path / "bin" / "recompute-lint").chmod(0o755)
    homes = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, **homes, "PATH": path, "RECOMPUTE_LINT_MCORE": "0.16.1"}
    command = [str(NVIM), "--headless", "--clean", "-u", "init.lua", "-S", "drive.lua"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200)
    said = done.stdout + done.stderr
    lines = said.splitlines()
    assert lines[0].split() == ["3", "35", "RCL106", "recompute-lint"], said
    assert lines[1].startswith("**RCL106 unknown-module**: ")
    assert lines[2] == "completions 6"
    assert lines[3] == "    recompute_modules: [layernorm, moe_act]"
