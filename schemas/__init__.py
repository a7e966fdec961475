"""What is valid: the contracts of Megatron-Core and the schemas of recipes."""
