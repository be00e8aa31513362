"""The operations on trees, built on the core.

`basic` takes apart, rebuilds and maps; `fold` makes one value of many leaves;
`inspect` answers questions; `paths` names leaves by their key paths; `prefix`
spreads small trees over larger ones; `transpose` turns trees inside out; `visit`
goes through every node.
"""
