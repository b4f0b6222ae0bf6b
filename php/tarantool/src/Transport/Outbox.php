<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Transport;

use Phpdyno\Tarantool\Exception\ConnectionLost;
use Phpdyno\Tarantool\Exception\Outcome;
use Phpdyno\Tarantool\Exception\TimedOut;
use Phpdyno\Tarantool\Protocol\AnswerKind;
use Phpdyno\Tarantool\Request;

/**
 * The requests of a session that have no answer yet, and their bytes that are not written yet.
 *
 * @internal
 */
final class Outbox
{
    private const MAX_SYNC = 0xffffffff;
    private const MAX_ABANDONED = 100_000;
    private const MAX_WRITE = 0x80000;

    /** So many bytes are written before the turn ends, so that the server works on them meanwhile. */
    private const EARLY = 0x400;

    /** For each request under way, so many bytes at least: while the server has work, fewer writes are better. */
    private const EARLY_PER_REQUEST = 16;

    /** Bytes for the socket; those before $start are written. */
    private string $bytes = '';

    private int $start = 0;

    /** @var array<int, Request> requests without an answer, by sync, oldest first */
    public array $outstanding = [];

    /** @var array<int, true> syncs of requests that timed out and may still be answered */
    public array $abandoned = [];

    /** Whether the socket refuses writes; what it still has to read is read before the loss is told. */
    public bool $broken = false;

    /** Position in the stream of bytes up to which the socket has taken them. */
    private int $written = 0;

    /** Position in the stream of bytes at which the next frame starts. */
    public int $queued = 0;

    /** Position in the stream of bytes from which on it is worth a write before the turn ends. */
    public int $early = self::EARLY;

    /** Position in the stream of bytes up to which the time-outs run. */
    private int $stamped = 0;

    private int $sync = 0;

    /** The number of the next write that holds new requests. */
    private int $flush = 0;

    /** @var array<int, int> deadlines (hrtime, nanoseconds) of the requests, by number of their write */
    private array $deadlines = [];

    /**
     * Creates an outbox whose requests must be answered within so many nanoseconds.
     */
    public function __construct(private readonly int $timeout)
    {
    }

    /**
     * Frames a request and queues it.
     */
    public function add(Request $request): void
    {
        $operation = $request->operation;
        if (!$operation->hasRows && $operation->kind === AnswerKind::Raw) {
            $request->fail(new ConnectionLost('The session for which the frame was made is gone', Outcome::Unsent));

            return;
        }
        $sync = $this->sync = $this->sync < self::MAX_SYNC ? $this->sync + 1 : 1;
        if (isset($this->outstanding[$sync]) || isset($this->abandoned[$sync])) {
            $sync = $this->reserve($sync);
        }
        $body = $request->body;
        $length = \strlen($body) + 9;
        $this->bytes .= ($length < 0x100 ? "\xce\0\0\0" . \chr($length) : "\xce" . \pack('N', $length))
            . $operation->header . \pack('N', $sync) . $body;
        $this->queued += $length + 5;
        $request->flush = $this->flush;
        $this->outstanding[$sync] = $request;
    }

    /**
     * Frames and queues requests as add() does, in one go.
     *
     * @param array<Request> $requests
     */
    public function addAll(array $requests): void
    {
        $sync = $this->sync;
        $bytes = '';
        $flush = $this->flush;
        foreach ($requests as $request) {
            $operation = $request->operation;
            if (!$operation->hasRows && $operation->kind === AnswerKind::Raw) {
                $this->add($request); // which refuses it
                continue;
            }
            ++$sync;
            if ($sync > self::MAX_SYNC || isset($this->outstanding[$sync]) || isset($this->abandoned[$sync])) {
                $sync = $this->reserve($sync);
            }
            $body = $request->body;
            $length = \strlen($body) + 9;
            $bytes .= ($length < 0x100 ? "\xce\0\0\0" . \chr($length) : "\xce" . \pack('N', $length))
                . $operation->header . \pack('N', $sync) . $body;
            $request->flush = $flush;
            $this->outstanding[$sync] = $request;
        }
        $this->sync = $sync;
        $this->bytes .= $bytes;
        $this->queued += \strlen($bytes);
    }

    /**
     * Queues a request whose body is the complete frame, with that sync.
     */
    public function addFrame(Request $request, int $sync): void
    {
        $this->bytes .= $request->body;
        $this->queued += \strlen($request->body);
        $request->flush = $this->flush;
        $this->outstanding[$sync] = $request;
    }

    /**
     * Returns the wanted sync if it is free, else another one; never 0, which the server uses for itself.
     */
    public function reserve(int $sync): int
    {
        while (
            $sync < 1 || $sync > self::MAX_SYNC
            || isset($this->outstanding[$sync]) || isset($this->abandoned[$sync])
        ) {
            $sync = $this->sync = $this->sync < self::MAX_SYNC ? $this->sync + 1 : 1;
        }

        return $sync;
    }

    /**
     * Writes what the socket takes; starts the time-out of requests that are new in this write.
     *
     * @param resource $stream
     */
    public function write($stream): void
    {
        if ($this->stamped < $this->queued) {
            $this->stamp();
        }
        $this->early = $this->queued + \max(self::EARLY, self::EARLY_PER_REQUEST * \count($this->outstanding));
        while (($left = \strlen($this->bytes) - $this->start) > 0) {
            $whole = $this->start === 0 && $left <= self::MAX_WRITE;
            $chunk = $whole ? $this->bytes : \substr($this->bytes, $this->start, self::MAX_WRITE);
            $count = @\fwrite($stream, $chunk);
            if ($count === false) {
                $this->broken = true;
                $this->trim($left);

                return;
            }
            $this->written += $count;
            $this->trim($count);
            if ($count < \strlen($chunk)) {
                return;
            }
        }
    }

