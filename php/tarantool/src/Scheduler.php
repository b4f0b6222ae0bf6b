<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

use Phpdyno\Tarantool\Transport\Connection;
use Phpdyno\Tarantool\Transport\Poll;

/**
 * Runs functions in Fibers: each one that waits for an answer lets the others go on.
 *
 * What the Fibers of a turn ask for goes out in few writes, and is read together. Fibers are kept and used again.
 */
final class Scheduler
{
    private static ?self $instance = null;

    /** @var \WeakMap<\Fiber, true> the Fibers that belong to the scheduler */
    private \WeakMap $owned;

    /** @var list<\Fiber> Fibers without work */
    private array $idle = [];

    /** @var array<int, Connection> connections that a Fiber waits for */
    private array $connections = [];

    /** @var \SplMinHeap<array{int, int, \Fiber}> */
    private \SplMinHeap $sleeping;

    private int $sleeps = 0;

    private function __construct()
    {
        $this->owned = new \WeakMap();
        $this->sleeping = new \SplMinHeap();
    }

    /**
     * Runs functions at the same time; returns their results under the keys of the arguments.
     *
     * All functions are run to their end; then the first exception, if there was one, is thrown.
     *
     * @return array<array-key, mixed>
     */
    public static function run(callable ...$tasks): array
    {
        return self::map($tasks, static fn (callable $task): mixed => $task(), \max(1, \count($tasks)));
    }

    /**
     * Calls $work(value, key) for each item, at most $concurrency at a time.
     *
     * The results have the keys and the order of the items.
     *
     * After the first exception no further item is begun; when those under way have ended, it is thrown.
     * $items must not wait for an answer while it is iterated.
     *
     * @param iterable<array-key, mixed> $items
     * @return array<array-key, mixed>
     */
    public static function map(iterable $items, callable $work, int $concurrency = 128): array
    {
        if ($concurrency < 1) {
            throw new \InvalidArgumentException('The concurrency must be at least 1');
        }
        $iterator = \is_array($items) ? new \ArrayIterator($items) : new \IteratorIterator($items);
        $iterator->rewind();
        $results = [];
        $failure = null;
        $group = null;
        $running = 0;
        $job = static function () use ($iterator, $work, &$results, &$failure, &$group, &$running): void {
            while ($failure === null && $iterator->valid()) {
                try {
                    $key = $iterator->key();
                    $value = $iterator->current();
                    $iterator->next();
                    $results[$key] = null;
                    $results[$key] = $work($value, $key);
                } catch (\Throwable $error) {
                    $failure ??= $error;
                }
            }
            --$running;
            $group?->leave();
        };
        $self = self::instance();
        for ($i = 0; $i < $concurrency && $failure === null && $iterator->valid(); ++$i) {
            ++$running;
            $self->start($job);
        }
        $group = new Group($running);
        $self->join($group);

        return $failure === null ? $results : throw $failure;
    }

    /**
     * Waits so many seconds; inside a Fiber of the scheduler the others go on.
     */
    public static function sleep(float $seconds): void
    {
        $fiber = \Fiber::getCurrent();
        $self = self::current();
        if ($fiber === null || $self === null) {
            \usleep((int) ($seconds * 1e6));

            return;
        }
        $self->sleeping->insert([\hrtime(true) + (int) ($seconds * 1e9), ++$self->sleeps, $fiber]);
        \Fiber::suspend();
    }

    /**
     * Returns the scheduler if the caller runs in one of its Fibers, else null.
     */
    private static function current(): ?self
    {
        $fiber = \Fiber::getCurrent();

        return $fiber !== null && isset(self::$instance->owned[$fiber]) ? self::$instance : null;
    }

    /**
     * Keeps the connection going while the Fiber is suspended; false if the Fiber is none of the scheduler's.
     *
     * @internal
     */
    public static function watch(\Fiber $fiber, Connection $connection): bool
    {
        $self = self::$instance;
        if (!isset($self->owned[$fiber])) {
            return false;
        }
        if (!$connection->watched) {
            $connection->watched = true;
            $self->connections[] = $connection;
        }

        return true;
    }

    private static function instance(): self
    {
        return self::$instance ??= new self();
    }

    private function start(\Closure $job): void
    {
        $fiber = \array_pop($this->idle);
        if ($fiber !== null) {
            $fiber->resume($job);

            return;
        }
        $fiber = new \Fiber(function (\Closure $job): void {
            $self = \Fiber::getCurrent();
            while (true) {
                $job();
                $job = null; // An idle Fiber holds nothing of what it worked on.
                $this->idle[] = $self;
                $job = \Fiber::suspend();
            }
        });
        $this->owned[$fiber] = true;
        $fiber->start($job);
    }

    private function join(Group $group): void
    {
        if ($group->done) {
            return;
        }
        if (self::current() !== null) {
            $group->fiber = \Fiber::getCurrent();
            \Fiber::suspend();

            return;
        }
        while (!$group->done) {
            $this->turn();
        }
        $this->release();
    }

    /**
     * Lets go of connections that nobody waits for.
     */
    private function release(): void
    {
        foreach ($this->connections as $id => $connection) {
            if (!$connection->isBusy()) {
                $connection->watched = false;
                unset($this->connections[$id]);
            }
        }
    }

    private function turn(): void
    {
        $this->release();
        $next = $this->sleeping->isEmpty() ? null : $this->sleeping->top()[0];
        if ($this->connections === [] && $next === null) {
            throw new \LogicException('Every Fiber is suspended, and not by a request or Scheduler::sleep()');
        }
        Poll::turn($this->connections, $next);
        $now = \hrtime(true);
        while (!$this->sleeping->isEmpty() && $this->sleeping->top()[0] <= $now) {
            $this->sleeping->extract()[2]->resume();
        }
    }
}
