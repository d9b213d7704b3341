"""Tables with columns of different kinds and blanks: numbers, categories, yes/no and counts, independent given the cluster."""
