<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Bridge\Revolt;

use Phpdyno\Tarantool\Transport\Connection;
use Revolt\EventLoop;

/**
 * The callbacks in Revolt's event loop that keep one connection going while it is busy.
 *
 * @internal
 */
final class Watch
{
    /** @var list<string> */
    private array $callbacks = [];

    private bool $queued = false;

    /**
     * Creates the watch of a connection.
     */
    public function __construct(private readonly Connection $connection)
    {
    }

    /**
     * Makes sure that the connection is seen to in the present turn of the loop.
     */
    public function start(): void
    {
        if (!$this->queued) {
            $this->queued = true;
            EventLoop::queue($this->turn(...));
        }
    }

    private function turn(): void
    {
        $this->queued = false;
        foreach ($this->callbacks as $callback) {
            EventLoop::cancel($callback);
        }
        $this->callbacks = [];
        $this->connection->flush();
        $this->connection->expire();
        if (!$this->connection->isBusy()) {
            return;
        }
        $stream = $this->connection->stream();
        if ($stream !== null) {
            $this->callbacks[] = EventLoop::onReadable($stream, function (): void {
                $this->connection->receive();
                $this->start();
            });
            if ($this->connection->wantsWrite()) {
                $this->callbacks[] = EventLoop::onWritable($stream, $this->start(...));
            }
        }
        $deadline = $this->connection->deadline();
        if ($deadline !== null) {
            $this->callbacks[] = EventLoop::delay(\max(0, $deadline - \hrtime(true)) / 1e9, $this->start(...));
        }
    }
}
