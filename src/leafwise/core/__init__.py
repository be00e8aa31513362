"""The core: what a tree is, how it is walked, and what a treedef records.

Each module is built only on those before it in this list: `safely`, `auxdata` and
`keys`, `content` and `values`, `node`, `builtins` and `registered`, `registry`,
`keypath` and `register`, `walk`, `algebra`, `explain` and `serial`, `treedef`.
`literals`, `fields` and `serial` are loaded when they are first needed. Nothing
here knows of the floors above.
"""
