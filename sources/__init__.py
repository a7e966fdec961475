"""How files are read: from bytes to sites. ``model`` has what flows: spans, settings, sites, findings.

* Which files: ``files`` walks folders and tells kinds, ``gitignore`` and ``git_excludes`` what git leaves out,
  ``projects`` where a project begins; ``keys`` tells from its bytes whether a file is worth reading.
* One file: ``reader`` reads it and its parents, ``text`` decodes it; the folders ``yaml``, ``python`` and ``shell``
  parse it, ``embedded`` finds what is written inside it.
* What it means: the folder ``dialects``, one module for each framework; ``facts`` adds what is known of the model;
  ``unread`` lists the settings that nothing was read of.
* For all: ``errors`` and ``visible`` (what is said to people), ``suggest`` (the nearest name).
"""
