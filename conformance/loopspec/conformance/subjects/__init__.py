"""The subjects under test: what an adapter offers, and our own loop behind it."""
