"""The state of one chain: who is in which cluster, the clusters' statistics, and buffers for proposals."""
