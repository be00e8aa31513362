"""The core: what a tree is, how it is walked, and what a treedef records.

Each module is built only on those before it in this list: `keypath`, `auxdata`,
`rule`, `partial`, `containers`, `registry`, `register` and `fields`, `walk`,
`mismatch`, `state`, `treedef`. Nothing here knows of the floors above.
"""
