"""The core: what a tree is, how it is walked, and what a treedef records.

Each module is built only on those before it in this list: `keys` and `literals`,
`node`, `builtins`, `registry`, `register` and `keypath`, `codec`, `walk`, `matching`
and `serial`, `treedef`, `context`, `fingerprint`. `literals`, `serial` and
`fingerprint` are loaded when they are first needed.
Nothing here knows of the floors above.
"""
