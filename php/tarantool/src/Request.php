<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

use Phpdyno\Tarantool\Protocol\Operation;

/**
 * One request and, later, its result; it can be submitted once.
 */
final class Request extends Awaitable
{
    /** @internal the decoded answer */
    public mixed $value = null;

    /** @internal the failure, if there is one */
    public ?\Throwable $error = null;

    /**
     * @internal told when the request is done; nobody else waits for it then
     * @var Group|null
     */
    public $group = null;

    /** @internal where the frame starts in the stream of bytes of its connection */
    public int $position = 0;

    /** @internal the number of the write that its frame waits for */
    public int $flush = 0;

    /** @internal how often it was submitted; 0 before */
    public int $tries = 0;

    /**
     * Creates a request; use RequestFactory.
     *
     * @internal
     * @param string $body the encoded body; for a raw operation the whole frame
     */
    public function __construct(public readonly Operation $operation, public readonly string $body)
    {
    }

    /**
     * Tells whether the result, or the failure, is known.
     */
    public function isDone(): bool
    {
        return $this->done;
    }

    /**
     * Returns the result of a request that is done.
     *
     * @throws Exception\ServerError    if the server answered with an error
     * @throws Exception\TarantoolException if there is no usable answer
     * @throws \LogicException if the request is not done yet
     */
    public function get(): mixed
    {
        if ($this->error !== null) {
            throw $this->error;
        }
        if (!$this->done) {
            throw new \LogicException('The request is not done: flush the batch, or wait for it, first');
        }

        return $this->value;
    }

    /**
     * Returns the failure of a request that is done, null if it succeeded.
     */
    public function error(): ?\Throwable
    {
        return $this->error;
    }

    /**
     * Notes a failure and wakes whoever waits.
     *
     * @internal
     */
    public function fail(\Throwable $error): void
    {
        $this->error = $error;
        $this->settle();
    }

    public function settle(): void
    {
        parent::settle();
        if ($this->group !== null) {
            $group = $this->group;
            $this->group = null;
            $group->leave();
        }
    }
}
