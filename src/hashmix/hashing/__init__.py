"""Locality-sensitive hashing: families of hash functions, and tables used as samplers. Never looks at a partition."""

from __future__ import annotations

from hashmix.hashing.family import HashFamily
from hashmix.hashing.minhash import WeightedMinHash
from hashmix.hashing.neighbours import Neighbours
from hashmix.hashing.sign_projection import SignProjection, hamming, sign_collision_probability
from hashmix.hashing.similarity import collision_probability, cut_probability, sign_split, weighted_jaccard
from hashmix.hashing.tables import Tables

__all__ = [
    "HashFamily",
    "Neighbours",
    "SignProjection",
    "Tables",
    "WeightedMinHash",
    "collision_probability",
    "cut_probability",
    "hamming",
    "sign_collision_probability",
    "sign_split",
    "weighted_jaccard",
]
