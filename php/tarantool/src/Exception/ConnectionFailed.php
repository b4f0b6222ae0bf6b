<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Exception;

/**
 * No session could be opened: connect, greeting or authentication failed. The request was not sent.
 */
final class ConnectionFailed extends \RuntimeException implements TarantoolException
{
}
