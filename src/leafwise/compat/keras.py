"""A backend for `keras.tree`."""
