"""Training on the distribution's php-fpm: it counts nothing here, and what it answers on the way is
looked at as that of any other."""

from pathlib import Path

import pytest

from phpdyno.php_build.train.beside import Beside, WrongAnswer
from phpdyno.php_build.train.training import Trainer, TrainingLength
from tests.support.real.stack import plain_arm, plain_bench

pytestmark = pytest.mark.integration
REQUESTS = 200
RIGHT = '<?php echo \'{"status": "ok", "items": [1, 2, 3]}\';'
WRONG = """<?php
$counter = dirname(__DIR__) . '/counters/' . getmypid() . readlink('/proc/self/ns/pid');
file_put_contents($counter, '.', FILE_APPEND);
clearstatcache();
if (filesize($counter) >= 100 && filesize($counter) < 110) {
    echo '{"status": "down", "why": "no store"}';
} else {
    echo '{"status": "ok", "items": [1, 2, 3]}';
}
"""
"""From the hundredth request of a worker on ten are answered by a fault, with status 200 and about
as many bytes as ever."""


def train(place: Path, page: str) -> tuple[int, list[int]]:
    """How many requests it was trained on, and how many each worker has counted itself. Raises
    WrongAnswer."""
    with plain_bench(place, index=page) as bench:
        counters = bench.supervisor.directory("counters", private=False)
        trainer = Trainer(Beside(bench, plain_arm("control"), bench.app.workload), bench.app.workload)
        trained = trainer.train(plain_arm("training"), TrainingLength(seconds=1e-9, least=REQUESTS), lambda *_: None, by_signals=False)
        return trained.requests, [each.stat().st_size for each in counters.iterdir()]


def test_an_error_page_on_the_way_is_not_learnt_though_the_answers_before_and_after_it_are_right(tmp_path: Path) -> None:
    with pytest.raises(WrongAnswer, match=r"training: it does not answer as the control does: /"):
        train(tmp_path, WRONG)
    assert train(tmp_path, RIGHT) == (REQUESTS, [])
    # It is the page that is refused, and not its counting.
    requests, counted = train(tmp_path, WRONG.replace(">= 100", ">= 100000"))
    assert requests == REQUESTS
    assert max(counted) > REQUESTS
