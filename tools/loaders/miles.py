"""miles, which comes from slime and calls Megatron-LM's parser as it stands; see :mod:`.slime`."""

from __future__ import annotations

from . import slime
from .table import Framework

FRAMEWORK = Framework("radixark/miles", slime.generate_of("miles"), slime.loader_of("miles"), slime.shipped)
