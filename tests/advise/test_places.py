"""Which Transformer Engine is run where nothing says it."""

import os

import pytest

from recompute_lint.schemas import choose, store
from recompute_lint.smoke.advise import places
from recompute_lint.smoke.advise.places import Place, requirement, satisfies
from recompute_lint.sources.errors import UsageError


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Three releases of Transformer Engine, kept; none installed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(places, "_installed", lambda package: None)
    for version in ("2.4.0", "2.10.0", "2.14.1"):
        (tmp_path / "recompute-lint" / "transformer-engine" / version / "transformer_engine").mkdir(parents=True)
    return tmp_path


def core(tmp_path, version, name=None, text=""):
    folder = tmp_path / "core" / version
    (folder / "megatron" / "core").mkdir(parents=True)
    if name:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return Place(version, str(folder), "--mcore")


@pytest.mark.parametrize(
    ("version", "chosen"), [("0.14.0", "2.4.0"), ("0.16.1", "2.10.0"), ("0.17.1", "2.14.1"), ("0.19.2", "2.14.1")]
)
def test_the_newest_that_the_release_accepts(cache, version, chosen):
    found = places.transformer_engine(None, core(cache, version))
    assert (found.version, found.folder) == (chosen, str(cache / "recompute-lint" / "transformer-engine" / chosen))


def test_the_report_says_what_is_not_kept(cache):
    found = places.transformer_engine(None, core(cache, "0.14.0"))
    assert found.why == "megatron-core 0.14.0 asks for <2.8.0,>=2.6.0a0, which is not kept here"


def test_an_option_goes_first(cache):
    assert places.transformer_engine("2.14.1", core(cache, "0.16.1")).version == "2.14.1"


@pytest.mark.parametrize(
    ("wanted", "release"),
    [("0.16.1", "0.16.1"), ("0.16", "0.16.1"), ("core_r0.16", "0.16.1"), ("v0.16.1rc0", "0.16.1"), ("99.0", "99.0")],
)
def test_a_release_is_named_as_it_is_for_linting(cache, wanted, release):
    folder = cache / "recompute-lint" / "megatron-core" / release
    (folder / "megatron" / "core").mkdir(parents=True)
    found = places.megatron_core(wanted)
    assert (found.version, found.folder) == (release, str(folder))
    if release in store.releases():
        assert choose.choose(wanted, ".").contract.version == found.version


def test_the_series_of_a_release_that_is_not_kept(cache):
    with pytest.raises(UsageError, match=r'--mcore "0\.16": 0\.16\.1 is not here\..*megatron-core==0\.16\.1'):
        places.megatron_core("0.16")


def test_a_series_of_transformer_engine_is_its_newest_kept(cache):
    assert places.transformer_engine("2.10").version == "2.10.0"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "megatron_core-9.dist-info/METADATA",
            'Requires-Dist: transformer-engine[core_cu13,pytorch]<2.12.0,>=2.9.0a0; extra == "dev"\n',
            "<2.12.0,>=2.9.0a0",
        ),
        ("pyproject.toml", 'te = [\n    "transformer-engine[pytorch]>=2.6.0a0,<2.8.0",\n]\n', ">=2.6.0a0,<2.8.0"),
        ("pyproject.toml", 'te = ["transformer-engine[pytorch]"]\n', ""),
    ],
)
def test_requirement_of_a_wheel_and_of_a_checkout(tmp_path, name, text, expected):
    assert requirement(core(tmp_path, "9.0", name, text)) == expected


def test_a_pipe_in_the_place_of_a_checkouts_file_is_passed_over(tmp_path):
    place = core(tmp_path, "0.16.1")
    os.mkfifo(tmp_path / "core" / "0.16.1" / "pyproject.toml")
    assert requirement(place) == requirement(core(tmp_path / "other", "0.16.1"))


@pytest.mark.parametrize(
    ("version", "bounds", "expected"),
    [
        ("2.10.0", "<2.12.0,>=2.9.0a0", True),
        ("2.12.0", "<2.12.0,>=2.9.0a0", False),
        ("2.8.0", "<2.12.0,>=2.9.0a0", False),
        ("2.8.0", "", True),
    ],
)
def test_bounds(version, bounds, expected):
    assert satisfies(version, bounds) is expected
