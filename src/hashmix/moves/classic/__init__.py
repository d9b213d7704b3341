"""The samplers hashmix is compared with: Gibbs scans and split–merge moves from the literature."""
