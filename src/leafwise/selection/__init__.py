"""Places in trees: naming, editing, comparing and merging what stands there."""
