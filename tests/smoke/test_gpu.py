"""The path that a run on a GPU takes, with ``torch.cuda`` answered by a stand-in (see :mod:`.fake_gpu`)."""

import json
import mmap
import os
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

from recompute_lint.smoke import bench, cli, run, sizes, smoke
from recompute_lint.smoke.request import GIB, SmokeOptions

from .conftest import DENSE, MLA, MOE, _needs, full, selective, site

ROOT = Path(__file__).resolve().parents[2]

#: What the frameworks turn on, and a GPU without Transformer Engine and Apex cannot have.
FUSIONS = {
    "masked_softmax_fusion": True,
    "gradient_accumulation_fusion": True,
    "persist_layer_norm": True,
    "apply_rope_fusion": True,
}


@pytest.fixture
def on_gpu(tmp_path):
    """Run one job of the child's on a GPU that is a stand-in."""
    _needs("torch", "megatron")

    def run(settings, *, job="smoke", device="cuda", packages=None, **more):
        for name, text in (packages or {}).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        planned = sizes.plan(site(settings), SmokeOptions())
        small = {**planned.settings, "num_layers": 1}
        request = {
            "job": job,
            "device": device,
            "memory_limit": 6 * GIB,
            "fused": job == "bench" or bool(settings.get("multi_latent_attention")),
            "settings": small,
            "real": small,
            "run": planned.run,
            "parallel": {},
            "variants": [{"name": "recipe", "settings": small}],
            "repeats": 2,
            "warm_up": 1,
            **more,
        }
        done = subprocess.run(
            [sys.executable, "-m", "tests.smoke.fake_gpu", str(tmp_path)],
            input=json.dumps(request), capture_output=True, text=True, timeout=200, cwd=ROOT, check=False,
            # No compiler is at hand for "cuda" tensors that live on a CPU.
            env={**os.environ, "TORCHDYNAMO_DISABLE": "1", "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_without_transformer_engine_a_bench_times_torch_attention_and_says_so(on_gpu):
    found = on_gpu({**DENSE, **selective("mlp")}, job="bench")
    assert "TorchCoreAttention" in found["attentions"]
    (line,) = [line for line in found["result"]["environment"]["stand_ins"] if "core attention" in line]
    assert line.startswith("Transformer Engine: it is not installed; ")
    assert "scaled_dot_product_attention" in line
    (row,) = found["rows"]
    assert row.get("reason") is None
    assert {name: len(times) for name, times in found["result"]["times"]["recipe"].items()} == {"step": 2, "layer": 2}


def test_without_transformer_engine_smoke_runs_the_attention_that_megatron_core_has(on_gpu):
    found = on_gpu({**DENSE, **selective("core_attn")})
    assert found["result"]["verdict"] == "pass", found["result"]
    assert "DotProductAttention" in found["attentions"]
    assert any("Megatron-Core's own" in line for line in found["result"]["environment"]["stand_ins"])
    assert found["devices"] == ["cuda"]


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({**MLA, **selective("mla_up_proj")}, id="latent attention"),
        pytest.param({**MOE, **selective("moe")}, id="experts"),
        pytest.param({**DENSE, "attention_dropout": 0.1, **full()}, id="dropout"),
    ],
)
def test_other_models_pass_without_transformer_engine(on_gpu, settings):
    found = on_gpu(settings, fused=True)
    assert found["result"]["verdict"] == "pass", found["result"]


def test_fusions_that_nothing_there_has_are_off_and_said(on_gpu):
    found = on_gpu({**DENSE, **FUSIONS, "bf16": True, **selective("mlp")})
    assert found["result"]["verdict"] == "pass", found["result"]
    assert found["configs"] == dict.fromkeys(FUSIONS, False)
    assert found["result"]["environment"]["settings_off"] == sorted(FUSIONS)


def test_cuda_graphs_are_not_captured_and_that_is_the_reason(on_gpu):
    result = on_gpu({**DENSE, "cuda_graph_impl": "local", "attention_dropout": 0.0, **selective("core_attn")})["result"]
    assert result["verdict"] == "not-run"
    assert result["reason"].startswith("CUDA graphs are captured by the training schedule")


