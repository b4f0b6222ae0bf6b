<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

/**
 * Something that is settled once, and that one caller may wait for.
 */
abstract class Awaitable
{
    // Types stand in comments here: checking them at each assignment is a good part of the cost of a request.

    /**
     * @internal whether it is settled
     * @var bool
     */
    public $done = false;

    /**
     * @internal the Fiber that is resumed when it is settled
     * @var \Fiber|null
     */
    public $fiber = null;

    /**
     * @internal called when it is settled, if no Fiber waits
     * @var \Closure|null
     */
    public $listener = null;

    /**
     * Marks it as settled and wakes whoever waits.
     *
     * @internal
     */
    public function settle(): void
    {
        $this->done = true;
        if ($this->fiber !== null) {
            $fiber = $this->fiber;
            $this->fiber = null;
            $fiber->resume();
        } elseif ($this->listener !== null) {
            $listener = $this->listener;
            $this->listener = null;
            $listener();
        }
    }
}
