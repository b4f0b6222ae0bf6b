<?php
// How many operations are under way at once, and by which means. An engine performs one operation for each key and notes when some began
// and ended: noting all of them would weigh in what takes a microsecond.
declare(strict_types=1);

namespace Phpdyno\Connectors;

use Phpdyno\Tarantool\Scheduler;
use Revolt\EventLoop;
use Swoole\Coroutine;
use Swoole\Coroutine\Channel;

/** What a slot came to; times are CLOCK_MONOTONIC nanoseconds. */
final class Slot
{
    /** @var list<int> begin and end of every `every`th operation, one after the other */
    public array $times = [];
    public int $failed = 0;
    public string $why = '';
    public int $started = 0;
    public int $ended = 0;

    public function __construct(public int $every)
    {
    }

    public function fail(string $why): void
    {
        $this->failed++;
        $this->why = $this->why ?: $why;
    }
}

final class WrongAnswer extends \RuntimeException
{
}

/** One after the other: the next begins when the answer is there. */
function sync(Operation $operation, array $keys, Slot $slot): void
{
    $run = $operation->run;
    $right = $operation->right;
    $slot->every = 1;
    foreach ($keys as $key) {
        $began = \hrtime(true);
        try {
            $answer = $run($key);
            \array_push($slot->times, $began, \hrtime(true));
            if (!$right($key, $answer)) {
                $slot->fail("a wrong answer for the key $key: " . \json_encode($answer));
            }
        } catch (\Throwable $error) {
            \array_push($slot->times, $began, \hrtime(true));
            $slot->fail(\get_class($error) . ': ' . $error->getMessage());
        }
    }
}

/** Code of that kind in so many Fibers, which share what the operation's client has: one connection. */
function fibers(Operation $operation, array $keys, Slot $slot, int $inFlight): void
{
    Scheduler::map(\array_fill(0, $inFlight, $operation), worker($keys, $slot), $inFlight);
}

/** The same, with a connection for each Fiber. @param list<Operation> $operations one of each client */
function fibers_with_sockets(array $operations, array $keys, Slot $slot): void
{
    Scheduler::map($operations, worker($keys, $slot), \count($operations));
}

/** In so many Fibers of Revolt's event loop, which is AMPHP's too; they share one connection. */
function revolt(Operation $operation, array $keys, Slot $slot, int $inFlight): void
{
    $work = worker($keys, $slot);
    $all = EventLoop::getSuspension();
    $left = $inFlight;
    for ($fiber = 0; $fiber < $inFlight; $fiber++) {
        EventLoop::queue(static function () use ($work, $operation, $all, &$left): void {
            $work($operation);
            if (--$left === 0) {
                $all->resume();
            }
        });
    }
    $all->suspend();
}

/** In coroutines of Swoole, with a connection for each. @param list<Operation> $operations one of each client */
function coroutines(array $operations, array $keys, Slot $slot): void
{
    $work = worker($keys, $slot);
    $ended = new Channel(\count($operations));
    foreach ($operations as $operation) {
        Coroutine::create(static function () use ($work, $operation, $ended): void {
            $work($operation);
            $ended->push(true);
        });
    }
    foreach ($operations as $_) {
        $ended->pop();
    }
}

/** @return \Closure(Operation): void which takes the next key as long as there is one; as many may run as there are operations in flight */
function worker(array $keys, Slot $slot): \Closure
{
    $next = 0;
    $count = \count($keys);
    $every = $slot->every;
    return static function (Operation $operation) use (&$next, $count, $keys, $slot, $every): void {
        $run = $operation->run;
        $right = $operation->right;
        while ($next < $count) {
            $at = $next++;
            $key = $keys[$at];
            $began = $at % $every === 0 ? \hrtime(true) : 0;
            try {
                $answer = $run($key);
                if ($began !== 0) {
                    \array_push($slot->times, $began, \hrtime(true));
                }
                if (!$right($key, $answer)) {
                    $slot->fail("a wrong answer for the key $key: " . \json_encode($answer));
                }
            } catch (\Throwable $error) {
                $slot->fail(\get_class($error) . ': ' . $error->getMessage());
            }
        }
    };
}

/** So many requests of a batch are sent while the others of it are still made. */
const PART = 64;

/** Batches of so many requests: each is made, sent and answered, then the next. */
function batch(Connector $connector, Operation $operation, array $keys, Slot $slot, int $inFlight): void
{
    $request = $operation->request;
    $right = $operation->right;
    $slot->every = $inFlight;
    foreach (\array_chunk($keys, $inFlight) as $chunk) {
        $began = \hrtime(true);
        $batch = $connector->client->batch(sendEvery: PART);
        foreach ($chunk as $key) {
            $batch->add($request($key));
        }
        $done = $batch->flush();
        foreach ($done as $at => $each) {
            judge($each, $right, $chunk[$at], $slot);
        }
        \array_push($slot->times, $began, \hrtime(true));
    }
}

/** Always so many under way: the next request is sent when the answer of an earlier one is there. */
function window(Connector $connector, Operation $operation, array $keys, Slot $slot, int $inFlight): void
{
    $request = $operation->request;
    $right = $operation->right;
    $every = $slot->every;
    $began = [];
    $requests = static function () use ($keys, $request, $every, &$began): \Generator {
        foreach ($keys as $at => $key) {
            if ($at % $every === 0) {
                $began[$at] = \hrtime(true);
            }
            yield $at => $request($key);
        }
    };
    foreach ($connector->client->pipeline($requests(), $inFlight) as $at => $each) {
        judge($each, $right, $keys[$at], $slot);
        if ($at % $every === 0) {
            \array_push($slot->times, $began[$at], \hrtime(true));
            unset($began[$at]);
        }
    }
}

function judge(\Phpdyno\Tarantool\Request $request, \Closure $right, int $key, Slot $slot): void
{
    try {
        $answer = $request->get();
        if (!$right($key, $answer)) {
            $slot->fail("a wrong answer for the key $key: " . \json_encode($answer));
        }
    } catch (\Throwable $error) {
        $slot->fail(\get_class($error) . ': ' . $error->getMessage());
    }
}
