"""What is checked: one module per rule, and their registry."""
