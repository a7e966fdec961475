"""MindSpeed-MM: the parts of a model in YAML (below ``model``) or JSON, each with a ``model_id`` of its own.

Facts from Ascend/MindSpeed-MM at 57069cd5:

* ``mindspeed_mm/configs/config.py#L67-L112``: ``--mm-model`` names a JSON file, or a YAML file whose ``model`` it is.
* ``mindspeed_mm/utils/transformer_model_config.py#L22-L69``, get_model_config: those keys of a part (``text_decoder``,
  ``image_encoder.vision_encoder``, ...) that are fields of ``TransformerConfig`` make one, and its checks run.
* ``mindspeed_mm/tasks/finetune/lora/lora_patch.py#L183-L190``: of models that are Hugging Face's the granularity alone
  counts (``examples/qwen3vl/qwen3vl_lora_sft_30B.yaml``), so nothing is asked of what is absent.

Open, and MindSpeed replaces parts of Megatron-Core, so only what is about recomputation is looked at. FSDP2's
``parallel`` and ``recompute_plan`` are something else.
"""

from __future__ import annotations

from ..model import Site
from ..reader import Document, Reader
from ..shell.flags import is_recompute
from ..yaml.search import mappings
from ..yaml.settings import dotted, settings_of
from ..yaml.tree import Mapping
from . import Given, Reading
from .generic import tells

_SOURCE = "mindspeed_mm/utils/transformer_model_config.py#L22-L69"


def read(document: Document, reader: Reader, *, forced: bool = False) -> Reading | None:
    """One site for each part of a model that has recompute settings."""
    sites = [
        site(Given(settings_of(mapping, None), document.path, dotted(path), mapping.span), reader)
        for root in document.roots
        if isinstance(root, Mapping)
        for path, mapping in mappings(root)
        if (forced or "model_id" in mapping.entries) and any(map(tells, mapping.entries))
    ]
    return Reading(sites, []) if sites or forced else None


def site(given: Given, reader: Reader) -> Site:
    """The site of a part's settings."""
    settings = {name: setting for name, setting in given.settings.items() if is_recompute(name)}
    effective = {name: setting.value for name, setting in settings.items()}
    return given.to_site("mindspeed-mm", effective, settings=settings, source=_SOURCE)