    /**
     * Tells whether bytes wait for the socket.
     */
    public function isWaiting(): bool
    {
        return $this->bytes !== '';
    }

    /**
     * Returns the first deadline, null if nothing is outstanding.
     */
    public function deadline(): ?int
    {
        $sync = \array_key_first($this->outstanding);

        return $sync === null ? null : $this->deadlines[$this->outstanding[$sync]->flush] ?? null;
    }

    /**
     * Fails the requests whose deadline has passed; $seconds is named in the message.
     *
     * What was not written yet is taken out of the queue, so that it is never sent.
     */
    public function expire(int $now, float $seconds): void
    {
        $deadline = $this->deadline();
        if ($deadline === null || $deadline > $now) {
            return;
        }
        $late = [];
        $starts = $this->unsent();
        $cut = 0;
        foreach ($this->outstanding as $sync => $request) {
            if (($this->deadlines[$request->flush] ?? PHP_INT_MAX) > $now) {
                break;
            }
            unset($this->outstanding[$sync]);
            $unsent = isset($starts[$sync]);
            if ($unsent) {
                $first ??= $starts[$sync];
                $cut += self::length($request);
            } else {
                $this->abandoned[$sync] = true;
            }
            $late[] = [$request, $unsent ? Outcome::Unsent : Outcome::PerhapsExecuted];
        }
        if ($cut > 0) {
            $this->remove($first - $this->written, $cut);
        }
        foreach ($late as [$request, $outcome]) {
            $request->fail(new TimedOut(\sprintf('No answer within %s s', $seconds), $outcome));
        }
    }

    /**
     * Tells whether so many answers are missing that the session is of no use any more.
     */
    public function isHopeless(): bool
    {
        return \count($this->abandoned) > self::MAX_ABANDONED;
    }

    /**
     * Empties the outbox after a loss: gives the requests that may be sent again, and those that fail.
     *
     * @return array{list<Request>, list<array{Request, Outcome}>}
     */
    public function split(int $reconnect): array
    {
        $again = $failed = [];
        $starts = $this->unsent();
        foreach ($this->outstanding as $sync => $request) {
            $unsent = isset($starts[$sync]);
            $operation = $request->operation;
            if (
                ($unsent || $operation->idempotent) && !$operation->sessionBound
                && $operation->kind !== AnswerKind::Raw && $request->repeats < $reconnect
            ) {
                ++$request->repeats;
                $again[] = $request;
            } else {
                $failed[] = [$request, $unsent ? Outcome::Unsent : Outcome::PerhapsExecuted];
            }
        }
        $this->clear();

        return [$again, $failed];
    }

    /**
     * Fails requests that a loss has ended.
     *
     * @param list<array{Request, Outcome}> $requests
     */
    public function failEach(array $requests, string $reason, ?\Throwable $error = null): void
    {
        foreach ($requests as [$request, $outcome]) {
            $request->fail($error ?? new ConnectionLost($reason, $outcome));
        }
    }

    /**
     * Empties the outbox and fails all its requests, and those of the backlog.
     *
     * @param list<Request> $backlog
     */
    public function failAll(string $reason, ?\Throwable $error, array $backlog): void
    {
        [, $failed] = $this->split(-1);
        foreach ($backlog as $request) {
            $failed[] = [$request, Outcome::Unsent];
        }
        $this->failEach($failed, $reason, $error);
    }

    /**
     * Forgets everything about the session.
     */
    public function clear(): void
    {
        $this->bytes = '';
        $this->start = 0;
        $this->outstanding = $this->abandoned = $this->deadlines = [];
        $this->broken = false;
        $this->written = $this->queued = $this->stamped = 0;
        $this->early = self::EARLY;
    }

    /**
     * Drops bytes at the front; the string is cut only now and then, so that a long one is not copied each time.
     */
    private function trim(int $count): void
    {
        $this->start += $count;
        if ($this->start === \strlen($this->bytes)) {
            $this->bytes = '';
            $this->start = 0;
        } elseif (2 * $this->start > \strlen($this->bytes)) {
            $this->bytes = \substr($this->bytes, $this->start);
            $this->start = 0;
        }
    }

    private function stamp(): void
    {
        $this->stamped = $this->queued;
        if (\count($this->deadlines) >= 64) {
            $first = \array_key_first($this->outstanding);
            $oldest = $first === null ? $this->flush : $this->outstanding[$first]->flush;
            foreach ($this->deadlines as $flush => $_) {
                if ($flush >= $oldest) {
                    break;
                }
                unset($this->deadlines[$flush]);
            }
        }
        $this->deadlines[$this->flush++] = \hrtime(true) + $this->timeout;
    }

    /**
     * Tells which requests the socket has taken nothing of, and where in the stream of bytes their frames start.
     *
     * @return array<int, int> positions by sync
     */
    private function unsent(): array
    {
        $starts = [];
        $at = $this->queued;
        foreach (\array_reverse($this->outstanding, true) as $sync => $request) {
            $at -= self::length($request);
            if ($at < $this->written) {
                break;
            }
            $starts[$sync] = $at;
        }

        return $starts;
    }

    private static function length(Request $request): int
    {
        return ($request->operation->kind === AnswerKind::Raw ? 0 : 14) + \strlen($request->body);
    }

    private function remove(int $start, int $length): void
    {
        $this->bytes = \substr_replace($this->bytes, '', $this->start + $start, $length);
        $this->trim(0);
        $this->queued -= $length;
        $this->stamped -= $length;
    }
}
