<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Protocol\Iproto;

/**
 * The result of an SQL statement: rows with their columns, or the number of changed rows.
 */
final class SqlResult
{
    /**
     * @param list<list<mixed>> $rows
     * @param list<array{name: string, type: string}> $columns
     * @param list<int> $autoincrementIds
     */
    private function __construct(
        public readonly array $rows,
        public readonly array $columns,
        public readonly int $rowCount,
        public readonly array $autoincrementIds,
    ) {
    }

    /**
     * Creates the result from the decoded body of an answer.
     *
     * @internal
     * @param array<array-key, mixed> $body
     * @throws ProtocolError if the body is none of an SQL statement
     */
    public static function fromBody(array $body): self
    {
        $rows = $body[Iproto::KEY_DATA] ?? [];
        $metadata = $body[Iproto::KEY_METADATA] ?? [];
        $info = $body[Iproto::KEY_SQL_INFO] ?? [];
        if (!is_array($rows) || !array_is_list($rows) || !is_array($metadata) || !is_array($info)) {
            throw new ProtocolError('Malformed answer to an SQL statement');
        }

        return new self($rows, self::columns($metadata), (int) ($info[0] ?? count($rows)), (array) ($info[1] ?? []));
    }

    /**
     * Turns decoded column metadata into names and types.
     *
     * @internal
     * @param array<array-key, mixed> $metadata
     * @return list<array{name: string, type: string}>
     */
    public static function columns(array $metadata): array
    {
        return array_values(array_map(
            static fn (mixed $column): array => [
                'name' => (string) ($column[0] ?? ''),
                'type' => (string) ($column[1] ?? ''),
            ],
            $metadata,
        ));
    }

    /**
     * Returns the rows as maps of column name to value.
     *
     * @return list<array<string, mixed>>
     */
    public function assoc(): array
    {
        $names = array_column($this->columns, 'name');

        return array_map(static fn (array $row): array => array_combine($names, $row), $this->rows);
    }
}
