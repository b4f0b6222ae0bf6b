<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

use Phpdyno\Tarantool\Codec\RowCompiler;
use Phpdyno\Tarantool\Exception\ServerError;
use Phpdyno\Tarantool\Transport\Connection;
use Phpdyno\Tarantool\Transport\DefaultWaiter;
use Phpdyno\Tarantool\Transport\Waiter;

/**
 * A Tarantool client: blocks, except inside a Fiber of the Scheduler, where it suspends that Fiber.
 *
 * All methods throw Exception\TarantoolException: ServerError for an error of the server, ConnectionFailed,
 * ConnectionLost and TimedOut for trouble with the connection, UnknownName, EncodingFailed, ProtocolError.
 */
final class Client
{
    private readonly Executor $executor;
    private readonly Schema $schema;
    private readonly RequestFactory $requests;
    private readonly Statements $statements;

    /**
     * Creates a client; it connects with the first request.
     *
     * @param Waiter|null $waiter how to wait for answers, for another event loop than the Scheduler
     * @throws \RuntimeException if the directory for generated code cannot be used
     */
    public function __construct(Options $options = new Options(), ?Waiter $waiter = null)
    {
        $compiler = $options->codeCache === null ? null : new RowCompiler($options->codeCache);
        $this->executor = new Executor(new Connection($options), $waiter ?? new DefaultWaiter());
        $this->schema = new Schema($this->executor, $compiler);
        $this->requests = new RequestFactory($this->executor, $this->schema);
        $this->statements = Statements::of($this->executor->connection);
    }

    /**
     * Asks the server for a sign of life.
     */
    public function ping(): void
    {
        $this->executor->run($this->requests->ping());
    }

    /**
     * Calls a stored function and returns the list of values that it returned.
     *
     * @return list<mixed>
     */
    public function call(string $function, mixed ...$arguments): array
    {
        return $this->executor->run($this->requests->call($function, $arguments));
    }

    /**
     * Evaluates Lua code, with the arguments as "...", and returns the list of values that it returned.
     *
     * @return list<mixed>
     */
    public function eval(string $expression, mixed ...$arguments): array
    {
        return $this->executor->run($this->requests->eval($expression, $arguments));
    }

    /**
     * Returns the tuples that an index holds for a key.
     *
     * @param array<mixed>|int|string $key the parts of the key; [] means all
     * @return list<list<mixed>>
     */
    public function select(
        int|string $space,
        array|int|string $key = [],
        int|string $index = 0,
        int $limit = 0xffffffff,
        int $offset = 0,
        ?IteratorType $iterator = null,
    ): array {
        try {
            return $this->executor->run($this->requests->select($space, $key, $index, $limit, $offset, $iterator));
        } catch (ServerError $error) {
            $this->forgetOrThrow($error, $space, $index);

            return $this->executor->run($this->requests->select($space, $key, $index, $limit, $offset, $iterator));
        }
    }

    /**
     * Inserts a tuple, which fails if its key exists, and returns it as stored.
     *
     * @param array<mixed> $tuple
     * @return list<mixed>|null
     */
    public function insert(int|string $space, array $tuple): ?array
    {
        try {
            return $this->executor->run($this->requests->insert($space, $tuple));
        } catch (ServerError $error) {
            $this->forgetOrThrow($error, $space);

            return $this->executor->run($this->requests->insert($space, $tuple));
        }
    }

    /**
     * Inserts or overwrites a tuple and returns it as stored.
     *
     * @param array<mixed> $tuple
     * @return list<mixed>|null
     */
    public function replace(int|string $space, array $tuple): ?array
    {
        try {
            return $this->executor->run($this->requests->replace($space, $tuple));
        } catch (ServerError $error) {
            $this->forgetOrThrow($error, $space);

            return $this->executor->run($this->requests->replace($space, $tuple));
        }
    }

    /**
     * Changes the tuple with a key of a unique index; returns it as stored, or null if there is none.
     *
     * @param array<mixed>|int|string $key
     * @param list<array<mixed>> $operations like ['=', field number from 0, value]
     * @return list<mixed>|null
     */
    public function update(int|string $space, array|int|string $key, array $operations, int|string $index = 0): ?array
    {
        try {
            return $this->executor->run($this->requests->update($space, $key, $operations, $index));
        } catch (ServerError $error) {
            $this->forgetOrThrow($error, $space, $index);

            return $this->executor->run($this->requests->update($space, $key, $operations, $index));
        }
    }

