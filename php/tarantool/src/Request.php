<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

use Phpdyno\Tarantool\Protocol\Operation;

/**
 * One request and, later, its result; it can be submitted once.
 */
final class Request extends Awaitable
{
    /** Instead of a number of a write: it was submitted and is not framed yet. */
    public const TAKEN = -1;

    // Types stand in comments here: checking them at each assignment is a good part of the cost of a request.

    /**
     * @internal the decoded answer
     * @var mixed
     */
    public $value = null;

    /**
     * @internal the failure, if there is one
     * @var \Throwable|null
     */
    public $error = null;

    /**
     * @internal told when the request is done; nobody else waits for it then
     * @var Group|null
     */
    public $group = null;

    /**
     * @internal the number of the write that its frame waits for, or TAKEN; null before it was submitted
     * @var int|null
     */
    public $flush = null;

    /**
     * @internal how often it was sent again after a loss
     * @var int
     */
    public $repeats = 0;

    /**
     * @internal
     * @var Operation
     */
    public $operation;

    /**
     * @internal the encoded body; for a raw operation the whole frame
     * @var string
     */
    public $body;

    /**
     * Creates a request; use RequestFactory.
     *
     * @internal
     */
    public function __construct(Operation $operation, string $body)
    {
        $this->operation = $operation;
        $this->body = $body;
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
