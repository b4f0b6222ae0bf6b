<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Bridge\Revolt;

use Phpdyno\Tarantool\Awaitable;
use Phpdyno\Tarantool\Transport\Connection;
use Phpdyno\Tarantool\Transport\Waiter;
use Revolt\EventLoop;

/**
 * Waits in Revolt's event loop: `new Client($options, new RevoltWaiter())`.
 *
 * Requests of one turn of the loop go out together. Needs revolt/event-loop.
 */
final class RevoltWaiter implements Waiter
{
    /** @var \WeakMap<Connection, Watch> */
    private \WeakMap $watches;

    /**
     * Creates the waiter.
     */
    public function __construct()
    {
        $this->watches = new \WeakMap();
    }

    public function wait(Connection $connection, Awaitable $awaited): void
    {
        if ($awaited->done) {
            return;
        }
        $suspension = EventLoop::getSuspension();
        $awaited->listener = static fn () => $suspension->resume();
        $watch = $this->watches[$connection] ??= new Watch($connection);
        $watch->start();
        $suspension->suspend();
    }
}
