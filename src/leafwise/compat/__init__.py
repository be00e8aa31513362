"""Modules that stand in for other pytree libraries, by their names."""