@pytest.mark.parametrize(("job", "masked"), [("bench", False), ("smoke", True)])
def test_a_mask_is_made_only_for_attention_that_reads_it_and_on_the_device(on_gpu, job, masked):
    found = on_gpu({**DENSE, **selective("mlp")}, job=job)
    assert set(found["masks"]) == {masked}
    assert found["given"].get("ones", 0) > 0 if masked else True


def test_the_allocator_is_asked_before_and_after_forward(on_gpu):
    result = on_gpu({**DENSE, **selective("mlp")})["result"]
    # The stand-in says 1000 more at every question: after forward, and after backward.
    assert result["allocated_off"] == result["allocated_on"] == {"forward": 1000, "left": 2000}


def test_a_full_gpu_is_no_verdict_on_the_recipe(on_gpu):
    result = on_gpu({**DENSE, **selective("mlp")}, full=True)["result"]
    assert result["verdict"] == "not-run"
    assert "says nothing of the recipe" in result["reason"]


def test_the_first_step_has_a_stage_with_a_deadline_of_its_own(on_gpu):
    stages = on_gpu({**DENSE, **selective("mlp")})["stages"]
    assert stages.index("warm-up") + 1 == stages.index("warmed up")


def test_nothing_is_compiled_while_hooks_are_attached(on_gpu):
    events = on_gpu({**DENSE, **selective("mlp")}, job="bench")["events"]
    assert events.count("hooks") == 2
    assert all(events[number - 1] == "step" for number, event in enumerate(events) if event == "hooks")


def test_variants_are_timed_in_turn_over_the_same_weights(on_gpu):
    planned = sizes.plan(site({**DENSE, **full()}), SmokeOptions()).settings
    none = {**sizes.without_recompute(planned), "num_layers": 1}
    variants = [{"name": "none", "settings": none}, {"name": "mlp", "settings": {**none, **selective("mlp")}}]
    found = on_gpu({**DENSE, **full()}, job="bench", variants=variants, repeats=2)
    assert [row.get("reason") for row in found["rows"]] == [None, None]
    # After the warm-up each round has a step of one layer and one of two, of each variant before the next round.
    rounds = found["timed"][-8:]
    assert [step[:2] for step in rounds] == [[None, 1], [None, 2], ["selective", 1], ["selective", 2]] * 2
    assert len({weight for *_, weight in found["timed"]}) == 1
    taken = [seconds for _, _, seconds, _ in rounds]
    times = found["result"]["times"]["mlp"]
    assert times == {"step": [taken[2], taken[6]], "layer": [taken[3] - taken[2], taken[7] - taken[6]]}


def test_a_variant_that_ends_its_child_is_left_out_and_the_others_are_timed_together(monkeypatch):
    """Variants are timed in turn, so those that were measured before it are measured again."""
    asked = []
    row = {"saved": 5, "allocated": 6, "peak": 7, "flops": 8, "layer_flops": 4}

    def run_child(request, **limits):
        names = [variant["name"] for variant in request["variants"]]
        asked.append(names)
        if "full" in names:
            return run.Outcome(None, "out-of-memory", "it is full", None, None, 0.0, 0, [row] * names.index("full"))
        times = {name: {"step": [0.02, 0.04], "layer": [0.01, 0.01]} for name in names}
        times["none"] = {"reason": "RuntimeError: no kernel"}
        return run.Outcome({"times": times}, None, None, None, None, 0.0, 0, [row] * len(names))

    monkeypatch.setattr(run, "run_child", run_child)
    planned = sizes.plan(site({**DENSE, **full()}), SmokeOptions())
    rows = bench._measure(planned, {"timed": True}, {}, lambda stage: None)
    assert asked[1] == [name for name in asked[0] if name not in ("full", "recipe: full, uniform, 1")] + asked[0][-1:]
    by_name = {each.variant: each for each in rows}
    assert by_name["full"].reason == "out-of-memory: it is full"
    assert (by_name["none"].saved, by_name["none"].seconds, by_name["none"].reason) == (
        5,
        None,
        "RuntimeError: no kernel",
    )
    mlp = by_name["selective: mlp"]
    assert (mlp.seconds, mlp.layer_seconds, mlp.allocated) == (pytest.approx(0.03), 0.01, 6)
    assert mlp.tokens_per_second == pytest.approx(planned.run["seq_length"] * planned.run["micro_batch_size"] / 0.03)


