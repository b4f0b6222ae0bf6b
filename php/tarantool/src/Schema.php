<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

use Phpdyno\Tarantool\Codec\RowCompiler;
use Phpdyno\Tarantool\Codec\RowFormat;
use Phpdyno\Tarantool\Exception\UnknownName;
use Phpdyno\Tarantool\Protocol\AnswerKind;
use Phpdyno\Tarantool\Protocol\Iproto;
use Phpdyno\Tarantool\Protocol\Operation;
use Phpdyno\Tarantool\Protocol\SelectBody;

/**
 * Names of spaces and indexes, and formats of spaces, asked from the server once per schema version.
 */
final class Schema
{
    /** @var array<string, array{int, RowFormat}> */
    private array $spaces = [];

    /** @var array<int, array<string, int>> */
    private array $indexes = [];

    private int $version = 0;

    private readonly Operation $operation;

    /**
     * Creates the cache.
     *
     * @internal
     */
    public function __construct(private readonly Executor $executor, private readonly ?RowCompiler $compiler)
    {
        $this->operation = new Operation(Iproto::SELECT, AnswerKind::Rows, true);
    }

    /**
     * Returns the number of a space.
     *
     * @throws UnknownName if there is no such space
     */
    public function spaceId(string $name): int
    {
        return $this->space($name)[0];
    }

    /**
     * Returns the fields of a space.
     *
     * @throws UnknownName if there is no such space
     */
    public function format(string $space): RowFormat
    {
        return $this->space($space)[1];
    }

    /**
     * Returns the number of an index of a space.
     *
     * @throws UnknownName if there is no such index
     */
    public function indexId(int $space, string $name): int
    {
        $this->renew();
        if (!isset($this->indexes[$space][$name])) {
            $row = $this->select(Iproto::VINDEX, [$space, $name]);
            if ($row === null) {
                throw UnknownName::index($name, $space);
            }
            $this->indexes[$space][$name] = $row[1];
        }

        return $this->indexes[$space][$name];
    }

    /**
     * Forgets everything, so that it is asked again.
     */
    public function clear(): void
    {
        $this->spaces = $this->indexes = [];
    }

    /**
     * @return array{int, RowFormat}
     */
    private function space(string $name): array
    {
        $this->renew();
        if (isset($this->spaces[$name])) {
            return $this->spaces[$name];
        }
        $row = $this->select(Iproto::VSPACE, [$name]);
        if ($row === null) {
            throw UnknownName::space($name);
        }
        $fields = \array_filter((array) ($row[6] ?? []), \is_array(...));
        $format = new RowFormat(
            \array_map(static fn (array $field): string => (string) ($field['name'] ?? ''), \array_values($fields)),
            \array_map(static fn (array $field): string => (string) ($field['type'] ?? ''), \array_values($fields)),
        );
        $this->compiler?->compile($format);

        return $this->spaces[$name] = [$row[0], $format];
    }

    private function renew(): void
    {
        if ($this->version !== $this->executor->connection->inbox->schemaVersion) {
            $this->clear();
            $this->version = $this->executor->connection->inbox->schemaVersion;
        }
    }

    /**
     * @param list<int|string> $key
     * @return list<mixed>|null
     */
    private function select(int $space, array $key): ?array
    {
        $body = SelectBody::prefix($space, Iproto::INDEX_BY_NAME, 1, 0, IteratorType::Eq)
            . Codec\Encoder::list($key);
        $row = $this->executor->run(new Request($this->operation, $body))[0] ?? null;
        $this->renew();

        return $row;
    }
}
