"""The core: what a tree is, how it is walked, and what a treedef records.

Each module is built only on those before it in this list: `keys` and `literals`,
`node`, `builtins`, `registry`, `register` and `keypath`, `walk`, `matching`
and `serial`, `treedef`. `literals` and `serial` are loaded when they are first needed.
Nothing here knows of the floors above.
"""
