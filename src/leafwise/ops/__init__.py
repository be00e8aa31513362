"""The operations on trees, built on the core.

`map` flattens, unflattens and maps, with key paths and without; `parallel` maps on an
executor (`calls`) and says how far it is (`progress`). `inspect` answers questions;
`reshape` broadcasts small trees over larger ones and turns trees inside out;
`traversal` reduces many leaves to one value, and goes through every node. `context`
reads the arguments that all of them share.
"""
