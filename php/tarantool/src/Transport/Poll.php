<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Transport;

/**
 * One turn for a set of connections: write, wait, read, and end what is overdue.
 *
 * @internal
 */
final class Poll
{
    private const MAX_WAIT = 1_000_000_000;

    /**
     * Makes one turn for a single connection; in the usual state it takes less than turn().
     */
    public static function turnOf(Connection $connection): void
    {
        $connection->flush();
        $stream = $connection->stream();
        $deadline = $connection->deadline();
        if ($stream === null && !$connection->isBusy()) {
            return; // The flush found that the connection belongs to the parent process.
        }
        if ($stream === null || $deadline === null || $connection->wantsWrite()) {
            self::turn([$connection]);

            return;
        }
        $read = [$stream];
        $none = null;
        $microseconds = \intdiv(\max(0, $deadline - \hrtime(true)) + 999, 1000);
        $isReady = @\stream_select($read, $none, $none, \intdiv($microseconds, 1_000_000), $microseconds % 1_000_000);
        if ($isReady) {
            $connection->receive();
        }
        if (!$isReady || $microseconds === 0) {
            $connection->expire();
        }
    }

    /**
     * Makes one turn; waits no longer than until $until (hrtime, nanoseconds) or the first deadline.
     *
     * @param array<int, Connection> $connections
     */
    public static function turn(array $connections, ?int $until = null): void
    {
        $read = $write = $except = [];
        foreach ($connections as $id => $connection) {
            $connection->flush();
            $deadline = $connection->deadline();
            if ($deadline !== null && ($until === null || $deadline < $until)) {
                $until = $deadline;
            }
            $stream = $connection->stream();
            if ($stream !== null) {
                $read[$id] = $stream;
                if ($connection->wantsWrite()) {
                    $write[$id] = $stream;
                }
            }
        }
        if ($until === null && $read === []) {
            throw new \LogicException('There is nothing to wait for');
        }
        $wait = $until === null ? self::MAX_WAIT : \max(0, $until - \hrtime(true));
        $microseconds = \intdiv($wait + 999, 1000);
        if ($read === []) {
            \usleep($microseconds);
        } elseif (
            @\stream_select($read, $write, $except, \intdiv($microseconds, 1_000_000), $microseconds % 1_000_000)
        ) {
            foreach ($write as $id => $stream) {
                $connections[$id]->flush();
            }
            foreach ($read as $id => $stream) {
                $connections[$id]->receive();
            }
        }
        foreach ($connections as $connection) {
            $connection->expire();
        }
    }
}
