"""Python as its readers see it: one tree with places, whichever parser read the file."""
