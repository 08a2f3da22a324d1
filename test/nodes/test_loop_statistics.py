"""LoopStatistics: rate, missed periods and latencies."""

from robodyn_ros.nodes.loop_statistics import LoopStatistics

RATE = "rate [Hz]"


def test_the_rate_is_of_the_samples_since_it_was_last_asked():
    statistics = LoopStatistics(0.01)
    assert statistics.facts()[RATE] == "0"
    for k in range(11):
        statistics.sample(0.01 * k)
    assert statistics.facts()[RATE] == "100.0"
    assert statistics.facts()[RATE] == "0"  # no sample since
    for k in range(11, 17):
        statistics.sample(0.01 * k)
    assert statistics.facts()[RATE] == "100.0"


def test_missed_periods_warn_until_they_are_reported():
    statistics = LoopStatistics(0.01)
    for t in (0.0, 0.01, 0.02, 0.05):
        statistics.sample(t)
    assert statistics.missed == 2
    assert statistics.overrun() == "2 of 6 periods missed: too busy, or the rate is not 100 Hz"
    statistics.facts()
    assert statistics.overrun() == ""
