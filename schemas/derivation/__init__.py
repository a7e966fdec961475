"""From Megatron-Core's source to a contract: the parts that :mod:`..derive` puts together.

``source`` finds and reads the files, ``logic`` is the algebra of conditions over configuration fields, ``values`` what a
variable can hold on the way, ``evaluate`` and ``execute`` run ``__post_init__`` symbolically, ``classify`` names what a
guard tests, ``wording`` puts it in words and ``pattern`` writes it as JSON Schema.
"""
