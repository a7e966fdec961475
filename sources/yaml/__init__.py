"""YAML as its loaders see it: trees with places, merging, interpolations, defaults lists."""
