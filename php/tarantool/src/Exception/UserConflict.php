<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Exception;

/**
 * Two users would share one socket, so that one would act with the rights of the other.
 */
final class UserConflict extends \LogicException implements TarantoolException
{
}
