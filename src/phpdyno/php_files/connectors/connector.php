<?php
// What the lab asks of a client of Tarantool, so that all are held against each other in the same work.
declare(strict_types=1);

namespace Phpdyno\Connectors;

/** The reference's space, `items`: {id, name}. */
const SPACE = 555;

/** Statements by the operation's name, the same for all connectors. */
const SQL = [
    'sql-select' => 'SELECT * FROM "items" WHERE "id" = ?',
    'sql-insert' => 'INSERT INTO "items" VALUES (NULL, ?)',
    'sql-update' => 'UPDATE "items" SET "name" = ? WHERE "id" = ?',
    'sql-delete' => 'DELETE FROM "items" WHERE "id" = ?',
];

/** The same prepared. (2.6.0 hangs, and all that is asked of it, when a prepared INSERT that has it choose a number is executed again.) */
const PREPARED = ['sql-insert' => 'INSERT INTO "items" VALUES (?, ?)'] + SQL;

/** Added to a key it is the number of a tuple that is not there. */
const FURTHER = 1_000_000;

/** @return \Closure(int): list<mixed> what a statement is given for a key */
function binds_of(string $name, bool $prepared = false): \Closure
{
    if ($prepared && $name === 'sql-insert') {
        return static fn (int $key): array => [$key + FURTHER, "foobar_$key"];
    }
    return match ($name) {
        'sql-select', 'sql-delete' => static fn (int $key): array => [$key],
        'sql-insert' => static fn (int $key): array => ["foobar_$key"],
        'sql-update' => static fn (int $key): array => ['a', $key],
    };
}

/** One operation of a connector. */
final class Operation
{
    /**
     * @param \Closure(int): mixed $run performs it for a key; in a Fiber of an engine it may suspend
     * @param \Closure(int, mixed): bool $right whether this is the whole right answer for that key
     * @param \Closure(mixed): mixed $shown the answer as all connectors show it, to compare them
     * @param \Closure(int): mixed|null $request the same as a request that is not sent yet, for engines that send many at once
     */
    public function __construct(
        public readonly \Closure $run,
        public readonly \Closure $right,
        public readonly \Closure $shown,
        public readonly ?\Closure $request = null,
    ) {
    }
}

/** A client that is connected. */
interface Connector
{
    /** @return array<string, Operation> what it can do, by name */
    public function operations(): array;

    /** Puts the tuple of a key back as it was in the beginning, and takes the further one away. */
    public function restore(int $key): void;
}
