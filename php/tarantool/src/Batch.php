<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

/**
 * Requests that are collected and sent together.
 *
 * Each method returns a handle; after flush() its get() returns the result or throws the failure of that request.
 * Arguments are those of RequestFactory.
 *
 * @method Request ping()
 * @method Request call(string $function, array $arguments = [])
 * @method Request eval(string $expression, array $arguments = [])
 * @method Request insert(int|string $space, array $tuple)
 * @method Request replace(int|string $space, array $tuple)
 * @method Request update(int|string $space, array|int|string $key, array $operations, int|string $index = 0)
 * @method Request upsert(int|string $space, array $tuple, array $operations)
 * @method Request delete(int|string $space, array|int|string $key, int|string $index = 0)
 * @method Request execute(string $sql, array $binds = [])
 */
final class Batch implements \Countable
{
    /** @var array<array-key, Request> */
    private array $pending = [];

    /** How many of the pending requests are sent already. */
    private int $sent = 0;

    private string|int|null $key = null;
    private Group $group;

    /**
     * Creates an empty batch; use Client::batch().
     *
     * @internal
     */
    public function __construct(
        private readonly Executor $executor,
        private readonly RequestFactory $requests,
        private readonly int $sendEvery,
    ) {
        if ($sendEvery < 0) {
            throw new \InvalidArgumentException('A batch cannot send after fewer than 0 requests');
        }
        $this->group = new Group(0);
    }

    /**
     * Sets the key under which flush() returns the next request.
     */
    public function key(string|int $key): self
    {
        $this->key = $key;

        return $this;
    }

    /**
     * Adds a request that is made already.
     *
     * @throws \InvalidArgumentException if the key is taken
     */
    public function add(Request $request): Request
    {
        $key = $this->key;
        if ($key === null) {
            $this->pending[] = $request;
        } else {
            $this->key = null;
            if (isset($this->pending[$key])) {
                throw new \InvalidArgumentException(\sprintf('The batch has a request "%s" already', $key));
            }
            $this->pending[$key] = $request;
        }
        if ($this->sendEvery !== 0 && \count($this->pending) - $this->sent >= $this->sendEvery) {
            $this->send();
            $this->executor->connection->advance();
        }

        return $request;
    }

    /**
     * Adds a select.
     *
     * @param array<mixed>|int|string $key the parts of the key; [] means all
     */
    public function select(
        int|string $space,
        array|int|string $key = [],
        int|string $index = 0,
        int $limit = 0xffffffff,
        int $offset = 0,
        ?IteratorType $iterator = null,
    ): Request {
        return $this->add($this->requests->select($space, $key, $index, $limit, $offset, $iterator));
    }

    /**
     * Adds any other request of RequestFactory.
     *
     * @param array<mixed> $arguments
     * @throws \BadMethodCallException if RequestFactory makes no such request
     */
    public function __call(string $method, array $arguments): Request
    {
        if (!\is_callable([$this->requests, $method])) {
            throw new \BadMethodCallException(\sprintf('There is no request "%s"', $method));
        }

        return $this->add($this->requests->$method(...$arguments));
    }

    public function count(): int
    {
        return \count($this->pending);
    }

    /**
     * Sends all requests, waits for all answers, and returns the requests under their keys; the batch is empty then.
     *
     * @throws \LogicException if a request was submitted elsewhere; those that were not sent yet leave the batch
     * @return array<array-key, Request>
     */
    public function flush(): array
    {
        $this->send();
        $group = $this->group;
        $requests = $this->pending;
        $this->group = new Group(0);
        $this->pending = [];
        $this->sent = 0;
        $this->executor->await($group);

        return $requests;
    }

    private function send(): void
    {
        $requests = $this->sent === 0 ? $this->pending : \array_slice($this->pending, $this->sent, null, true);
        try {
            $this->executor->connection->submitAll($requests, $this->group);
        } catch (\LogicException $error) {
            // What cannot be sent leaves the batch; what was sent before can still be waited for.
            $this->pending = \array_diff_key($this->pending, $requests);

            throw $error;
        }
        $this->sent = \count($this->pending);
    }
}
