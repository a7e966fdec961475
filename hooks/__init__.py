"""How the linter is run: command line, engine, output formats."""
