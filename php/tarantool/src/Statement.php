<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Exception\ConnectionLost;
use Phpdyno\Tarantool\Exception\Outcome;
use Phpdyno\Tarantool\Protocol\AnswerKind;
use Phpdyno\Tarantool\Protocol\Iproto;
use Phpdyno\Tarantool\Protocol\Operation;

/**
 * A prepared SQL statement; it is prepared again by itself when the session is a new one.
 */
final class Statement
{
    private int $id = 0;

    /** The session in which the statement is prepared; 0 means none. */
    private int $epoch = 0;

    private int $binds = 0;
    private bool $closed = false;

    /** @var list<array{name: string, type: string}> */
    private array $columns = [];

    /**
     * Prepares a statement; use Client::prepare().
     *
     * @internal
     * @throws Exception\TarantoolException if the server cannot prepare it
     */
    public function __construct(
        private readonly Executor $executor,
        private readonly Statements $statements,
        private readonly RequestFactory $requests,
        private readonly string $sql,
    ) {
        $this->statements->acquire($sql);
        try {
            $this->prepare();
        } catch (\Throwable $error) {
            $this->closed = true;
            $this->statements->release($sql);
            throw $error;
        }
    }

    /**
     * Executes the statement.
     *
     * @param array<mixed> $binds values for "?" by position, or for ":name" under their names
     * @throws Exception\TarantoolException if that fails
     * @throws \LogicException if the statement is closed
     */
    public function execute(array $binds = []): SqlResult
    {
        try {
            return $this->executor->run($this->request($binds));
        } catch (ConnectionLost $lost) {
            if ($lost->outcome !== Outcome::Unsent || $this->executor->connection->options->reconnect === 0) {
                throw $lost;
            }

            return $this->executor->run($this->request($binds));
        }
    }

    /**
     * Makes a request that executes the statement, for a batch or a pipeline; its result is a SqlResult.
     *
     * @param array<mixed> $binds
     * @throws \LogicException if the statement is closed
     */
    public function request(array $binds = []): Request
    {
        if ($this->closed) {
            throw new \LogicException('The statement is closed');
        }
        if ($this->epoch !== $this->executor->connection->epoch || !$this->executor->connection->isReady()) {
            $this->prepare();
        }

        return new Request(
            new Operation(Iproto::EXECUTE, AnswerKind::Sql, false, true),
            "\x82\x43" . Encoder::integer($this->id) . "\x41" . $this->requests->binds($binds),
        );
    }

    /**
     * Returns the number of parameters.
     */
    public function bindCount(): int
    {
        return $this->binds;
    }

    /**
     * Returns names and types of the columns; none for a statement that returns no rows.
     *
     * @return list<array{name: string, type: string}>
     */
    public function columns(): array
    {
        return $this->columns;
    }

    /**
     * Closes the statement; the server forgets it when nobody on this connection uses it any more.
     *
     * @throws Exception\TarantoolException if that fails
     */
    public function close(): void
    {
        if ($this->closed) {
            return;
        }
        $this->closed = true;
        $connection = $this->executor->connection;
        if ($this->statements->release($this->sql) && $this->epoch === $connection->epoch && $connection->isReady()) {
            $this->executor->run(new Request(
                new Operation(Iproto::PREPARE, AnswerKind::Nothing, false, true),
                "\x81\x43" . Encoder::integer($this->id),
            ));
        }
    }

    private function prepare(): void
    {
        $body = $this->executor->run(new Request(
            new Operation(Iproto::PREPARE, AnswerKind::Body, true),
            "\x81\x40" . Encoder::value($this->sql),
        ));
        $this->id = (int) ($body[Iproto::KEY_STATEMENT] ?? 0);
        $this->statements->name($this->sql, $this->id);
        $this->binds = (int) ($body[Iproto::KEY_BIND_COUNT] ?? 0);
        $this->columns = SqlResult::columns((array) ($body[Iproto::KEY_METADATA] ?? []));
        $this->epoch = $this->executor->connection->epoch;
    }
}
