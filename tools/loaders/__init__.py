"""Each framework's own loader, run over its recipes and over ours, for the tables that the linter is compared with.

``python -m tools.loaders NAME CHECKOUT`` writes ``tests/loaders/tables/NAME.json``; ``tests/loaders`` compares it with
what ``show`` and ``check`` say. See ``docs/loaders.md``.
"""
