"""Run a recompute configuration for real: ``recompute-lint smoke`` and ``recompute-lint bench``.

The parent (:mod:`.cli`, :mod:`.smoke`, :mod:`.bench`) never imports torch. Everything that does lives in the modules
named below and runs only in the child process that :mod:`.run` starts under a deadline and a memory limit:

* :mod:`.child`: the child's entry; reads a request, writes events
* :mod:`.ranks`: the process group of the child: one rank, ``torchrun``'s, or simulated ones
* :mod:`.model`: a real ``TransformerConfig`` and ``GPTModel`` from plain settings
* :mod:`.measure`: bytes saved for backward, peak memory, step time
* :mod:`.trial`: the comparisons made with the two above
* :mod:`.bench_trial`: the rows of a bench, and their times in turn
* :mod:`.gpu`: what a GPU runs where Transformer Engine is missing, and what it runs without
* :mod:`.cpu_standins`: all that stands in for CUDA and Transformer Engine where there is neither
"""
