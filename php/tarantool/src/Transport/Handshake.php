<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Transport;

use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Exception\ConnectionFailed;
use Phpdyno\Tarantool\Options;
use Phpdyno\Tarantool\Protocol\AnswerKind;
use Phpdyno\Tarantool\Protocol\Greeting;
use Phpdyno\Tarantool\Protocol\Iproto;
use Phpdyno\Tarantool\Protocol\Operation;
use Phpdyno\Tarantool\Request;

/**
 * The steps from no socket to an open session, and the pauses between attempts.
 *
 * @internal
 */
final class Handshake
{
    /** Bytes that one read takes at most. */
    public const CHUNK = 0x40000;

    /** When the present attempt, or the pause before the next one, ends: hrtime, nanoseconds. */
    public int $until = 0;

    /** Attempts that failed since the last success. */
    private int $failed = 0;

    /**
     * Creates the handshake of a connection.
     */
    public function __construct(private readonly Options $options)
    {
    }

    /**
     * Starts to connect and returns the non-blocking socket.
     *
     * @return resource
     * @throws ConnectionFailed if that fails at once
     */
    public function begin()
    {
        $this->until = hrtime(true) + (int) ($this->options->connectTimeout * 1e9);
        $context = stream_context_create(['socket' => ['tcp_nodelay' => $this->options->tcpNoDelay]]);
        $stream = @stream_socket_client(
            $this->options->uri,
            $code,
            $message,
            $this->options->connectTimeout,
            STREAM_CLIENT_CONNECT | STREAM_CLIENT_ASYNC_CONNECT,
            $context,
        );
        if ($stream === false) {
            throw new ConnectionFailed(sprintf('Connecting to %s failed: %s', $this->options->uri, $message));
        }
        stream_set_blocking($stream, false);
        stream_set_chunk_size($stream, self::CHUNK);
        stream_set_read_buffer($stream, 0);

        return $stream;
    }

    /**
     * Returns the request that authenticates the user of the options.
     *
     * @param \Closure(?ConnectionFailed): void $done called when it is answered
     */
    public function authentication(Greeting $greeting, \Closure $done): Request
    {
        $request = new Request(
            new Operation(Iproto::AUTH, AnswerKind::Nothing),
            Encoder::map([
                Iproto::KEY_USER => (string) $this->options->user,
                Iproto::KEY_TUPLE => ['chap-sha1', $greeting->scramble($this->options->password())],
            ]),
        );
        $request->listener = static function () use ($request, $done): void {
            $error = $request->error();
            $done($error === null ? null : new ConnectionFailed(
                sprintf('Authentication failed: %s', $error->getMessage()),
                $error->getCode(),
                $error,
            ));
        };

        return $request;
    }

    /**
     * Forgets failed attempts.
     */
    public function reset(): void
    {
        $this->failed = 0;
    }

    /**
     * Sets the pause before another attempt; false if there have been enough.
     */
    public function pause(): bool
    {
        if ($this->failed >= $this->options->reconnect) {
            return false;
        }
        $this->until = hrtime(true) + (10_000_000 << min(7, $this->failed++));

        return true;
    }

    /**
     * Returns the failure of an attempt that took too long.
     */
    public function late(): ConnectionFailed
    {
        return new ConnectionFailed(sprintf(
            'Connecting to %s took longer than %s s',
            $this->options->uri,
            $this->options->connectTimeout,
        ));
    }

    /**
     * Returns the failure of an attempt that the peer ended.
     */
    public function refused(): ConnectionFailed
    {
        return new ConnectionFailed(sprintf(
            'Connecting to %s failed: refused, or closed before the session was open',
            $this->options->uri,
        ));
    }
}
