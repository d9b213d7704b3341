"""Running chains: where they start, what a sweep does, and the folders that draws and checkpoints go to."""
