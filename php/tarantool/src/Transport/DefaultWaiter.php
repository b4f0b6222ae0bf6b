<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Transport;

use Phpdyno\Tarantool\Awaitable;
use Phpdyno\Tarantool\Scheduler;

/**
 * Suspends inside a Fiber that the Scheduler runs, and blocks everywhere else.
 */
final class DefaultWaiter implements Waiter
{
    public function wait(Connection $connection, Awaitable $awaited): void
    {
        if ($awaited->done) {
            return;
        }
        $fiber = \Fiber::getCurrent();
        if ($fiber !== null && Scheduler::watch($fiber, $connection)) {
            $awaited->fiber = $fiber;
            \Fiber::suspend();

            return;
        }
        while (!$awaited->done) {
            Poll::turnOf($connection);
            if (!$awaited->done && !$connection->isBusy()) {
                throw new \LogicException('There is nothing to wait for');
            }
        }
    }
}
