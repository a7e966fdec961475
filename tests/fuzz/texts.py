"""The beginnings of inputs."""

from __future__ import annotations

HEAD = "policy:\n  megatron_cfg:\n    activation_checkpointing: true\n    recompute_granularity: selective\n"
FLAGS = "python t.py --recompute-granularity full "
