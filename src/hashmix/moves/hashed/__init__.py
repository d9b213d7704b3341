"""Moves whose proposals come from hash tables: the parts of lss, and exact versions of the paper's LSHSM and MinSM."""
