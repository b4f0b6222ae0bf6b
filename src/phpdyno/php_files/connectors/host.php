<?php
// Performs operations on a Tarantool by one connector and one engine, on command.
//
//   php host.php SOCKET ROW   listen on a unix socket until killed; ROW is a JSON file (stack/connectors.py writes it)
//
// A message's first byte says what it is; numbers are little-endian.
//   O                         -> {"operations": [NAME...], "jit_free_bytes": N}
//   I + JSON list of names    -> the facts of probe.php, with these environment variables
//   F + uint32 operation      -> status (1 byte: 0 done, 1 failed) + the answer as JSON, or what went wrong
//   R + uint32 operation, uint32 first key, uint32 count
//                             -> uint64 start and end (CLOCK_MONOTONIC ns), failed, every, noted, then begin and end of so many noted
//                                operations, every `every`th one (two uint64 each), and the reason of the first failure
// Keys follow each other in one shuffled order, so that none comes twice among so many as there are tuples.
declare(strict_types=1);

namespace Phpdyno\Connectors;

use function Phpdyno\receive;
use function Phpdyno\send;

const FETCHED = 7;
const EVERY = 16;
const SEED = 1;

$phpdyno = ['jit_free' => \function_exists('opcache_get_status') ? (int) (@\opcache_get_status(false)['jit']['buffer_free'] ?? 0) : 0];

require __DIR__ . '/../channel.php';
require __DIR__ . '/loading.php';
require __DIR__ . '/threads.php';

/** Included anew each time: with opcache on, its hits then show that scripts are served from the cache. */
function facts(array $names): array
{
    return require __DIR__ . '/../probe.php';
}

final class Lab
{
    /** @var list<Connector> more than one where each Fiber has its own */
    private array $connectors = [];
    /** @var list<array<string, Operation>> of each connector */
    private array $operations = [];
    /** @var list<string> */
    private array $names;
    /** @var list<int> each key once, twice over */
    private array $keys;
    private ?Threads $threads = null;

    public function __construct(private array $row, private int $jitFree)
    {
        load_package($this->row['package']);
        $sockets = \in_array($this->row['engine'], ['fibers-sockets', 'swoole'], true) ? $this->row['in_flight'] : 1;
        $hooks = $this->row['engine'] === 'swoole';
        if ($hooks) {
            // Sockets that are made now suspend their coroutine; those of our own channel, made later, do not.
            \Swoole\Runtime::setHookFlags(SWOOLE_HOOK_TCP | SWOOLE_HOOK_UNIX);
        }
        for ($at = 0; $at < $sockets; $at++) {
            $this->connectors[] = connect($this->row);
            $this->operations[] = $this->connectors[$at]->operations();
        }
        if ($hooks) {
            \Swoole\Runtime::setHookFlags(0);
        }
        $wanted = $this->row['operations'];
        $missing = \array_diff($wanted, \array_keys($this->operations[0]));
        if ($missing !== []) {
            throw new \RuntimeException("{$this->row['connector']} cannot do " . \implode(', ', $missing));
        }
        $this->names = \array_values($wanted);
        $keys = \range(1, $this->row['tuples']);
        \mt_srand(SEED);
        \shuffle($keys);
        $this->keys = [...$keys, ...$keys];
        if ($this->row['engine'] === 'threads') {
            $this->threads = new Threads($this->row, $this->row['in_flight']);
        }
    }

    public function serve(string $path): void
    {
        $server = \stream_socket_server("unix://$path");
        if ($server === false) {
            exit(1);
        }
        $connections = [];
        while (true) {
            $ready = [$server, ...$connections];
            $write = $except = null;
            if (!@\stream_select($ready, $write, $except, null)) {
                continue;
            }
            foreach ($ready as $stream) {
                if ($stream === $server) {
                    $connection = @\stream_socket_accept($server, 0);
                    if ($connection !== false) {
                        \stream_set_read_buffer($connection, 0);
                        $connections[(int) $connection] = $connection;
                    }
                } elseif (!$this->answer($stream)) {
                    unset($connections[(int) $stream]);
                    \fclose($stream);
                }
            }
        }
    }

