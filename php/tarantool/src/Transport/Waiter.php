<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Transport;

use Phpdyno\Tarantool\Awaitable;

/**
 * The way in which a caller waits for answers: by blocking, or by suspending its Fiber.
 */
interface Waiter
{
    /**
     * Returns when the awaited thing is settled; keeps the connection going until then.
     */
    public function wait(Connection $connection, Awaitable $awaited): void;
}
