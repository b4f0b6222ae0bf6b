<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Exception;

/**
 * Marks every exception of this package.
 */
interface TarantoolException extends \Throwable
{
}
