"""Real models on the CPU: what each configuration is found to be."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import venv
from pathlib import Path

import pytest

from recompute_lint.smoke import cli, smoke
from recompute_lint.smoke.request import GIB

from .conftest import DENSE, MLA, MLP_WITH_BIAS, MOE, full, selective, site

ROOT = Path(__file__).parents[2]
SHARED = {"moe_shared_expert_intermediate_size": 1024}
GROUPED = {"moe_grouped_gemm": True, "bf16": True}


def run_one(settings, options, **more):
    (result,) = smoke.run_sites([site(settings, **more)], options)
    return result


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({**DENSE, "recompute_granularity": "selective"}, id="default"),
        pytest.param({**DENSE, **selective("mlp", "layernorm")}, id="mlp-layernorm"),
        pytest.param({**MOE, **SHARED, **selective("shared_experts")}, id="shared_experts"),
        pytest.param({**MOE, **SHARED, **selective("moe")}, id="moe"),
        pytest.param({**MOE, **GROUPED, **selective("moe_act", "layernorm")}, id="moe_act"),
        pytest.param({**MLA, **selective("mla_up_proj", "core_attn")}, id="mla"),
        pytest.param({**DENSE, **full("uniform", 2)}, id="uniform"),
        pytest.param({**DENSE, **full("block", 4)}, id="block"),
        pytest.param({**DENSE, **full("block", 4), "pipeline_model_parallel_size": 2}, id="pipeline"),
    ],
)
def test_passes(settings, options):
    result = run_one(settings, options())
    assert (result.verdict, result.reason) == ("pass", None)
    assert result.measured["saved_on"] < result.measured["saved_off"]
    assert result.measured["gradient_error"] <= 1e-6
    assert result.environment["device"] == "cpu, patched"


def test_saves_what_was_counted_before(options):
    result = run_one({**DENSE, "recompute_granularity": "selective"}, options())
    # 3 layers, hidden 128, 8 heads, sequence 32, micro-batch 2, float32: the score matrix's tensors are what goes, the
    # same in each layer.
    assert (result.measured["saved_off"], result.measured["saved_on"]) == (3434816, 2820428)
    names = [f"decoder.layers.{number}.self_attention" for number in range(3)]
    assert [*result.measured["savings"]] == names
    assert len(set(result.measured["savings"].values())) == 1


def test_uniform_that_does_not_divide_the_stage_raises(options):
    result = run_one({**DENSE, "num_layers": 3, **full("uniform", 2)}, options())
    assert (result.verdict, result.stage) == ("raised", "forward, recompute on")
    assert result.reason == "IndexError: index 3 is out of range"
    assert result.frame.startswith("megatron/core/transformer/transformer_block.py:")


def test_the_layers_of_multi_token_prediction(options):
    """What RCL112 says of them: one layer at a time with uniform, and none with block."""
    model = {**DENSE, "mtp_num_layers": 1}
    result = run_one({**model, **full("uniform", 2)}, options())
    assert (result.verdict, result.stage) == ("raised", "forward, recompute on")
    assert result.reason == "AssertionError: recompute_num_layers must be 1 for MTP recompute"
    assert result.frame.startswith("megatron/core/transformer/multi_token_prediction.py:")
    uniform, block = (run_one({**model, **full(method, 1)}, options()) for method in ("uniform", "block"))
    assert uniform.verdict == "pass"
    assert (block.verdict, block.reason) == ("not-engaged", "the MTP layer is not recomputed")
    assert uniform.measured["saved_on"] < block.measured["saved_on"] < block.measured["saved_off"]


def test_a_typo_is_refused_by_the_real_config(options):
    result = run_one({**DENSE, **selective("core_atn")}, options())
    assert (result.verdict, result.stage) == ("raised", "configuration")
    assert "Invalid choices for recompute_modules: {'core_atn'}" in result.reason
    assert result.frame.startswith("megatron/core/transformer/transformer_config.py:")


def test_mlp_with_bias_is_an_endless_recursion(options):
    result = run_one({**MLP_WITH_BIAS, **selective("mlp")}, options(memory_limit=GIB))
    assert (result.verdict, result.stage) == ("raised", "backward, recompute on")
    assert result.reason == (
        "endless recursion: backward enters MCore's checkpoint again and again (21 nested calls when stopped)"
    )
    assert result.frame.startswith("megatron/core/tensor_parallel/random.py:")
    assert result.frame.endswith(" in backward")


def test_sizes_beyond_the_memory_limit(options):
    settings = {**DENSE, "recompute_granularity": "selective"}
    result = run_one(settings, options(memory_limit=GIB, sizes={"seq_length": 8192}))
    assert result.verdict == "out-of-memory"
    assert result.peak_memory < 1.5 * GIB


@pytest.mark.parametrize("step", [0, -1])
def test_a_walk_in_steps_that_lead_nowhere_is_stopped(step, options):
    result = run_one({**DENSE, **full("uniform", step)}, options(memory_limit=GIB))
    assert (result.verdict, result.stage) == ("raised", "forward, recompute on")
    assert result.reason == "endless walk over the layers: 1001 checkpoints entered in one pass when stopped"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({**DENSE, **full(), "cuda_graph_impl": "local", "cuda_graph_scope": ["attn"]}, "AssertionError: full "),
        ({**DENSE, **full(), "cpu_offloading": True}, "ValueError: CPU offloading does not work when"),
        (
            {**MOE, **GROUPED, **selective("moe_act"), "fp8": "hybrid", "fp8_recipe": "delayed"},
            "ValueError: Delayed scaling does not support moe_act",
        ),
        (
            {**MOE, **SHARED, **selective("shared_experts"), "moe_shared_expert_overlap": True},
            "ValueError: shared_experts recompute cannot work with",
        ),
        (
            {**DENSE, **full(), "distribute_saved_activations": True, "sequence_parallel": True,
             "tensor_model_parallel_size": 2},
            "ValueError: distribute_saved_activations: True must be false",
        ),
        (
            {**DENSE, **full(), "tensor_model_parallel_size": 3},
            "Megatron-Core refuses the model, with recompute off as well: ValueError: num_attention_heads (16) must be",
        ),
    ],
)  # fmt: skip
def test_what_the_real_config_refuses_is_refused_whatever_this_machine_lacks(settings, reason, options):
    result = run_one(settings, options())
    assert (result.verdict, result.stage) == ("raised", "configuration")
    assert result.reason.startswith(reason)


def test_the_old_switch_for_experts_is_recomputation(options):
    result = run_one({**MOE, "moe_layer_recompute": True}, options())
    assert result.verdict == "pass"
    assert result.measured["modules"]["moe"] > 0


def test_a_megatron_that_does_not_import_is_no_verdict(options, installed_core, tmp_path, capsys):
    core = tmp_path / "megatron" / "core"
    _link_all(installed_core, core, but="parallel_state.py")
    (core / "parallel_state.py").write_text("raise TypeError('a release that cannot be imported')\n")
    assert cli.main_smoke([site({**DENSE, **full()})], options(mcore=str(tmp_path))) == 2
    assert capsys.readouterr().err == (
        "recompute-lint smoke: import of megatron.core fails here: TypeError: a release that cannot be imported\n"
    )


def test_a_limit_that_is_reached_before_any_configuration_is_no_verdict(options, capsys):
    assert cli.main_smoke([site({**DENSE, **full()})], options(timeout=0.2)) == 2
    assert "the run did not get to a configuration: not done after 0.2 s (during: " in capsys.readouterr().err


def test_a_module_that_the_model_lacks_does_not_engage(options):
    result = run_one({**DENSE, **selective("core_attn", "moe")}, options())
    assert (result.verdict, result.reason) == ("not-engaged", "moe: on its own saves no byte in this model")


def test_a_megatron_that_forgets_the_random_state_differs(options, installed_core, tmp_path):
    core = tmp_path / "megatron" / "core"
    _link_all(installed_core, core, but="tensor_parallel")
    _link_all(installed_core / "tensor_parallel", core / "tensor_parallel", but="random.py")
    source = (installed_core / "tensor_parallel" / "random.py").read_text()
    restored = "_set_all_rng_states(*ctx.rng_states)"
    assert restored in source
    (core / "tensor_parallel" / "random.py").write_text(source.replace(restored, "pass"))
    result = run_one({**DENSE, **full()}, options(mcore=str(tmp_path)))
    assert result.verdict == "differed"
    assert result.reason.startswith("gradient of ")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"fp8": "hybrid"}, "fp8 and fp4 need Transformer Engine on a GPU"),
        (
            {"cuda_graph_impl": "local", "attention_dropout": 0.0},
            "CUDA graphs are captured by the training schedule on a GPU",
        ),
    ],
)
def test_what_a_cpu_cannot_run_is_not_run(options, more, reason, capsys):
    sites = [site({**DENSE, **selective("core_attn"), **more})]
    assert cli.main_smoke(sites, options()) == 3
    out = capsys.readouterr().out
    assert f"recipe.yaml:1: not-run: {reason}" in out
    assert "0 passed, 0 failed, 1 not run" in out


def test_more_ranks_than_one_are_asked_for(options):
    settings = {**DENSE, **full(), "tensor_model_parallel_size": 2, "distribute_saved_activations": True}
    result = run_one(settings, options())
    assert result.verdict == "not-run"
    assert "torchrun" in result.reason


def test_a_model_that_does_not_run_anyway_is_no_verdict_on_recompute(options):
    settings = {**DENSE, **selective("core_attn")}
    result = run_one(settings, options(sizes={"num_query_groups": 3}))
    assert result.verdict == "not-run"
    assert result.reason.startswith("the model doesn't run without recompute either: ")


def test_json_has_a_verdict_per_site_and_equal_sites_share_a_run(options, capsys):
    settings = {**DENSE, **selective("core_attn")}
    sites = [site(settings, "a.yaml:1"), site(settings, "b.yaml:7"), site({**DENSE}, "c.yaml:2")]
    assert cli.main_smoke(sites, options(output_format="json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == 0
    assert [(entry["site"], entry["verdict"]) for entry in document["sites"]] == [
        ("a.yaml:1", "pass"),
        ("b.yaml:7", "pass"),
        ("c.yaml:2", "not-run"),
    ]
    assert document["sites"][0]["seconds"] == document["sites"][1]["seconds"]


def test_what_no_field_reads_is_said_and_flags_reach_the_model(options, command, monkeypatch, installed_core):
    options()
    recipe = (
        "MODEL_ARGS:\n  --num-layers: 2\n  --hidden-size: 64\n  --num-attention-heads: 4\n  --swiglu: true\n"
        "  --disable-bias-linear: true\n  --recompute-granularity: selective\n  --recompute-modules: '[mlp]'\n"
        "  --recompute-module: '[mlp]'\n"
    )
    result = command(
        "smoke", "--isolated", "--mcore", str(installed_core.parents[1]), "--device", "cpu", "--output-format", "json",
        "a.yaml", files={"a.yaml": recipe},
    )  # fmt: skip
    (found,) = json.loads(result.out)["sites"]
    assert found["verdict"] == "pass", found["reason"]
    assert found["settings"]["gated_linear_unit"] is True
    assert "recompute_module" in found["measured"]["unread"]


def test_torchrun_runs_on_two_ranks(options, tmp_path):
    settings = {**DENSE, **full(), "tensor_model_parallel_size": 2, "distribute_saved_activations": True}
    settings.pop("recompute_method")
    driver = _driver(tmp_path, {**settings, "recompute_method": "uniform"}, timeout=120, device="cpu")
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(driver)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert "1 passed, 0 failed, 0 not run" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("recipe.yaml:1:") == 1


def test_without_torch_there_is_a_message(tmp_path):
    venv.create(tmp_path / "env", with_pip=False)
    done = _run_in(tmp_path / "env", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("recompute-lint smoke: torch cannot be imported (No module named 'torch')")
    assert "pip install" in done.stderr and "[smoke]" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_megatron_there_is_a_message(options, installed_core, tmp_path):
    options()
    venv.create(tmp_path / "env", with_pip=False)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    import torch

    _link_all(Path(torch.__file__).parents[1], packages, but="megatron")
    done = _run_in(tmp_path / "env", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("recompute-lint smoke: megatron.core cannot be imported")
    assert "--mcore" in done.stderr
    assert "Traceback" not in done.stderr


SETTINGS = "num_layers: 2\nhidden_size: 64\nnum_attention_heads: 4\nrecompute_granularity: selective\n"
BROKEN = "recompute_granularity: [selective\n"


@pytest.mark.parametrize(("name", "shown"), [("smoke", "good.yaml:1: pass"), ("bench", "good.yaml:1")])
def test_the_recipes_beside_one_that_cannot_be_read_are_run(command, release, name, shown):
    options = ["--mcore", release("0.16.1"), "--device", "cpu", *(["--no-predict"] if name == "bench" else [])]
    ran = command(name, *options, ".", files={"broken.yaml": BROKEN, "good.yaml": SETTINGS})
    assert ran.code == 2
    assert shown in ran.out
    assert [line.split(" ")[:2] for line in ran.err.splitlines()] == [["broken.yaml:2:1:", "RCL901"]]


@pytest.mark.parametrize("name", ["advise", "bench", "smoke"])
def test_a_recipe_that_cannot_be_read_is_not_called_one_without_settings(command, name):
    ran = command(name, "broken.yaml", files={"broken.yaml": BROKEN})
    assert (ran.code, ran.out) == (2, "")
    assert [line.split(" ")[:2] for line in ran.err.splitlines()] == [["broken.yaml:2:1:", "RCL901"]]


@pytest.mark.parametrize("wanted", ["0.0.1", "nowhere", "."])
def test_a_megatron_that_is_not_there_gives_a_message(wanted, capsys, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main_smoke([site({**DENSE, **full()})], options(mcore=wanted)) == 2
    assert capsys.readouterr().err.startswith(f"recompute-lint smoke: --mcore {wanted}: ")


@pytest.mark.parametrize(("version", "uniform"), [("0.12.3", "raised"), ("0.14.0", "raised"), ("0.19.2", "pass")])
def test_other_releases(version, uniform, release, options, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    chosen = options(mcore=release(version))
    result = run_one({**DENSE, "num_layers": 3, **full("uniform", 2)}, chosen)
    if "needs triton" in (result.reason or ""):
        pytest.skip("this release needs triton")
    assert result.verdict == uniform
    result = run_one({**DENSE, **selective("layernorm")}, chosen)
    assert (result.verdict, result.reason) == ("pass", None)
    assert list(tmp_path.iterdir()) == [], "no C++ is compiled"


def test_layernorm_gradients_of_0_14_differ_only_under_saved_tensors_hooks(release, options):
    """Why smoke takes gradients without hooks: see measure.step."""
    options()
    script = Path(__file__).with_name("layernorm_under_hooks.py")
    errors = {}
    for version in ("0.14.0", "0.16.1"):
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([release(version), str(ROOT)]), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        errors[version] = json.loads(done.stdout.splitlines()[-1])
    assert errors["0.14.0"]["plain"] < 1e-5
    assert errors["0.14.0"]["hooks"] > 1e-2
    assert errors["0.16.1"]["plain"] < 1e-5
    assert errors["0.16.1"]["hooks"] < 1e-5


def _link_all(source, target, but):
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        if not entry.name.startswith(but) and entry.name != "__pycache__":
            with contextlib.suppress(FileExistsError):
                (target / entry.name).symlink_to(entry)


def _driver(folder, settings, **options):
    path = folder / "driver.py"
    path.write_text(
        "import sys\n"
        "from recompute_lint.smoke import cli\n"
        "from recompute_lint.smoke.request import SmokeOptions, SmokeSite\n"
        f"sys.exit(cli.main_smoke([SmokeSite('recipe.yaml:1', {settings!r})], SmokeOptions(**{options!r})))\n"
    )
    return path


def _run_in(environment, folder):
    driver = _driver(folder, {**DENSE, **full()})
    return subprocess.run(
        [str(environment / "bin" / "python"), str(driver)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_what_a_process_group_lets_go_of_late_is_not_kept():
    """A thread of Gloo's holds a tensor until it runs again after the collective: on a busy machine, for a while."""
    torch = pytest.importorskip("torch")
    from recompute_lint.smoke import measure, watch

    storages = watch.Storages([])
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        with storages:
            tensor = torch.ones(64) + 1
            torch.distributed.all_reduce(tensor)
    finally:
        torch.distributed.destroy_process_group()
    holder = [tensor.untyped_storage()]
    del tensor
    thread = threading.Timer(0.3, holder.clear)
    thread.start()
    measure._wait_for_collectives(storages, set())
    assert holder == []
    assert not list(storages.sent)
    thread.join()
