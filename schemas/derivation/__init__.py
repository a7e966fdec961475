"""From Megatron-Core's source to a contract: the parts that :mod:`..derive` puts together.

``source`` finds and reads the files, ``fields`` the fields that they declare; ``constraints`` is what a field's value
may be, ``logic`` the algebra of conditions over fields, ``values`` what a variable can hold on the way; ``slicing``
picks the statements that matter; ``scope``, ``evaluate`` (with ``operators``), ``store`` and ``execute`` (with
``loops``) run those symbolically: names, expressions, what variables hold, statements. ``classify`` names what a guard
tests, ``wording`` puts it in words and ``pattern`` writes it as JSON Schema. ``flags`` reads the argument parser.
"""
