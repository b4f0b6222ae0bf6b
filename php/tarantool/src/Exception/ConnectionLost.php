<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Exception;

/**
 * The connection ended before the answer came.
 */
final class ConnectionLost extends Unanswered
{
}
