"""What type checkers see of functions whose results depend on the sort of a tree.

Each signature is the `__call__` of a protocol, and a decorator gives it to a function.
Nothing here is loaded when the library runs: there, the decorators are `unchanged`.
`words` has the vocabulary, the other modules one family of functions each.
"""
