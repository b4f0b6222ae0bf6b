<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

use Phpdyno\Tarantool\Transport\Connection;
use Phpdyno\Tarantool\Transport\DefaultWaiter;
use Phpdyno\Tarantool\Transport\Waiter;

/**
 * Submits requests to one connection and waits for their answers.
 *
 * @internal
 */
final class Executor
{
    private readonly bool $isDefault;

    /**
     * Creates an executor.
     */
    public function __construct(public readonly Connection $connection, public readonly Waiter $waiter)
    {
        $this->isDefault = $waiter instanceof DefaultWaiter;
    }

    /**
     * Returns the result of a request.
     *
     * @throws Exception\TarantoolException if it fails
     */
    public function run(Request $request): mixed
    {
        $this->connection->submit($request);
        if (!$request->done) {
            // Suspending here saves calls after the resumption, which leaves the trace that the JIT compiled.
            $fiber = $this->isDefault ? \Fiber::getCurrent() : null;
            if ($fiber !== null && Scheduler::watch($fiber, $this->connection)) {
                $request->fiber = $fiber;
                \Fiber::suspend();
            } else {
                $this->waiter->wait($this->connection, $request);
            }
        }
        if ($request->error !== null) {
            throw $request->error;
        }

        return $request->value;
    }

    /**
     * Returns when all requests of a group are done.
     */
    public function await(Group $group): void
    {
        $this->waiter->wait($this->connection, $group);
    }

    /**
     * Keeps up to $window requests in flight; yields each one, done, under its key and in order.
     *
     * @param iterable<array-key, Request> $requests
     * @return \Generator<array-key, Request>
     */
    public function pipeline(iterable $requests, int $window): \Generator
    {
        $keys = new \SplQueue();
        $queue = new \SplQueue();
        foreach ($requests as $key => $request) {
            $this->connection->submit($request);
            $keys->enqueue($key);
            $queue->enqueue($request);
            if (\count($queue) < $window) {
                continue;
            }
            $this->waiter->wait($this->connection, $queue->bottom());
            while (!$queue->isEmpty() && $queue->bottom()->done) {
                yield $keys->dequeue() => $queue->dequeue();
            }
        }
        while (!$queue->isEmpty()) {
            $this->waiter->wait($this->connection, $queue->bottom());
            yield $keys->dequeue() => $queue->dequeue();
        }
    }
}
