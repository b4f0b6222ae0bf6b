<?php
// Performs the operations of a user's script on command, or lists them.
//
//   php script_host.php list OUT FILE       write name and weight of every operation to OUT as JSON
//   php script_host.php serve SOCKET FILE   listen on a unix socket until killed
//
// A message is its length (uint32) and its bytes, of which the first says what it is; numbers are little-endian.
//   O                         -> {"operations": [NAME...], "jit_free_bytes": N}   N: free in the JIT's buffer before FILE was included
//   I + JSON list of names    -> the facts of probe.php, with these environment variables
//   F + uint32 operation      -> status (1 byte) + answer, or what went wrong
//   R + uint32 most failures + uint32 operation...
//                             -> rows of four uint64 (start and end in CLOCK_MONOTONIC ns, status, bytes of the answer), in one message:
//                                r more to come (after a second without one), z all there is, d the process ends
// Status 0: done, 1: failed. What an operation prints is dropped. What goes wrong is told on standard error, after "phpdyno: ".
declare(strict_types=1);

namespace Phpdyno;

const DONE = 0;
const FAILED = 1;
const FLUSH_NS = 1_000_000_000;
const FLUSH_NUMBERS = 65_536;
const REFUSED = 3;

require __DIR__ . '/channel.php';
require __DIR__ . '/script_operations.php';

/** A thrown thing in one line, with the place in the user's file. */
function told(\Throwable $thrown): string
{
    $words = $thrown instanceof Refused ? $thrown->getMessage()
        : \get_class($thrown) . ': ' . $thrown->getMessage() . ' in ' . $thrown->getFile() . ':' . $thrown->getLine();
    return one_line($words);
}

function one_line(string $words): string
{
    return \substr(\preg_replace('/\s+/', ' ', \str_replace(Host::$folder . '/', '', $words)) ?? $words, 0, 500);
}

function complain(string $words): void
{
    \fwrite(\STDERR, "\nphpdyno: " . one_line($words) . "\n");
}

function jit_free_bytes(): int
{
    $status = \function_exists('opcache_get_status') ? @\opcache_get_status(false) : false;
    return \is_array($status) ? (int) ($status['jit']['buffer_free'] ?? 0) : 0;
}

/** Included anew each time: with opcache on, its hits then show that scripts are served from the cache. */
function facts(array $names): array
{
    return require __DIR__ . '/probe.php';
}

final class Host
{
    public static string $folder = '';
    /** What an end of the process would cut short; '' when nothing would be. */
    public static string $under_way = 'while it is set up';
    public static int $process = 0;
    private static ?self $serving = null;

    /** @var list<string> */
    private array $names;
    /** @var list<string> */
    private array $labels;
    /** @var list<\Closure> */
    private array $runs;
    private array $connections = [];
    /** Start, end, status and bytes of each operation that was not told of yet. */
    private array $numbers = [];
    /** @var resource|null the connection that waits for those numbers */
    private $asking = null;

    public function __construct(array $operations, private int $jitFree)
    {
        $this->names = \array_keys($operations);
        $this->labels = \array_map(fn (string $name): string => "in the operation $name", $this->names);
        $this->runs = \array_column($operations, 0);
    }

    /** Runs at any end of the process but a signal's: what the last operations did must not get lost with it. */
    public static function end(): void
    {
        if (self::$under_way === '' || \getmypid() !== self::$process) {
            return; // nothing is cut short, or only a child that the script forked ends
        }
        \ini_set('memory_limit', '-1');
        $last = \error_get_last();
        $fatal = \E_ERROR | \E_PARSE | \E_CORE_ERROR | \E_COMPILE_ERROR | \E_USER_ERROR | \E_RECOVERABLE_ERROR;
        $why = $last !== null && ($last['type'] & $fatal) ? "{$last['message']} in {$last['file']}:{$last['line']}" : 'it calls exit';
        complain($why . ' ' . self::$under_way);
        if (self::$serving?->asking !== null) {
            self::$serving->flush('d');
        }
    }

    public function serve(string $path): void
    {
        $server = \stream_socket_server("unix://$path");
        if ($server === false) {
            exit(1);
        }
        self::$serving = $this;
        while (true) {
            $ready = [$server, ...$this->connections];
            $write = $except = null;
            if (!@\stream_select($ready, $write, $except, null)) {
                continue; // a signal of the script's own
            }
            foreach ($ready as $stream) {
                if ($stream === $server) {
                    $this->accept($server);
                } else {
                    $this->answer($stream);
                }
            }
        }
    }

    private function accept($server): void
    {
        $connection = @\stream_socket_accept($server, 0);
        if ($connection !== false) {
            \stream_set_read_buffer($connection, 0);
            $this->connections[(int) $connection] = $connection;
        }
    }

