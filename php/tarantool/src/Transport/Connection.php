<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Transport;

use Phpdyno\Tarantool\Exception\ConnectionFailed;
use Phpdyno\Tarantool\Exception\ConnectionLost;
use Phpdyno\Tarantool\Exception\Outcome;
use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Exception\ServerError;
use Phpdyno\Tarantool\Group;
use Phpdyno\Tarantool\Options;
use Phpdyno\Tarantool\Protocol\AnswerReader;
use Phpdyno\Tarantool\Protocol\Greeting;
use Phpdyno\Tarantool\Request;

/**
 * One session with a server, shared by any number of callers: it matches answers and requests by sync.
 *
 * It never blocks: a Waiter calls flush() and receive() when the socket is ready, and expire() in between.
 */
final class Connection
{
    /** So many requests are framed before the first of them are written. */
    private const TOGETHER = 128;

    private const LEAST_READ = 0x2000;
    private const MOST_READS = 16;

    /** @internal whether the Scheduler keeps it going */
    public bool $watched = false;

    /** @internal changes with each session */
    public int $epoch = 0;

    /** @internal what came from the server; also knows the schema version */
    public readonly Inbox $inbox;

    /** @internal what goes to the server, and waits for its answers */
    public readonly Outbox $outbox;

    private State $state = State::Idle;

    /** @var resource|null */
    private $stream = null;

    /** So many bytes the next read takes at most: PHP allocates them all before it reads. */
    private int $readSize = self::LEAST_READ;
    private ?Greeting $greeting = null;
    private readonly Handshake $handshake;
    private int $process = 0;

    /** @var list<Request> requests that wait for the session */
    private array $backlog = [];

    /**
     * Creates a connection; it opens with the first request.
     */
    public function __construct(public readonly Options $options)
    {
        $this->handshake = new Handshake($options);
        $this->outbox = new Outbox((int) ($options->requestTimeout * 1e9));
        $this->inbox = new Inbox($options, $this->outbox, new AnswerReader($options->codec));
    }

    /**
     * Takes a request: it is framed at once, or kept until the session is open; trouble makes it fail.
     *
     * @throws \LogicException if it was submitted before
     */
    public function submit(Request $request): void
    {
        if ($request->flush !== null) {
            throw new \LogicException('A request can be submitted once');
        }
        $outbox = $this->outbox;
        if ($this->state === State::Ready && ($outbox->outstanding !== [] || $this->isOurs())) {
            $outbox->add($request);
            if ($outbox->queued >= $outbox->early) {
                $this->flush();
            }

            return;
        }
        $this->defer($request);
    }

    /**
     * Takes requests as submit() does, in one go, and has them settle a group.
     *
     * They go out in as few writes as keep the server busy meanwhile.
     *
     * @param array<Request> $requests
     * @throws \LogicException if one was submitted before; then none is
     */
    public function submitAll(array $requests, Group $group): void
    {
        foreach ($requests as $key => $request) {
            if ($request->flush !== null) {
                foreach (\array_slice($requests, 0, \array_search($key, \array_keys($requests), true)) as $earlier) {
                    $earlier->flush = null;
                }
                throw new \LogicException('A request can be submitted once');
            }
            $request->flush = Request::TAKEN;
        }
        $group->expect(\count($requests));
        foreach ($requests as $request) {
            $request->group = $group;
        }
        foreach (\array_chunk($requests, self::TOGETHER) as $part) {
            if ($this->state === State::Ready && $this->isOurs()) {
                $this->outbox->addAll($part);
                $this->flushEarly();
            } else {
                \array_map($this->defer(...), $part);
            }
        }
    }

    /**
     * Does what can be done without waiting: goes on opening the session, writes, and reads what is there.
     *
     * @internal
     */
    public function advance(): void
    {
        if ($this->state !== State::Ready) {
            Poll::turn([$this], \hrtime(true));
        }
        if ($this->state === State::Ready) {
            $this->flush();
            $this->receive();
        }
    }

