"""How files are read: YAML with positions, inheritance, frameworks' dialects."""