    private function answer($connection): void
    {
        try {
            $message = receive($connection);
            if ($message === null) {
                $this->drop($connection);
                return;
            }
            $body = \substr($message, 1);
            match ($message[0]) {
                'O' => send($connection, \json_encode(['operations' => $this->names, 'jit_free_bytes' => $this->jitFree])),
                'I' => send($connection, \json_encode(facts(\json_decode($body)), \JSON_THROW_ON_ERROR | \JSON_INVALID_UTF8_SUBSTITUTE)),
                'F' => send($connection, $this->fetch(\unpack('V', $body)[1])),
                'R' => $this->run($connection, $body),
            };
        } catch (\Throwable $thrown) {
            complain('the connection is given up: ' . told($thrown)); // the script's error handler may throw at a peer that is gone
            $this->drop($connection);
        }
    }

    private function drop($connection): void
    {
        unset($this->connections[(int) $connection]);
        \fclose($connection);
    }

    private function fetch(int $index): string
    {
        $level = $this->silence($index);
        try {
            $answer = ($this->runs[$index])();
            $wrong = $answer === null || \is_string($answer) ? '' : refusal($answer);
        } catch (\Throwable $thrown) {
            $wrong = told($thrown);
        }
        $this->speak($level);
        return $wrong === '' ? \chr(DONE) . $answer : \chr(FAILED) . $this->failed($index, $wrong);
    }

    private function run($connection, string $body): void
    {
        $this->asking = $connection;
        $failuresLeft = \unpack('V', $body)[1];
        $flushed = \hrtime(true);
        $level = $this->silence(0);
        foreach (\unpack('V*', $body, 4) as $index) {
            self::$under_way = $this->labels[$index];
            $run = $this->runs[$index];
            $status = DONE;
            $answer = null;
            $start = \hrtime(true);
            try {
                $answer = $run();
                $end = \hrtime(true);
                if ($answer !== null && !\is_string($answer)) {
                    $this->failed($index, refusal($answer));
                    $answer = null;
                    $status = FAILED;
                }
            } catch (\Throwable $thrown) {
                $end = \hrtime(true);
                $this->failed($index, told($thrown));
                $status = FAILED;
            }
            $this->numbers[] = $start;
            $this->numbers[] = $end;
            $this->numbers[] = $status;
            $this->numbers[] = $answer === null ? 0 : \strlen($answer);
            if ($status !== DONE && --$failuresLeft <= 0) {
                break;
            }
            if ($end - $flushed > FLUSH_NS || \count($this->numbers) >= FLUSH_NUMBERS) {
                $this->flush('r');
                $flushed = \hrtime(true);
            }
        }
        $this->speak($level);
        $this->flush('z');
        $this->asking = null;
    }

    private function flush(string $kind): void
    {
        $numbers = $this->numbers;
        $this->numbers = [];
        send($this->asking, $kind . ($numbers === [] ? '' : \pack('P*', ...$numbers)));
    }

    private function failed(int $index, string $wrong): string
    {
        complain("operation {$this->names[$index]} failed: $wrong");
        return $wrong;
    }

    /** Drop what is printed from now on; gives the level of buffers to come back to. */
    private function silence(int $index): int
    {
        self::$under_way = $this->labels[$index];
        $level = \ob_get_level();
        \ob_start(static fn (): string => '', 4096);
        return $level;
    }

    private function speak(int $level): void
    {
        while (\ob_get_level() > $level && @\ob_end_clean()) {
        }
        self::$under_way = '';
    }
}

// The script is included here, at file level, as if it had been started by itself: what it defines there is global.
$phpdyno = ['mode' => $argv[1], 'place' => $argv[2], 'file' => $argv[3], 'jit_free' => jit_free_bytes()];
Host::$folder = \dirname($phpdyno['file']);
Host::$process = \getmypid();
$argv = $_SERVER['argv'] = [$phpdyno['file']];
$argc = $_SERVER['argc'] = 1;
foreach (['PHP_SELF', 'SCRIPT_NAME', 'SCRIPT_FILENAME', 'PATH_TRANSLATED'] as $phpdyno['key']) {
    $_SERVER[$phpdyno['key']] = $phpdyno['file'];
}
\register_shutdown_function([Host::class, 'end']);
try {
    $phpdyno['operations'] = operations_of(require $phpdyno['file']);
} catch (\Throwable $thrown) {
    complain(told($thrown));
    Host::$under_way = '';
    exit($thrown instanceof Refused || $thrown instanceof \ParseError ? REFUSED : 1);
}
Host::$under_way = '';
if ($phpdyno['mode'] === 'list') {
    \file_put_contents($phpdyno['place'], \json_encode(
        \array_map(fn (string $name, array $held): array => ['name' => $name, 'weight' => $held[1]],
            \array_keys($phpdyno['operations']), $phpdyno['operations']),
        \JSON_THROW_ON_ERROR | \JSON_PRESERVE_ZERO_FRACTION,
    ));
    exit(0);
}
(new Host($phpdyno['operations'], $phpdyno['jit_free']))->serve($phpdyno['place']);
