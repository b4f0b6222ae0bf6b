<?php
/* A busy loop of PHPDYNO_SPIN iterations, each of the same cost: it makes a request dearer by a known amount. Fit for auto_prepend_file. */

declare(strict_types=1);

(static function (int $count): void {
    $sum = 0;
    for ($i = 0; $i < $count; ++$i) {
        $sum = ($sum + $i) & 0xffff;
    }
    // Kept where it can be read, so that the optimizer may not drop the loop; not part of the answer, which is the same for every count.
    $GLOBALS['phpdyno_sum'] = $sum;
})((int) getenv('PHPDYNO_SPIN'));