@pytest.mark.parametrize(
    ("settings", "is_open", "expected"),
    [
        pytest.param({}, True, (True, "bf16", 8192, None), id="open: bf16, as frameworks train a checkpoint"),
        pytest.param({"params_dtype": "fp32"}, True, (None, "fp32", 8192, None), id="a precision that is said"),
        pytest.param({}, False, (None, None, 8192, None), id="closed: Megatron-LM's own default"),
        pytest.param({"context_parallel_size": 8}, False, (None, None, 1024, None), id="a rank's part of a sequence"),
        pytest.param(
            {"num_moe_experts": 64, "moe_router_topk": 6, "expert_model_parallel_size": 8},
            False, (None, None, 8192, 8), id="an expert-parallel rank's experts",
        ),
        pytest.param(
            {"num_moe_experts": 64, "moe_router_topk": 6, "expert_model_parallel_size": 32},
            False, (None, None, 8192, 6), id="as many as a token goes to",
        ),
        pytest.param(
            {"num_moe_experts": 256, "moe_router_topk": 8, "moe_router_num_groups": 8, "moe_router_group_topk": 4,
             "expert_model_parallel_size": 64},
            False, (None, None, 8192, 16), id="and enough in each group of the router's",
        ),
    ],
)  # fmt: skip
def test_a_bench_on_a_gpu_has_what_one_rank_of_the_recipe_has(settings, is_open, expected):
    where = site({**DENSE, "seq_length": 8192, **settings, **full()}, is_open=is_open)
    options = SmokeOptions()
    planned = bench._with_bench_sizes(sizes.plan(where, options), options, True)
    if is_open:
        bench._in_half_precision(planned)
    names = ("bf16", "params_dtype")
    found = (*map(planned.settings.get, names), planned.run["seq_length"], planned.settings.get("num_moe_experts"))
    assert found == expected
    changed = [line for line in planned.reduced if "parallel rank's" in line]
    assert len(changed) == (expected[2] != 8192) + (expected[3] is not None)


#: Transformer Engine and Apex of a machine with a GPU: their import is a mistake on "cpu".
GPU_PACKAGES = {
    "transformer_engine/__init__.py": "",
    "transformer_engine/pytorch/__init__.py": "",
    "transformer_engine_torch/__init__.py": "",
    "apex/__init__.py": "",
    "apex/normalization/__init__.py": "",
    "grouped_gemm/__init__.py": "raise RuntimeError('a kernel of a GPU')",
}


def test_a_run_on_a_cpu_sees_nothing_of_the_gpu_packages_beside_it(on_gpu):
    moe = {**MOE, "moe_grouped_gemm": True, "bf16": True, **selective("moe_act")}
    found = on_gpu(moe, device="cpu", packages=GPU_PACKAGES)
    assert found["result"]["verdict"] == "pass", found["result"]
    assert found["loaded"] == {"transformer_engine": False, "apex": False}


def test_transformer_engine_that_does_not_import_is_as_good_as_none(on_gpu):
    packages = {
        "transformer_engine_torch/__init__.py": "",
        "transformer_engine/__init__.py": "",
        "transformer_engine/pytorch/__init__.py": "raise OSError('undefined symbol: _ZN3c105ErrorC2E')",
    }
    found = on_gpu({**DENSE, **selective("layernorm")}, packages=packages)
    assert found["result"]["verdict"] == "pass", found["result"]
    lines = found["result"]["environment"]["stand_ins"]
    assert any("its import fails: undefined symbol: _ZN3c105ErrorC2E" in line for line in lines)


def _watch(events, memory_limit, seconds):
    process = types.SimpleNamespace(pid=os.getpid())
    return run._Watch(process, events, time.monotonic() + seconds, memory_limit, lambda stage: None)


@pytest.mark.parametrize(
    ("device", "ends"),
    [pytest.param("cpu", "out-of-memory"), pytest.param("cuda", "timeout", id="cuda, where libraries are gigabytes")],
)
def test_on_a_gpu_the_memory_limit_does_not_count_what_is_mapped_from_files(tmp_path, device, ends):
    size = 256 << 20
    path = tmp_path / "library"
    with path.open("wb") as file:
        file.truncate(size)
    limit = run._resident(os.getpid()) + size // 2
    reader, writer = os.pipe()
    os.write(writer, json.dumps({"device": device}).encode() + b"\n")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), size) as mapped, os.fdopen(reader, "rb", 0) as events:
        assert sum(mapped[at] for at in range(0, size, 4096)) == 0
        assert _watch(events, limit, 0.5).until_it_ends() == ends
    os.close(writer)


