"""The proof that contracts say what Megatron-Core does: the real class and the contract judge the same samples.

``child`` is the process that has the real class, ``sample`` makes configurations, ``harness`` compares the verdicts.
"""
