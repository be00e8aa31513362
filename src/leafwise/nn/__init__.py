"""Classes that are trees.

The base class and its kinds, checks and containers, and modules on top of them. No
framework is imported here: what an array is, is asked of those that are loaded.
"""
