"""When two objects are the same: the two notions that the whole package has.

`exact` is that of structure (aux data, static fields): the answer of `==`, for arrays
by content; it never raises, and has a hash. `leaves` is that of values: NaN by place,
types, a tolerance; what cannot be determined is an error. What arrays and tables are is
known to `content`. Nothing here knows of trees.
"""
