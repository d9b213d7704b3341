"""What knows nothing of clustering: compiling, random numbers, validation, files, progress bars."""
