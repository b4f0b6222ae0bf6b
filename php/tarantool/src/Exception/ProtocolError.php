<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Exception;

/**
 * The peer sent bytes that the protocol does not allow.
 *
 * What became of the request is unknown: the server may have executed it.
 */
final class ProtocolError extends \RuntimeException implements TarantoolException
{
}