@pytest.mark.parametrize(("stage", "later"), [("forward, recompute on", False), ("warm-up", True), ("warmed up", True)])
def test_compiling_does_not_eat_the_deadline(stage, later):
    watch = _watch(None, 1, 100.0)
    before = watch._deadline
    time.sleep(0.01)
    watch._take({"stage": stage})
    assert (watch._deadline > before) is later


def test_a_step_does_not_hold_its_gradients_twice(monkeypatch):
    torch = pytest.importorskip("torch")
    from recompute_lint.smoke import measure, ranks, watch

    monkeypatch.setattr(ranks, "seed", lambda: None)
    monkeypatch.setattr(watch, "begin", lambda: None)

    class Model(torch.nn.Linear):
        def forward(self, given):
            return super().forward(given)

    model, made = Model(4, 4), {}
    for name, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(lambda p, name=name: made.update({name: p.grad.data_ptr()}))
    step = measure.step(model, {"given": torch.ones(2, 4)})
    assert {name: gradient.data_ptr() for name, gradient in step.gradients.items()} == made


@pytest.mark.parametrize(
    ("taken", "measured"),
    [
        pytest.param([9.0, 5.0, 5.0, 1.0, 2.0], [1.0, 2.0], id="until a step is no faster than the last"),
        pytest.param([5.0, 5.0, 1.0, 2.0], [1.0, 2.0], id="two at least"),
        pytest.param([2.0**-n for n in range(14)], [2.0**-12, 2.0**-13], id="twelve at most"),
    ],
)
def test_steps_are_timed_when_they_have_stopped_getting_faster(monkeypatch, taken, measured):
    pytest.importorskip("torch")
    from recompute_lint.smoke import measure

    rest = iter(taken)
    monkeypatch.setattr(measure, "timed_step", lambda model, batch: next(rest))
    measure.warm_up(None, {}, 2)
    assert list(rest) == measured


@pytest.mark.parametrize("model", [DENSE, MOE, MLA], ids=["dense", "moe", "mla"])
def test_fp8_has_matrices_of_whole_blocks(model):
    planned = sizes.plan(site({**model, "fp8": "hybrid", **full()}), SmokeOptions())
    names = [name for name in sizes.MODEL_SIZES if name.endswith(("_size", "_rank", "_dim")) or name == "kv_channels"]
    odd = {name: planned.settings[name] for name in names if planned.settings.get(name, 0) % 128}
    assert not odd
    assert planned.run["seq_length"] * planned.run["micro_batch_size"] % 128 == 0


def test_every_rank_says_its_own_reason(monkeypatch, capsys):
    where = site({**DENSE, **full()})
    result = smoke.SiteResult(where, "raised", "RuntimeError: rank 1 alone", None, None, None, {}, {}, 0.0, 0)
    monkeypatch.setattr(smoke, "run_sites", lambda sites, options: [result])
    monkeypatch.setenv("RANK", "1")
    assert cli.main_smoke([where], SmokeOptions()) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "rank 1: recipe.yaml:1: raised: RuntimeError: rank 1 alone\n"


@pytest.mark.parametrize(
    ("parallel", "ranks", "kept"),
    [
        pytest.param({"expert_model_parallel_size": 2}, 2, 2, id="as many as there are"),
        pytest.param({"expert_model_parallel_size": 2}, 1, None, id="one rank"),
        pytest.param({"expert_model_parallel_size": 16}, 16, None, id="more than the experts that are built"),
        pytest.param(
            {"expert_model_parallel_size": 2, "tensor_model_parallel_size": 2},
            2,
            None,
            id="taken by tensor parallelism",
        ),
        pytest.param(
            {"expert_model_parallel_size": 2, "tensor_model_parallel_size": 2, "expert_tensor_parallel_size": 1},
            2,
            2,
            id="experts without tensor parallelism",
        ),
    ],
)
def test_expert_parallelism_is_kept_as_the_ranks_allow(parallel, ranks, kept):
    planned = sizes.plan(site({**MOE, **selective("moe"), **parallel}), SmokeOptions(), ranks)
    assert planned.settings.get("expert_model_parallel_size") == kept
    assert smoke.parallel_sizes(planned.settings).get("expert_model_parallel_size") == kept