    /**
     * Inserts a tuple, or applies operations to the one that has its primary key.
     *
     * @param array<mixed> $tuple
     * @param list<array<mixed>> $operations like ['=', field number from 0, value]
     */
    public function upsert(int|string $space, array $tuple, array $operations): void
    {
        try {
            $this->executor->run($this->requests->upsert($space, $tuple, $operations));
        } catch (ServerError $error) {
            $this->forgetOrThrow($error, $space);
            $this->executor->run($this->requests->upsert($space, $tuple, $operations));
        }
    }

    /**
     * Deletes the tuple with a key of a unique index; returns it, or null if there was none.
     *
     * @param array<mixed>|int|string $key
     * @return list<mixed>|null
     */
    public function delete(int|string $space, array|int|string $key, int|string $index = 0): ?array
    {
        try {
            return $this->executor->run($this->requests->delete($space, $key, $index));
        } catch (ServerError $error) {
            $this->forgetOrThrow($error, $space, $index);

            return $this->executor->run($this->requests->delete($space, $key, $index));
        }
    }

    /**
     * Executes an SQL statement.
     *
     * @param array<mixed> $binds values for "?" by position, or for ":name" under their names
     */
    public function execute(string $sql, array $binds = []): SqlResult
    {
        return $this->executor->run($this->requests->execute($sql, $binds));
    }

    /**
     * Prepares an SQL statement; close() it when it is of no more use.
     */
    public function prepare(string $sql): Statement
    {
        return new Statement($this->executor, $this->statements, $this->requests, $sql);
    }

    /**
     * Returns an empty batch: requests that are sent together.
     *
     * @param int $sendEvery so many requests go out as soon as they are added, so that the server works on them while
     *                       further ones are made; 0 sends nothing before flush()
     */
    public function batch(int $sendEvery = 0): Batch
    {
        return new Batch($this->executor, $this->requests, $sendEvery);
    }

    /**
     * Sends requests while reading answers, up to $window in flight; yields each one, done, under its key and in order.
     *
     * The server executes at most net_msg_max requests at a time (768 by default): a larger window does no harm
     * and no good. Make the requests with requests(); get() of each gives its result or throws its failure.
     *
     * @param iterable<array-key, Request> $requests
     * @return \Generator<array-key, Request>
     */
    public function pipeline(iterable $requests, int $window = 512): \Generator
    {
        if ($window < 1) {
            throw new \InvalidArgumentException('The window must be at least 1');
        }

        return $this->executor->pipeline($requests, $window);
    }

    /**
     * Sends one request and returns its result.
     */
    public function run(Request $request): mixed
    {
        return $this->executor->run($request);
    }

    /**
     * Returns the maker of requests, for run() and pipeline().
     */
    public function requests(): RequestFactory
    {
        return $this->requests;
    }

    /**
     * Returns the cache of names.
     */
    public function schema(): Schema
    {
        return $this->schema;
    }

    /**
     * Returns the connection, to share it with a bridge.
     */
    public function connection(): Connection
    {
        return $this->executor->connection;
    }

    /**
     * Opens the connection, also after it was lost with the option reconnect = 0.
     */
    public function connect(): void
    {
        $this->executor->connection->connect();
        $this->ping();
    }

    /**
     * Closes the connection; requests in flight fail. The next request opens it again.
     */
    public function close(): void
    {
        $this->executor->connection->close();
    }

    /**
     * Returns if a name may have been stale, after forgetting all names; else throws the error.
     */
    private function forgetOrThrow(ServerError $error, int|string $space, int|string $index = 0): void
    {
        $stale = ($error->getCode() === ServerError::NO_SUCH_SPACE && \is_string($space))
            || ($error->getCode() === ServerError::NO_SUCH_INDEX && \is_string($index));
        if (!$stale) {
            throw $error;
        }
        $this->schema->clear();
        $this->requests->clear();
    }
}
