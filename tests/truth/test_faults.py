"""Break the package on purpose, in a copy, and see the enumeration fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hashmix

ROOT = Path(__file__).parent.parent.parent
FAULTS = {
    "SDDS without its factor 2": (
        "moves/classic/sdds.py",
        "log_q += _LOG_2 + _log_choice_of_split",
        "log_q += _log_choice_of_split",
        "hm.moves.SDDS()",
    ),
    "RGSM's merge samples instead of forcing": (
        "moves/allocation.py",
        "forced and scan == allocation.n_scans)",
        "False)",
        "hm.moves.RGSM(n_scans=1)",
    ),
    "a size factor is forgotten": (
        "priors/contract.py",
        "sizes = log_size_weight(prior, a) + log_size_weight(prior, b) - log_size_weight(prior, a + b)",
        "sizes = log_size_weight(prior, a) - log_size_weight(prior, a + b)",
        "hm.moves.RGSM(n_scans=0)",
    ),
    "K is off by one in the split ratio": (
        "priors/contract.py",
        "return prior.log_v[n_clusters + 1] - prior.log_v[n_clusters] + sizes",
        "return prior.log_v[n_clusters + 2] - prior.log_v[n_clusters + 1] + sizes",
        "hm.moves.SAMS()",
    ),
    "a wrong predictive": (
        "components/gaussian/diagonal_kernels.py",
        "return _predictive_constant(model, n) + a * derived[2 * d] - (a + 0.5) * grown",
        "return _predictive_constant(model, n) + a * derived[2 * d] - (a + 0.4) * grown",
        "hm.moves.Gibbs()",
    ),
    "the split's ratio has the wrong sign of log q": (
        "moves/anchored.py",
        "math.log(split_rate(law.anchors, of_a + of_b)) - log_q",
        "math.log(split_rate(law.anchors, of_a + of_b)) + log_q",
        "hm.moves.RandomSplitMerge()",
    ),
    "a cut counts the clusters of one row before it": (
        "moves/classic/singleton_merge.py",
        "(2 if size == 2 else 1)",
        "1",
        "hm.moves.SingletonMerge()",
    ),
    "a cut forgets that its row might have been any of those it chooses from": (
        "moves/classic/singleton_merge.py",
        "chosen = arrays.scratch.weights[0] + math.log(law.n_rows)",
        "chosen = arrays.scratch.weights[0]",
        "hm.moves.SingletonMerge(2)",
    ),
    "the odds of the way back are those before the merge": (
        "moves/classic/singleton_merge.py",
        "    add(model, slots, partner, row)\n    for _",
        "    for _",
        "hm.moves.SingletonMerge(2)",
    ),
    "over shards, a merge does not pay for the number of clusters of one row": (
        "run/spread/singletons.py",
        "log_ratio -= log_rate_of_cut(n_rows, n_singletons) + log_choice",
        "log_ratio -= log_choice",
        "SpreadSingletons()",
    ),
    "over shards, a cut forgets with what probability its way back chooses the cluster": (
        "run/spread/singletons.py",
        "accept(rng, max(bound, 0.0) + log_choice(weights, candidates, found, whole))",
        "accept(rng, max(bound, 0.0))",
        "SpreadSingletons()",
    ),
    "over shards, a row that is cut out is weighed as if its cluster still counted it": (
        "run/spread/singletons.py",
        "log_join_weight(target.prior, slots.sizes[others])",
        "log_join_weight(target.prior, slots.sizes[c])",
        "SpreadSingletons()",
    ),
    "a singleton is taken for a cluster of its own": (
        "moves/classic/gibbs.py",
        "    others = k\n",
        "    others = n_clusters(partition)\n",
        "hm.moves.Gibbs()",
    ),
    "a point joins its mates' clusters for nothing": (
        "moves/hashed/hashed_gibbs.py",
        "accept(rng, -log_odds if outside else log_odds)",
        "accept(rng, 0.0 if outside else log_odds)",
        "OneOffer(hm.moves.HashedGibbs(1, 1), 1)",
    ),
    "a new cluster is offered at the rate of the others": (
        "moves/hashed/hashed_gibbs.py",
        "        elsewhere = new\n        rate = OPENING\n",
        "        elsewhere = new\n",
        "OneOffer(hm.moves.HashedGibbs(1, 1), 1)",
    ),
    "the urn's probability is forgotten": (
        "moves/allocation.py",
        "return math.lgamma(of_a) + math.lgamma(of_b) - math.lgamma(of_a + of_b)",
        "return 0.0",
        "hm.moves.UrnMerge(1, 2)",
    ),
    "thinning is not paid for": (
        "moves/anchored.py",
        " - math.log(split_rate(law.anchors, of_a + of_b)) - log_q",
        " - log_q",
        "hm.moves.UrnMerge(1, 2)",
    ),
    "anchors that look at the partition add nothing": (
        "moves/anchors.py",
        "return math.log(n * (of_a + of_b - 1.0)) - math.log((k + 1.0) * k * of_a * of_b)",
        "return 0.0",
        "hm.moves.BucketSplit(1, 2)",
    ),
    "the launch depends on the current division": (
        "moves/allocation.py",
        "bucket == of_u",
        "arrays.partition.labels[arrays.scratch.rows[j]] == arrays.partition.labels[sides.u]",
        "hm.moves.BucketSplit(1, 2)",
    ),
    "the way back from a cut miscounts": (
        "moves/hashed/bucket_cut.py",
        "math.log(eligible + 1.0)",
        "math.log(eligible + 2.0)",
        "hm.moves.BucketCut(1, 2)",
    ),
    "an anchor of an exchange moves": (
        "moves/hashed/exchange.py",
        "m = gather(arrays, first, second, u, v)",
        "m = gather(arrays, first, second, u, u)",
        "hm.moves.Exchange(1, 2)",
    ),
    "only one side of an envelope cut can be under the dart": (
        "moves/hashed/envelope_cut.py",
        "(one + other) * m",
        "max(one, 1e-9) * m",
        "hm.moves.EnvelopeCut()",
    ),
    "a merge of counts forgets the words of one": (
        "components/counts/kernels.py",
        "- _rise(model, word, mine) - _rise(model, word, other)",
        "- _rise(model, word, mine)",
        "hm.moves.SAMS()",
    ),
    "what is left after a cut keeps the words that went": (
        "components/counts/kernels.py",
        "total += _rise(model, word, before - count) - _rise(model, word, before)",
        "total += 0.0",
        "hm.moves.BucketCut(1, 2)",
    ),
    "counts join without their number": (
        "components/counts/kernels.py",
        "return -log_gamma_ratio(model.total + total + more, more)",
        "return -log_gamma_ratio(model.total + more, more)",
        "hm.moves.Gibbs()",
    ),
    "a row's ones are not put right": (
        "components/counts/bernoulli_kernels.py",
        "(model.alpha + count) / (model.beta + n - count)",
        "(model.alpha + count) / (model.beta + n)",
        "hm.moves.Gibbs()",
    ),
    "early rejection forgets the bound": (
        "moves/driver.py",
        "accept(rng, max(bound, 0.0) + rest)",
        "accept(rng, rest)",
        "hm.moves.RGSM(n_scans=0)",
    ),
    "a merge counts the prior of the wrong K": (
        "moves/driver.py",
        "log_split_ratio(target.prior, k - 1, slots.sizes[first]",
        "log_split_ratio(target.prior, k, slots.sizes[first]",
        "hm.moves.SAMS()",
    ),
    "nothing": ("moves/driver.py", "import math", "import math", "hm.moves.Gibbs()"),
}

CHECK = """
import numpy as np, hashmix as hm
from hashmix.testing import exact_posterior, transition_matrix
from tests.shared import OneOffer, SpreadSingletons
X = {X}
component = hm.components.{component}
prior = hm.priors.PitmanYor(0.4, 0.3)
pi = np.array(list(exact_posterior(X, component, prior).values()))
print(abs(pi @ transition_matrix({move}, X, component, prior) - pi).max())
"""


DATA = {
    "kernels": ("np.array([[2, 1], [1, 0], [0, 3], [1, 1]])", "DirichletMultinomial([0.4, 0.7])"),
    "bernoulli_kernels": ("np.array([[1, 1], [1, 0], [0, 1], [1, 0]])", "BetaBernoulli(0.3, 0.8)"),
}
DENSE = "np.array([[0.1, 0.4], [0.2, 0.3], [1.9, -0.6], [0.9, 1.3]])", "DiagonalGaussian([0.3, -0.2], 0.2, 1.3, [0.4, 0.7])"


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_caught(fault, tmp_path):
    file, right, wrong, move = FAULTS[fault]
    package = tmp_path / "hashmix"
    shutil.copytree(Path(hashmix.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    source = (package / file).read_text()
    assert right in source
    (package / file).write_text(source.replace(right, wrong))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HASHMIX_CACHE": "0"}
    X, component = DATA.get(Path(file).stem, DENSE)
    command = [sys.executable, "-c", CHECK.format(move=move, X=X, component=component)]
    ran = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    error = float(ran.stdout)
    assert (error < 1e-12) if fault == "nothing" else (error > 1e-6), error
