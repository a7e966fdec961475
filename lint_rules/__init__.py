"""What is checked: a module for each rule (``rcl...``), and a row for each in ``registry``.

``check`` runs the rules on one site; ``finding`` is what they yield, and the examples that they have. To see a rule,
read ``rcl106_unknown_module`` (a guard of the contract), ``rcl209_settings_ignored`` (a site) or
``rcl301_hidden_default`` (Python).

* For rules about guards: ``module_guard`` and ``other_guard`` report them, ``remedies`` finds what would help and
  proves it on the contract, ``wording`` is what several rules say alike.
* For RCL112 and RCL203: ``runtime_facts`` is their table, ``graph_capture`` and ``pipeline_stages`` what it asks for.
* For rules about Python: ``python_check`` runs them on a ``python_file``; ``key_reads`` and ``late_defaults`` serve
  RCL301, ``validation``, ``validators`` and ``callers`` RCL302, ``module_lists`` RCL303.
* Pages: ``pages`` makes those of rules, ``meaning_page`` those of modules and fields, ``links`` the links in notes.
"""