def test_two_ranks_share_the_experts(options, tmp_path):
    settings = {**MOE, **selective("moe"), "expert_model_parallel_size": 2}
    driver = tmp_path / "driver.py"
    driver.write_text(
        "from recompute_lint.smoke import cli\n"
        "from recompute_lint.smoke.request import SmokeOptions, SmokeSite\n"
        f"options = SmokeOptions(device='cpu', timeout=120.0, memory_limit={4 * GIB}, output_format='json')\n"
        f"raise SystemExit(cli.main_smoke([SmokeSite('recipe.yaml:1', {settings!r})], options))\n"
    )
    options()
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(driver)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(done.stdout)["sites"]
    assert found["verdict"] == "pass", found["reason"]
    assert found["settings"]["expert_model_parallel_size"] == 2


def test_two_ranks_bench_one_model(options, tmp_path):
    """Every rank starts the same two children, which meet at ``torchrun``'s store one after the other."""
    settings = {**DENSE, **selective("mlp"), "tensor_model_parallel_size": 2, "sequence_parallel": True}
    driver = tmp_path / "driver.py"
    driver.write_text(
        "from recompute_lint.smoke import cli\n"
        "from recompute_lint.smoke.request import SmokeOptions, SmokeSite\n"
        f"options = SmokeOptions(device='cpu', timeout=120.0, memory_limit={4 * GIB}, output_format='json', "
        "predict=False, sizes={'seq_length': 32})\n"
        f"raise SystemExit(cli.main_bench([SmokeSite('recipe.yaml:1', {settings!r})], options))\n"
    )
    options()
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(driver)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["settings"]["tensor_model_parallel_size"] == 2
    assert all(row["saved"] for row in found["rows"]), found["rows"]


RECIPE = """\
num_layers: 4
hidden_size: 128
num_attention_heads: 8
num_query_groups: 2
ffn_hidden_size: 384
seq_length: 128
micro_batch_size: 1
vocab_size: 512
normalization: RMSNorm
add_bias_linear: false
hidden_dropout: 0.0
attention_dropout: 0.0
bf16: true
recompute_granularity: selective
recompute_modules: [mlp]
"""

#: Makes every child's ``torch.cuda`` the stand-in.
CUSTOMIZE = """\
import sys

if "recompute_lint.smoke.child" in sys.orig_argv:
    from tests.smoke import fake_gpu

    fake_gpu.install()
"""


def test_the_script_fills_the_tables(options, tmp_path):
    options()
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(CUSTOMIZE)
    (tmp_path / "dense.yaml").write_text(RECIPE)
    command = tmp_path / "recompute-lint"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m recompute_lint "$@"\n')
    command.chmod(0o755)
    path = os.pathsep.join([str(tmp_path / "site"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    tools = {"PYTHON": sys.executable, "RECOMPUTE_LINT": str(command)}
    done = subprocess.run(
        [ROOT / "tools" / "gpu_tables.sh", tmp_path / "out", tmp_path / "dense.yaml"],
        env={**os.environ, **tools, "PYTHONPATH": path, "TORCHDYNAMO_DISABLE": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "out" / "tables.md").read_text()
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| a fake GPU | dense |")]
    assert [row[2] for row in rows] == [
        "none", "selective: core_attn", "selective: layernorm", "selective: mlp", "full", "recipe: mlp",
    ]  # fmt: skip
    # Bytes of full are those of its input, on whatever device they are counted.
    (full_row,) = [row for row in rows if row[2] == "full"]
    assert full_row[3:6] == ["0.03 MiB", "0.03 MiB", "1.000"]
    assert all(row[7].endswith(" ms") and row[8].endswith(" ms") for row in rows)
    assert "- dense, smoke: pass" in table
    assert "scaled_dot_product_attention" in table
    assert (tmp_path / "out" / "calibration.md").read_text().count("| dense |") == len(rows)
