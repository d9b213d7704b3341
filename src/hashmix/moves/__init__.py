"""Moves: exact Markov kernels on partitions, one per file, behind :class:`hashmix.moves.contract.Move`."""

from __future__ import annotations

from hashmix.moves.classic.gibbs import Gibbs
from hashmix.moves.classic.random_split_merge import RandomSplitMerge
from hashmix.moves.classic.rgsm import RGSM
from hashmix.moves.classic.sams import SAMS
from hashmix.moves.classic.sdds import SDDS
from hashmix.moves.classic.singleton_merge import SingletonMerge
from hashmix.moves.contract import Move, Proposal, Update
from hashmix.moves.hashed.bucket_cut import BucketCut
from hashmix.moves.hashed.bucket_split import BucketSplit
from hashmix.moves.hashed.dissimilar_split import DissimilarSplit
from hashmix.moves.hashed.envelope_cut import EnvelopeCut
from hashmix.moves.hashed.exchange import Exchange
from hashmix.moves.hashed.hashed_gibbs import HashedGibbs
from hashmix.moves.hashed.lshsm import LSHSM
from hashmix.moves.hashed.minsm import MinSM
from hashmix.moves.hashed.neighbour_merge import NeighbourMerge
from hashmix.moves.hashed.urn_merge import UrnMerge
from hashmix.moves.hashed.within_split import WithinSplit
from hashmix.moves.parallel.gibbs import ParallelGibbs
from hashmix.moves.parallel.in_regions import InRegions
from hashmix.moves.parallel.regions import RegionGibbs
from hashmix.moves.parallel.split_merge import ParallelSplitMerge
from hashmix.moves.published import PublishedLSHSM, PublishedMinSM
from hashmix.moves.schedules import SCHEDULES, default_prior, resolve_moves
from hashmix.moves.tuning import Schedule, Work

__all__ = [
    "LSHSM",
    "RGSM",
    "SAMS",
    "SCHEDULES",
    "SDDS",
    "BucketCut",
    "BucketSplit",
    "DissimilarSplit",
    "EnvelopeCut",
    "Exchange",
    "Gibbs",
    "HashedGibbs",
    "InRegions",
    "MinSM",
    "Move",
    "NeighbourMerge",
    "ParallelGibbs",
    "ParallelSplitMerge",
    "Proposal",
    "PublishedLSHSM",
    "PublishedMinSM",
    "RandomSplitMerge",
    "RegionGibbs",
    "Schedule",
    "SingletonMerge",
    "Update",
    "UrnMerge",
    "WithinSplit",
    "Work",
    "default_prior",
    "resolve_moves",
]
