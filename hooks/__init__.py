"""How the linter is run. To see a run from beginning to end, read ``engine``, ``diagnostics`` and ``report``.

* A run: ``engine`` reads files and has them checked, ``parts`` puts together what is found in each, ``parallel`` shares
  the files among processes, ``contracts`` chooses the Megatron-Core for each, ``trouble`` makes a finding of what goes
  wrong; ``diagnostics`` places findings, ``report`` selects those to show. ``memory`` asks ``advise`` for one rule.
* Its options: ``option_table`` reads them from a configuration file, ``options`` finds that file, ``environment`` has
  the variables, ``stated`` checks what is said of the model, ``settings`` shows what holds.
* Findings that are known: ``suppress`` reads the comments that silence, ``unused`` reports those that silence nothing,
  ``silence`` writes them; ``baseline`` is a file that lists findings; ``changed`` asks git what a change touches.
* Fixes: ``fix`` makes them, ``fix_check`` looks at what came of it, ``replace`` writes files so that nothing is lost.
* Where it is called from: ``cli`` with ``arguments``, ``usage`` and the folder ``commands``; ``api`` and ``validate``
  for programs; ``server`` with ``open_documents`` and ``editing`` for editors; ``watch``.
* What is shown: the folder ``output``, ``describe``, ``compat_report``, ``home`` (links), ``adopt`` (for ``init``).
"""
