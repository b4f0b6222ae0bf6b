<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

/**
 * A number of things to wait for together.
 *
 * @internal
 */
final class Group extends Awaitable
{
    /**
     * Creates a group that is settled after so many calls of leave().
     */
    public function __construct(private int $remaining)
    {
        $this->done = $remaining === 0;
    }

    /**
     * Notes that one more is done.
     */
    public function leave(): void
    {
        if (--$this->remaining === 0) {
            $this->settle();
        }
    }
}
