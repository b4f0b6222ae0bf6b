<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Exception;

/**
 * The answer did not come within the request time-out.
 */
final class TimedOut extends Unanswered
{
}