    /**
     * Writes what the socket takes, if enough waits to keep the server busy meanwhile.
     *
     * @internal
     */
    public function flushEarly(): void
    {
        if ($this->outbox->queued >= $this->outbox->early) {
            $this->flush();
        }
    }

    /**
     * Starts to connect, unless that is done or under way; also after a loss.
     */
    public function connect(): void
    {
        if ($this->state === State::Idle || $this->state === State::Lost) {
            $this->handshake->reset();
            $this->open();
        }
    }

    /**
     * Closes the connection; requests in flight fail with ConnectionLost. The next request opens it again.
     */
    public function close(): void
    {
        $this->disconnect(State::Idle);
        $this->outbox->failAll('The connection was closed by its owner', null, $this->takeBacklog());
    }

    /**
     * Tells whether the session is open and authenticated.
     */
    public function isReady(): bool
    {
        return $this->state === State::Ready;
    }

    /**
     * Tells whether a request, or the opening of the session, is still to be waited for.
     */
    public function isBusy(): bool
    {
        return $this->outbox->outstanding !== [] || $this->backlog !== []
            || $this->state === State::Greeting || $this->state === State::Backoff;
    }

    /**
     * Returns the greeting of the present session, null before it came.
     */
    public function greeting(): ?Greeting
    {
        return $this->greeting;
    }

    /**
     * Returns the socket, null while there is none.
     *
     * @internal
     * @return resource|null
     */
    public function stream()
    {
        return $this->stream;
    }

    /**
     * Tells whether bytes wait for the socket to take them.
     *
     * @internal
     */
    public function wantsWrite(): bool
    {
        return $this->outbox->isWaiting();
    }

    /**
     * Returns when expire() has something to do, in hrtime nanoseconds; null if nothing is waited for.
     *
     * @internal
     */
    public function deadline(): ?int
    {
        return match ($this->state) {
            State::Greeting, State::Authenticating, State::Backoff => $this->handshake->until,
            default => $this->outbox->deadline(),
        };
    }

    /**
     * Writes what the socket takes now.
     *
     * @internal
     */
    public function flush(): void
    {
        if ($this->stream !== null && $this->isOurs() && $this->outbox->outstanding !== []) {
            $this->outbox->write($this->stream);
        }
    }

    /**
     * Reads what is there and settles the requests that it answers.
     *
     * @internal
     */
    public function receive(): void
    {
        if ($this->stream === null) {
            return;
        }
        $chunk = @\fread($this->stream, $this->readSize);
        if ($chunk === '' || $chunk === false) {
            if (\feof($this->stream) || $this->outbox->broken) {
                $this->lost('The server closed the connection');
            }

            return;
        }
        if (\strlen($chunk) === $this->readSize) {
            $chunk .= $this->readOn($this->stream);
        } elseif ($this->readSize > self::LEAST_READ && 8 * \strlen($chunk) < $this->readSize) {
            $this->readSize = \intdiv($this->readSize, 2);
        }
        $this->inbox->append($chunk);
        try {
            if ($this->state === State::Greeting) {
                $this->greet();
            }
            if ($this->state !== State::Greeting) {
                $this->inbox->dispatch();
            }
        } catch (ProtocolError | ServerError $error) {
            $this->abort($error);
        }
    }

    /**
     * Reads what else is there, within limits: what has come is no time-out. The next read takes more at once.
     *
     * @param resource $stream
     */
    private function readOn($stream): string
    {
        $bytes = '';
        for ($reads = 0; $reads < self::MOST_READS; ++$reads) {
            $this->readSize = \min(2 * $this->readSize, Handshake::CHUNK);
            $chunk = (string) @\fread($stream, $this->readSize);
            $bytes .= $chunk;
            if (\strlen($chunk) < $this->readSize) {
                break;
            }
        }

        return $bytes;
    }

