"""Rows: data as kernels take them, dense or sparse, and the readers of files they come from. Knows nothing of clusters."""
