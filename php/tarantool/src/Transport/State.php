<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Transport;

/**
 * What a connection is doing.
 *
 * @internal
 */
enum State
{
    /** Not connected; the next request connects. */
    case Idle;
    /** Waiting before the next attempt to connect. */
    case Backoff;
    /** Connecting, or waiting for the greeting. */
    case Greeting;
    /** Waiting for the answer to the authentication. */
    case Authenticating;
    /** Requests can be sent. */
    case Ready;
    /** Lost, and not to be opened again without connect(). */
    case Lost;
}
