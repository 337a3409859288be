"""Statistics: arrays in, frozen results out. Imports nothing else of this package.

Conditions lie on the last axis; any leading shape is a batch of cells. A condition without images
has ``n`` 0 or NaN: it is absent, not a condition with a rate of 0.
"""
