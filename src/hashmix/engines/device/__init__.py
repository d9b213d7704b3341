"""A shard whose rows and labels are on a device of PyTorch.

The modules here do with tensors what :mod:`hashmix.engines.shard` and the kernels it calls do with arrays.
"""
