"""What Megatron-Core's local layers are built with in place of its own core attention, whatever computes it."""

from __future__ import annotations


def base() -> type:
    """Build the class that others derive from; needs Megatron-Core imported."""
    from megatron.core.transformer.dot_product_attention import DotProductAttention

    class CoreAttention(DotProductAttention):
        """MCore's ``DotProductAttention`` with the parameters of Transformer Engine's class."""

        def __init__(self, config, *args, k_channels=None, v_channels=None, **kwargs) -> None:
            # Multi-latent attention passes the two widths, which Transformer Engine's class takes and MCore's own
            # doesn't: without this MCore's local layers cannot be built with it (0.12 to 0.19, TypeError).
            super().__init__(config, *args, **kwargs)

    return CoreAttention
