"""What is valid: a contract for each release of Megatron-Core, and the schemas of frameworks' recipes.

* Data: ``mcore/`` (contracts), ``recipes/`` (frameworks' own keys and checks), ``names`` and ``field_types`` (over all
  releases), ``meanings`` (what each module and field does). A command writes all but ``recipes/`` and the meanings.
* Which contract: ``choose`` decides, ``detect`` asks the project's files, ``store`` loads, ``tree_cache`` keeps those
  of source trees.
* What it says: ``contract`` checks a configuration with ``screen``, which answers without jsonschema; ``messages``
  fills in Megatron-Core's words, ``compare`` tells two contracts apart, ``bundle`` makes a schema for editors.
* Where it is from: ``derive`` makes a contract from Megatron-Core's source; the folder ``derivation`` has its parts.
* ``reading`` reads files, bounded, for everybody.
"""
