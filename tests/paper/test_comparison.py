"""Summaries of chains, and the sentences made from them."""

from __future__ import annotations

import json

import pytest

from hashmix.paper.comparison import Level, claims, compare, data_names, differences, levels, shown_seconds


def chain(method, seconds, log_joint, data="S1", seed=0, **known):
    n = len(seconds)
    curve = {
        "seconds": seconds,
        "proposals": list(range(n)),
        "accepted": [0] * n,
        "n_clusters": list(range(1, n + 1)),
        "log_likelihood": [value + 1.0 for value in log_joint],
        "log_joint": log_joint,
    }
    about = {"data": data, "method": method, "seed": seed, "nmi": 0.9, "accuracy": 0.8, "proposals": 10, "accepted": 4}
    return about | {"curve": curve} | known


RESULTS = [
    chain("rgsm", [0.0, 4.0, 8.0], [-9.0, -5.0, -5.0], seed=0, nmi=0.95),
    chain("rgsm", [0.0, 6.0, 8.0], [-9.0, -5.0, -5.0], seed=1, nmi=0.97),
    chain("sdds", [0.0, 1.0], [-9.0, -7.0]),
    chain("lss", [0.0, 1.0, 2.0], [-9.0, -6.0, -4.0], seed=0),
    chain("lss", [0.0, 1.0, 2.5], [-9.0, -6.0, -4.0], seed=1),
    chain("minsm", [0.0, 1.0], [-9.0, -8.0], seed=0),
    chain("minsm", [0.0, 1.0], [-9.0, -5.0], seed=1),
    chain("minsm", [0.0, 1.0], [-9.0, -8.0], seed=2),
    chain("published-minsm", [0.0], [-9.0], proposals=0, accepted=0, nmi=None, accuracy=None),
]


def test_level_is_where_the_better_baseline_ends():
    assert levels(RESULTS) == {"S1": Level("rgsm", -5.0, 5.0)}
    assert levels([chain("lss", [0.0], [-9.0])]) == {}


def test_lines():
    lines = {line.method: line for line in compare(RESULTS, levels(RESULTS))}
    assert list(lines) == ["rgsm", "sdds", "published-minsm", "minsm", "lss"]  # the order of METHODS
    rgsm = lines["rgsm"]
    assert (rgsm.seeds, rgsm.n_clusters, rgsm.log_joint, rgsm.log_likelihood) == (2, 3.0, -5.0, -4.0)
    assert (rgsm.acceptance, rgsm.seconds_per_proposal) == (0.4, 0.8)
    assert rgsm.nmi == pytest.approx(0.96)
    assert rgsm.nmi_range == (0.95, 0.97)
    assert lines["lss"].seconds_to_level == 2.25
    assert lines["lss"].speedup == pytest.approx(5.0 / 2.25)
    assert lines["lss"].speedup_range == (2.0, 2.5)
    assert lines["sdds"].speedup is None
    # One of three chains reached the level: the median never does.
    assert (lines["minsm"].seconds_to_level, lines["minsm"].speedup, lines["minsm"].speedup_range) == (None, None, None)
    idle = lines["published-minsm"]
    assert (idle.proposals, idle.acceptance, idle.seconds_per_proposal, idle.nmi) == (0, None, None, None)
    json.dumps([line._asdict() for line in lines.values()], allow_nan=False)


def test_lines_without_a_baseline():
    (line,) = compare([chain("lss", [0.0, 1.0], [-9.0, -4.0])], {})
    assert line.seconds_to_level is None
    assert line.speedup is None


def test_speed_sentences():
    (sentence,) = claims(compare(RESULTS, levels(RESULTS)), levels(RESULTS))
    assert sentence == (
        "S1: RGSM ends at a log joint of -5, first reached after 5 s. hashmix (lss): 2.22 × faster (2.25 s); "
        "MinSM, exact: not reached; MinSM, as printed: no proposal finished."
    )


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (chain("rgsm", [0.0], [-9.0], nmi=0.94), "RGSM on S1: reproduced, NMI 0.94 (paper: 0.96)."),
        (chain("rgsm", [0.0], [-9.0], nmi=0.5), "Its chains had probably not converged when their time was over."),
        (chain("rgsm", [0.0], [-9.0], nmi=1.0), "Our data may be easier"),
        (chain("rgsm", [0.0], [-9.0], nmi=0.0, accepted=0), "None of its 10 proposals was accepted."),
        (chain("rgsm", [0.0], [-9.0], proposals=0), "no proposal finished in the given time (paper: NMI 0.96)."),
        (chain("rgsm", [0.0], [-9.0], "PubMed", nmi=None), "there are no labels to compare with (paper: NMI 0.63)."),
        (chain("published-minsm", [0.0], [-9.0], nmi=0.5), "its acceptance ratio is that of no posterior"),
        (chain("rgsm", [0.0], [-9.0], "KDD", nmi=None), "KDD: there is no NMI or accuracy."),
    ],
)
def test_sentences_on_the_paper(result, sentence):
    (found,) = differences(compare([result], {}), {})
    assert sentence in found


def test_stand_in_is_named():
    lines = compare([chain("lss", [0.0], [-9.0], "PubMed")], {})
    assert differences(lines, {"PubMed": {"about": "PubMed itself"}}) == []
    (found,) = differences(lines, {"PubMed": {"about": "a stand-in, not PubMed"}})
    assert "synthetic stand-in" in found


def test_names_and_times():
    assert data_names([chain("lss", [0.0], [-9.0], data) for data in ("KDD", "S2", "KDD")]) == ["S2", "KDD"]
    assert [shown_seconds(value) for value in (None, 0.01234, 99.94, 100.4)] == ["–", "0.0123 s", "99.9 s", "100 s"]
