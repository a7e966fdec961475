"""Shell scripts and Makefiles: their grammar, the words of their commands, and what flags and overrides say."""