    /**
     * Ends what is overdue: an attempt to connect, a pause before the next one, requests.
     *
     * @internal
     */
    public function expire(): void
    {
        $now = \hrtime(true);
        if ($this->state === State::Ready) {
            $this->outbox->expire($now, $this->options->requestTimeout);
            if ($this->outbox->isHopeless()) {
                $this->lost('Too many requests timed out');
            }
        } elseif ($this->stream === null && $this->state !== State::Backoff) {
            return;
        } elseif ($now >= $this->handshake->until) {
            $this->state === State::Backoff ? $this->open() : $this->openFailed($this->handshake->late());
        }
    }

    /**
     * Ends the session because the peer broke the protocol, or said that we did: all requests fail with $error.
     */
    private function abort(\Throwable $error): void
    {
        $opening = $this->state !== State::Ready;
        $this->options->log('error', 'Connection to {uri} aborted: {reason}', $error->getMessage());
        if ($opening) {
            $this->openFailed(new ConnectionFailed($error->getMessage(), 0, $error), false);

            return;
        }
        $this->disconnect($this->options->reconnect > 0 ? State::Idle : State::Lost);
        $this->outbox->failAll('', $error, $this->takeBacklog());
    }

    private function defer(Request $request): void
    {
        if ($this->state === State::Lost) {
            $request->fail(new ConnectionLost('The connection is lost; call connect()', Outcome::Unsent));

            return;
        }
        $request->flush = Request::TAKEN;
        $this->backlog[] = $request;
        $this->connect();
    }

    private function open(): void
    {
        ++$this->epoch;
        $this->state = State::Greeting;
        $this->process = (int) \getmypid();
        try {
            $this->stream = $this->handshake->begin();
        } catch (ConnectionFailed $error) {
            $this->openFailed($error);
        }
    }

    private function greet(): void
    {
        $bytes = $this->inbox->take(Greeting::SIZE);
        if ($bytes === null) {
            return;
        }
        $this->greeting = Greeting::parse($bytes);
        if ($this->options->user === null) {
            $this->ready();

            return;
        }
        $this->state = State::Authenticating;
        $this->outbox->add($this->handshake->authentication(
            $this->greeting,
            fn (?ConnectionFailed $error) => $error === null ? $this->ready() : $this->openFailed($error, false),
        ));
    }

    private function ready(): void
    {
        $this->state = State::Ready;
        $this->handshake->reset();
        $this->options->log('info', 'Connected to {uri}');
        foreach ($this->takeBacklog() as $request) {
            $this->outbox->add($request);
        }
    }

    private function openFailed(ConnectionFailed $error, bool $again = true): void
    {
        $this->options->log('warning', 'Connecting to {uri} failed: {reason}', $error->getMessage());
        $this->disconnect(State::Idle);
        $this->outbox->clear();
        if ($again && $this->handshake->pause()) {
            $this->state = State::Backoff;

            return;
        }
        foreach ($this->takeBacklog() as $request) {
            $request->fail($error);
        }
    }

    private function lost(string $reason): void
    {
        if ($this->state !== State::Ready) {
            $this->openFailed($this->handshake->refused());

            return;
        }
        $this->options->log('warning', 'Connection to {uri} lost: {reason}', $reason);
        $this->disconnect($this->options->reconnect > 0 ? State::Idle : State::Lost);
        [$again, $failed] = $this->outbox->split($this->options->reconnect);
        $this->backlog = [...$again, ...$this->backlog];
        if ($this->backlog !== []) {
            $this->connect();
        }
        $this->outbox->failEach($failed, $reason);
    }

    /**
     * Tells whether this process opened the socket; if its parent did, the socket is let go.
     */
    private function isOurs(): bool
    {
        if ($this->process === \getmypid()) {
            return true;
        }
        $this->disconnect(State::Idle);
        $this->outbox->failAll('The connection belongs to the parent process', null, $this->takeBacklog());

        return false;
    }

    private function disconnect(State $state): void
    {
        if ($this->stream !== null) {
            \fclose($this->stream);
        }
        $this->stream = null;
        $this->greeting = null;
        $this->inbox->clear();
        $this->state = $state;
    }

    /**
     * @return list<Request>
     */
    private function takeBacklog(): array
    {
        $backlog = $this->backlog;
        $this->backlog = [];

        return $backlog;
    }
}
