"""The operations on trees, built on the core.

`map` flattens, unflattens and maps, with key paths and without; `shared` maps so that
what is one object stays one, and `parallel` on an executor. `fold` makes one value of
many leaves; `inspect` answers questions; `prefix` spreads small trees over larger ones;
`transpose` turns trees inside out; `visit` goes through every node. `context` reads the
arguments that all of them share.
"""
