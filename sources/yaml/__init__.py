"""YAML as its loaders see it: trees with places, merging, interpolations, defaults lists."""

from .pyyaml import import_quickly

import_quickly()
