<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Exception;

/**
 * A worker process could not be started, threw, or ended without a result.
 */
final class ProcessFailed extends \RuntimeException implements TarantoolException
{
}
