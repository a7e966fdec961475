"""The rules: one module each, and their registry."""
