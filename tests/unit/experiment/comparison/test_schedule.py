"""The schedule follows from seed and block, keeps the weights, and tosses a fair coin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phpdyno.experiment.comparison.schedule import OPENING, draw_order, schedule_block

WEIGHTS = [4.0, 3.0, 1.0, 1.0]


def test_same_seed_and_block_same_schedule_and_another_block_another() -> None:
    one, again, other = (
        schedule_block(seed=7, block=block, pairs={"a": 20, "b": 5}, weights=WEIGHTS, slot_requests=3) for block in (1, 1, 2)
    )
    flat = [[(pair.treatment, pair.control_first, pair.sequence.tolist()) for pair in schedule] for schedule in (one, again, other)]
    assert flat[0] == flat[1]
    assert flat[0] != flat[2]


@given(
    seed=st.integers(0, 2**32),
    block=st.integers(0, 1000),
    pairs=st.dictionaries(st.sampled_from("abcd"), st.integers(1, 40), min_size=1),
    slot=st.integers(1, 30),
)
def test_every_target_comes_in_proportion_to_its_weight(seed: int, block: int, pairs: dict[str, int], slot: int) -> None:
    schedule = schedule_block(seed=seed, block=block, pairs=pairs, weights=WEIGHTS, slot_requests=slot)
    assert len(schedule) == sum(pairs.values())
    for treatment, count in pairs.items():
        requests = np.concatenate([pair.sequence for pair in schedule if pair.treatment == treatment])
        assert requests.size == count * slot
        counts = np.bincount(requests, minlength=4)
        expected = np.asarray(WEIGHTS) / 9.0 * requests.size
        assert (np.abs(counts - expected) < 1.0 + 1e-9).all()


def test_rounding_of_rare_targets_is_unbiased_over_blocks() -> None:
    rare = [
        np.concatenate(
            [pair.sequence for pair in schedule_block(seed=3, block=block, pairs={"a": 4}, weights=[99.0, 1.0], slot_requests=1)]
        ).sum()
        for block in range(4000)
    ]
    # 4 requests of which 1 % are rare: 0.04 per block; 4,000 blocks give a standard error of
    # 0.0031.
    assert abs(float(np.mean(rare)) - 0.04) < 4 * 0.0031


def test_the_coin_is_fair() -> None:
    heads = [
        pair.control_first
        for block in range(200)
        for pair in schedule_block(seed=5, block=block, pairs={"a": 50}, weights=[1.0], slot_requests=1)
    ]
    # 10,000 tosses: standard error 0.005.
    assert abs(np.mean(heads) - 0.5) < 4 * 0.005


def test_a_treatment_is_driven_in_stretches_so_that_neither_arm_is_idle_longer_than_the_other() -> None:
    schedule = schedule_block(seed=1, block=0, pairs={"many": 160, "few": 44}, weights=[1.0], slot_requests=1)
    opened = [position for position, pair in enumerate(schedule) if pair.opening]
    stretches = [schedule[start:end] for start, end in zip(opened, [*opened[1:], len(schedule)], strict=True)]
    assert opened[0] == 0
    assert len(stretches) == 5
    assert all(len({pair.treatment for pair in stretch}) == 1 for stretch in stretches)
    assert all(20 <= len(stretch) <= 60 for stretch in stretches)


def test_a_single_treatment_needs_no_stretches() -> None:
    schedule = schedule_block(seed=1, block=0, pairs={"only": 90}, weights=[1.0], slot_requests=1)
    # Both have rested equally long.
    assert [len(pair.opening) for pair in schedule] == [1] + [0] * 89


def test_what_rested_longer_than_the_control_is_at_work_again_before_anything_counts() -> None:
    schedule = schedule_block(seed=1, block=0, pairs={"a": 30, "b": 30}, weights=WEIGHTS, slot_requests=1)
    opened = [pair.opening for pair in schedule if pair.opening]
    assert [[turn.size for turn in opening] for opening in opened] == [[1] * OPENING] * 2
    # Of the mix, or it would warm what a dear target of it needs too seldom.
    asked = np.concatenate([turn for opening in opened for turn in opening])
    assert set(asked.tolist()) <= set(range(len(WEIGHTS)))
    assert len(set(asked.tolist())) > 1


def test_a_slot_with_many_requests_in_flight_is_opened_by_one_for_each() -> None:
    schedule = schedule_block(seed=1, block=0, pairs={"a": 4, "b": 4}, weights=WEIGHTS, slot_requests=200, concurrency=10)
    opened = [(pair.opening, pair.sequence) for pair in schedule if pair.opening]
    assert [(len(opening), opening[0].tolist()) for opening, _ in opened] == [(1, sequence[:10].tolist()) for _, sequence in opened]


def test_instances_start_in_an_order_that_is_no_arms() -> None:
    orders = [draw_order(4, seed=1, block=block, stage=0) for block in range(400)]
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    assert orders[3] == draw_order(4, seed=1, block=3, stage=0) != draw_order(4, seed=1, block=3, stage=1)
    # Each place goes to each arm a hundred times, with a standard deviation of 8.7.
    counts = np.asarray([np.bincount([order[place] for order in orders], minlength=4) for place in range(4)])
    assert (np.abs(counts - 100) < 40).all()


def test_stretches_come_in_another_order_in_another_block() -> None:
    orders = set()
    for block in range(20):
        schedule = schedule_block(seed=1, block=block, pairs={"a": 10, "b": 10}, weights=[1.0], slot_requests=1)
        orders.add(tuple(pair.treatment for pair in schedule if pair.opening))
    assert orders == {("a", "b"), ("b", "a")}
