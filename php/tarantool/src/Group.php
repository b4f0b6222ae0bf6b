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
     * Creates a group of so many things; expect() makes them more.
     *
     * Whoever counts $remaining down to 0 settles the group, as leave() does.
     */
    public function __construct(public int $remaining)
    {
        $this->done = $remaining === 0;
    }

    /**
     * Adds so many things, also to a group that is settled, if nobody waits for it yet.
     */
    public function expect(int $more): void
    {
        $this->remaining += $more;
        $this->done = $this->remaining === 0;
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
