"""The operations on trees, built on the core.

`map` flattens, unflattens and maps, with key paths and without; `parallel` maps on an
executor. `fold` reduces many leaves to one value; `inspect` answers questions; `prefix`
broadcasts small trees over larger ones; `transpose` turns trees inside out; `visit`
goes through every node. `context` reads the arguments that all of them share.
"""
