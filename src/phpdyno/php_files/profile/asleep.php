<?php
// Asked for once before PHP's stack is read from a worker's memory: where the stack lies is found by this function, which is asleep.
declare(strict_types=1);

function phpdyno_is_asleep(): void
{
    if (function_exists('usleep')) {
        usleep(400_000);
    } else {
        sleep(1);
    }
}

phpdyno_is_asleep();
