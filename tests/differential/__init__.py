"""The proof that contracts say what Megatron-Core does: sampled configurations go to the real class and to the contract.

``child`` is the process that has the real class, ``sample`` makes configurations, ``harness`` compares the verdicts.
"""
