<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

/**
 * Counts who uses which prepared statement of a connection.
 *
 * One UNPREPARE removes a statement for everybody on the socket, so only the last user may send it.
 *
 * @internal
 */
final class Statements
{
    /** @var \WeakMap<Transport\Connection, self> */
    private static ?\WeakMap $all = null;

    /** @var array<string, int> number of users, by SQL text */
    private array $users = [];

    /** @var array<int, string> SQL texts, by the number that the server gave the statement */
    private array $texts = [];

    /**
     * Returns the counters of a connection.
     */
    public static function of(Transport\Connection $connection): self
    {
        self::$all ??= new \WeakMap();

        return self::$all[$connection] ??= new self();
    }

    /**
     * Notes one more user; to be called before PREPARE is sent, so that nobody removes the statement meanwhile.
     */
    public function acquire(string $sql): void
    {
        $this->users[$sql] = ($this->users[$sql] ?? 0) + 1;
    }

    /**
     * Notes one user less and tells whether it was the last one.
     */
    public function release(string $sql): bool
    {
        if (--$this->users[$sql] > 0) {
            return false;
        }
        unset($this->users[$sql]);

        return true;
    }

    /**
     * Notes the number that the server gave a statement.
     */
    public function name(string $sql, int $id): void
    {
        $this->texts[$id] = $sql;
    }

    /**
     * Notes one user less of the statement with a number; true if it was the last one, or the statement is unknown.
     */
    public function releaseId(int $id): bool
    {
        $sql = $this->texts[$id] ?? null;

        return $sql === null || !isset($this->users[$sql]) || $this->release($sql);
    }
}
