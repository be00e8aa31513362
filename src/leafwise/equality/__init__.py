"""When two objects are the same: two notions that the whole package shares.

`exact` is that of structure (aux data, static fields): the answer of `==`, for arrays
by content; it never raises, and has a hash. `leaves` is that of values: NaN by place,
types, a tolerance; what cannot be determined is an error. `arrays` has what is known
about arrays. Nothing here knows of trees.
"""
