<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

use Phpdyno\Tarantool\Exception\ProcessFailed;

/**
 * Divides work among processes (needs the pcntl extension).
 */
final class Processes
{
    /** The last byte of a complete result. */
    private const END = "\n";

    /**
     * Calls $work(share, number) in each of $processes processes, and returns what each returned, by number.
     *
     * The items are dealt in turn; keys are kept. Make the client inside $work: a connection belongs to the process
     * that opened it. Results are serialized. All processes are waited for before a failure is thrown.
     *
     * @param array<array-key, mixed> $items
     * @param callable(array<array-key, mixed>, int): mixed $work
     * @param float $timeout seconds; what still runs then is killed
     * @return list<mixed>
     * @throws ProcessFailed if a process threw, died, or took too long
     * @throws \LogicException if pcntl is missing, or inside a Fiber
     */
    public static function map(array $items, callable $work, int $processes, float $timeout = 3600.0): array
    {
        if (!\function_exists('pcntl_fork') || !\function_exists('posix_kill')) {
            throw new \LogicException('Processes need the extensions pcntl and posix');
        }
        if (\Fiber::getCurrent() !== null || $processes < 1) {
            throw new \LogicException('Processes are started outside Fibers, and at least one of them');
        }
        $shares = \array_fill(0, $processes, []);
        $turn = 0;
        foreach ($items as $key => $item) {
            $shares[$turn++ % $processes][$key] = $item;
        }
        $children = $sockets = [];
        try {
            foreach ($shares as $number => $share) {
                [$children[$number], $sockets[$number]] = self::start($work, $share, $number);
            }
            $outputs = self::collect($sockets, $timeout);
        } finally {
            foreach ($children as $child) {
                \posix_kill($child, \SIGKILL);
                \pcntl_waitpid($child, $status);
            }
        }

        return self::results($outputs);
    }

    /**
     * @param array<array-key, mixed> $share
     * @return array{int, resource} the process id, and the socket from which its result comes
     */
    private static function start(callable $work, array $share, int $number): array
    {
        $pair = \stream_socket_pair(\STREAM_PF_UNIX, \STREAM_SOCK_STREAM, 0);
        $child = $pair === false ? -1 : \pcntl_fork();
        if ($child === -1) {
            throw new ProcessFailed('A process could not be started');
        }
        if ($child > 0) {
            \fclose($pair[1]);

            return [$child, $pair[0]];
        }
        try {
            $output = 'r' . \serialize($work($share, $number)) . self::END;
        } catch (\Throwable $error) {
            $output = 'e' . \get_debug_type($error) . ': ' . $error->getMessage() . self::END;
        }
        while ($output !== '' && ($count = @\fwrite($pair[1], $output)) !== false) {
            $output = \substr($output, $count);
        }
        \fclose($pair[1]);
        // A normal end would run the destructors and shutdown functions that belong to the parent.
        \posix_kill(\posix_getpid(), \SIGKILL);
        exit(1);
    }

    /**
     * @param array<int, resource> $sockets
     * @return array<int, string>
     */
    private static function collect(array $sockets, float $timeout): array
    {
        $until = \microtime(true) + $timeout;
        $outputs = \array_fill_keys(\array_keys($sockets), '');
        while ($sockets !== []) {
            $left = $until - \microtime(true);
            if ($left <= 0) {
                throw new ProcessFailed(\sprintf('Processes did not end within %s s', $timeout));
            }
            $read = $sockets;
            $write = $except = [];
            if (!@\stream_select($read, $write, $except, (int) \ceil($left))) {
                continue;
            }
            foreach ($read as $number => $socket) {
                $chunk = \fread($socket, 0x40000);
                if ($chunk !== '' && $chunk !== false) {
                    $outputs[$number] .= $chunk;
                } elseif (\feof($socket)) {
                    \fclose($socket);
                    unset($sockets[$number]);
                }
            }
        }

        return $outputs;
    }

    /**
     * @param array<int, string> $outputs
     * @return list<mixed>
     */
    private static function results(array $outputs): array
    {
        $results = [];
        foreach ($outputs as $number => $output) {
            $complete = \substr($output, -1) === self::END;
            if (!$complete || $output[0] !== 'r') {
                $reason = $complete ? \substr($output, 1, -1) : 'it ended without a complete result';
                throw new ProcessFailed(\sprintf('Process %d failed: %s', $number, $reason));
            }
            $results[$number] = \unserialize(\substr($output, 1, -1));
        }

        return $results;
    }
}
