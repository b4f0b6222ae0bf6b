<?php
// Operations in threads of the extension parallel: each has a client of its own, connected before it is asked for anything.
declare(strict_types=1);

namespace Phpdyno\Connectors;

use parallel\Runtime;

final class Threads
{
    /** @var list<Runtime> */
    private array $runtimes = [];

    public function __construct(array $row, int $count)
    {
        $ready = [];
        for ($number = 0; $number < $count; $number++) {
            $runtime = new Runtime(__DIR__ . '/thread.php');
            $this->runtimes[] = $runtime;
            $ready[] = $runtime->run(static function (array $row): bool {
                return \Phpdyno\Connectors\open_thread($row);
            }, [$row]);
        }
        foreach ($ready as $future) {
            $future->value();
        }
    }

    /** Performs an operation for each key, of which each thread gets its share. */
    public function run(string $name, array $keys, Slot $slot): void
    {
        $shares = \array_chunk($keys, \intdiv(\count($keys) + \count($this->runtimes) - 1, \count($this->runtimes)));
        $futures = [];
        foreach ($shares as $number => $share) {
            $futures[] = $this->runtimes[$number]->run(static function (string $name, array $keys, int $every): array {
                return \Phpdyno\Connectors\perform_in_thread($name, $keys, $every);
            }, [$name, $share, $slot->every]);
        }
        foreach ($futures as $future) {
            [$times, $failed, $why] = $future->value();
            \array_push($slot->times, ...$times);
            $slot->failed += $failed;
            $slot->why = $slot->why ?: $why;
        }
    }
}
