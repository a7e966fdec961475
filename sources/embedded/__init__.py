"""What is written inside other files: commands in YAML, fences of Markdown, cells of notebooks, Docker files, TOML."""
