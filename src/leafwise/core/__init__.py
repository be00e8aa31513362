"""The core: what a tree is, how it is walked, and what a treedef records.

Each module is built only on those before it in this list: `frozen`, `auxdata`,
`keypath`, `keyorder`, `partial`, `rule`, `code`, `containers`, `registry`,
`register` and `fields`, `walk`, `mismatch` and `state`, `treedef`. Nothing here
knows of the floors above.
"""
