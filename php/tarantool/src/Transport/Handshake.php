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
 * Opens sockets and makes the request that authenticates.
 *
 * @internal
 */
final class Handshake
{
    /** Bytes that one read takes at most. */
    public const CHUNK = 0x40000;

    /**
     * Starts to connect and returns the non-blocking socket.
     *
     * @return resource
     * @throws ConnectionFailed if that fails at once
     */
    public static function socket(Options $options)
    {
        $context = stream_context_create(['socket' => ['tcp_nodelay' => $options->tcpNoDelay]]);
        $stream = @stream_socket_client(
            $options->uri,
            $code,
            $message,
            $options->connectTimeout,
            STREAM_CLIENT_CONNECT | STREAM_CLIENT_ASYNC_CONNECT,
            $context,
        );
        if ($stream === false) {
            throw new ConnectionFailed(sprintf('Connecting to %s failed: %s', $options->uri, $message));
        }
        stream_set_blocking($stream, false);
        stream_set_chunk_size($stream, self::CHUNK);
        stream_set_read_buffer($stream, 0);

        return $stream;
    }

    /**
     * Returns the request that authenticates the user of the options.
     */
    public static function authentication(Options $options, Greeting $greeting): Request
    {
        return new Request(
            new Operation(Iproto::AUTH, AnswerKind::Nothing),
            Encoder::map([
                Iproto::KEY_USER => (string) $options->user,
                0x21 => ['chap-sha1', $greeting->scramble($options->password())],
            ]),
        );
    }
}