    private function answer($stream): bool
    {
        $message = receive($stream);
        if ($message === null) {
            return false;
        }
        $body = \substr($message, 1);
        send($stream, match ($message[0]) {
            'O' => \json_encode(['operations' => $this->names, 'jit_free_bytes' => $this->jitFree]),
            'I' => \json_encode(facts(\json_decode($body)), \JSON_THROW_ON_ERROR | \JSON_INVALID_UTF8_SUBSTITUTE),
            'F' => $this->fetch(\unpack('V', $body)[1]),
            'R' => $this->run(...\array_values(\unpack('V3', $body))),
        });
        return true;
    }

    private function fetch(int $index): string
    {
        $operation = $this->operations[0][$this->names[$index]];
        try {
            $this->connectors[0]->restore(FETCHED);
            $answer = ($operation->run)(FETCHED);
            $this->connectors[0]->restore(FETCHED);
            $right = ($operation->right)(FETCHED, $answer);
            return ($right ? "\0" : "\1a wrong answer: ") . \json_encode(($operation->shown)($answer), \JSON_THROW_ON_ERROR);
        } catch (\Throwable $error) {
            return "\1" . \get_class($error) . ': ' . $error->getMessage();
        }
    }

    private function run(int $index, int $first, int $count): string
    {
        $name = $this->names[$index];
        $tuples = $this->row['tuples'];
        $keys = [];
        for ($left = $count, $at = $first % $tuples; $left > 0; $left -= $tuples) {
            \array_push($keys, ...\array_slice($this->keys, $at, \min($left, $tuples)));
        }
        $operation = $this->operations[0][$name];
        $inFlight = $this->row['in_flight'];
        $slot = new Slot(EVERY);
        $slot->started = \hrtime(true);
        match ($this->row['engine']) {
            'sync' => sync($operation, $keys, $slot),
            'fibers' => fibers($operation, $keys, $slot, $inFlight),
            'fibers-sockets' => fibers_with_sockets(\array_column($this->operations, $name), $keys, $slot),
            'revolt' => revolt($operation, $keys, $slot, $inFlight),
            'swoole' => coroutines(\array_column($this->operations, $name), $keys, $slot),
            'threads' => $this->threads->run($name, $keys, $slot),
            'batch' => batch($this->connectors[0], $operation, $keys, $slot, $inFlight),
            'window' => window($this->connectors[0], $operation, $keys, $slot, $inFlight),
        };
        $slot->ended = \hrtime(true);
        $why = \substr($slot->why, 0, 500);
        if ($slot->failed > 0) {
            complain("{$slot->failed} of $count operations $name failed, the first: $why");
        }
        $noted = \intdiv(\count($slot->times), 2);
        return \pack('P*', $slot->started, $slot->ended, $slot->failed, $slot->every, $noted, ...$slot->times) . $why;
    }
}

function complain(string $words): void
{
    \fwrite(\STDERR, "\nphpdyno: " . \preg_replace('/\s+/', ' ', $words) . "\n");
}

function work(string $path, array $row, int $jitFree): void
{
    try {
        $lab = new Lab($row, $jitFree);
    } catch (\Throwable $error) {
        complain(\get_class($error) . ': ' . $error->getMessage());
        exit(1);
    }
    $lab->serve($path);
}

$phpdyno['row'] = \json_decode(\file_get_contents($argv[2]), true, 16, \JSON_THROW_ON_ERROR);
if ($phpdyno['row']['engine'] === 'swoole') {
    \Swoole\Coroutine\run(static fn () => work($argv[1], $phpdyno['row'], $phpdyno['jit_free']));
} else {
    work($argv[1], $phpdyno['row'], $phpdyno['jit_free']);
}
