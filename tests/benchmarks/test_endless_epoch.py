"""An epoch under the stopwatch may be repeated beyond the end of its recipe."""

from __future__ import annotations

from benchmarks.ours import endless_epoch, training_run

from agnn.networks import AGNN


def test_an_endless_epoch_goes_on_beyond_the_recipes_last(toy):
    run = training_run(AGNN(layers=1, epochs=3), toy)
    again = endless_epoch(run)
    for _ in range(8):
        again()
    assert int(run.number) == 2
    assert int(run.dropout.epoch) == 8
