<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

use Phpdyno\Tarantool\Codec\Codec;
use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Protocol\AnswerKind;
use Phpdyno\Tarantool\Protocol\Iproto;
use Phpdyno\Tarantool\Protocol\Operation;
use Phpdyno\Tarantool\Protocol\SelectBody;
use Phpdyno\Tarantool\Transport\Inbox;

/**
 * Makes requests from names and values.
 *
 * Spaces and indexes are given by name or number. A name that is not known yet is asked from the server.
 * All methods throw EncodingFailed for values without a MessagePack form, and UnknownName.
 */
final class RequestFactory
{
    public const NO_LIMIT = 0xffffffff;

    /**
     * Templates by space and index; names, which may look like numbers, and numbers are kept apart.
     *
     * @var array<int, array<array-key, array<array-key, array{Operation, string}>>>
     */
    private array $selects = [];

    /** @var array<int, array<array-key, array{Operation, string}>> by type (plus 0x100 for a number) and space */
    private array $writes = [];

    // The template of the latest select: most selects are like the one before.
    private int|string|null $latestSpace = null;
    private int|string|null $latestIndex = null;
    private ?Operation $latestOperation = null;
    private string $latestPrefix = '';

    private int $version = 0;

    private readonly Inbox $inbox;
    private readonly Codec $codec;
    private readonly Operation $ping;
    private readonly Operation $call;
    private readonly Operation $eval;
    private readonly Operation $upsert;
    private readonly Operation $execute;

    /**
     * Creates a factory.
     *
     * @internal
     */
    public function __construct(Executor $executor, private readonly Schema $schema)
    {
        $this->inbox = $executor->connection->inbox;
        $this->codec = $executor->connection->options->codec;
        $this->ping = new Operation(Iproto::PING, AnswerKind::Nothing, true);
        $this->call = new Operation(Iproto::CALL, AnswerKind::Rows);
        $this->eval = new Operation(Iproto::EVAL, AnswerKind::Rows);
        $this->upsert = new Operation(Iproto::UPSERT, AnswerKind::Nothing);
        $this->execute = new Operation(Iproto::EXECUTE, AnswerKind::Sql);
    }

    /**
     * Makes a request without effect; its result is null.
     */
    public function ping(): Request
    {
        return new Request($this->ping, "\x80");
    }

    /**
     * Makes a call of a stored function; its result is the list of returned values.
     *
     * @param array<mixed> $arguments
     */
    public function call(string $function, array $arguments = []): Request
    {
        return new Request(
            $this->call,
            "\x82\x22" . Encoder::value($function) . "\x21" . $this->codec->encodeList($arguments),
        );
    }

    /**
     * Makes an evaluation of Lua code; its result is the list of returned values.
     *
     * @param array<mixed> $arguments
     */
    public function eval(string $expression, array $arguments = []): Request
    {
        return new Request(
            $this->eval,
            "\x82\x27" . Encoder::value($expression) . "\x21" . $this->codec->encodeList($arguments),
        );
    }

    /**
     * Makes a select; its result is the list of tuples.
     *
     * @param array<mixed>|int|string $key the parts of the key; [] means all
     * @param IteratorType|null $iterator null means Eq
     */
    public function select(
        int|string $space,
        array|int|string $key = [],
        int|string $index = 0,
        int $limit = self::NO_LIMIT,
        int $offset = 0,
        ?IteratorType $iterator = null,
    ): Request {
        $key = match (true) {
            \is_int($key) => $key >= 0x100 && $key < 0x10000
                ? \pack('nn', 0x91cd, $key)
                : "\x91" . Encoder::integer($key),
            \is_array($key) => $this->codec->encodeList($key),
            default => $this->codec->encodeList([$key]),
        };
        if ($limit === self::NO_LIMIT && $offset === 0 && $iterator === null) {
            if ($this->version !== $this->inbox->schemaVersion) {
                $this->renew();
            }
            if ($space !== $this->latestSpace || $index !== $this->latestIndex) {
                $kind = (\is_int($space) ? 1 : 0) | (\is_int($index) ? 2 : 0);
                $template = $this->selects[$kind][$space][$index] ??= $this->selectTemplate($space, $index);
                $this->latestSpace = $space;
                $this->latestIndex = $index;
                [$this->latestOperation, $this->latestPrefix] = $template;
            }

            return new Request($this->latestOperation, $this->latestPrefix . $key);
        }
        [$operation, $space, $index] = $this->index($space, $index, AnswerKind::Rows);

        $prefix = SelectBody::prefix($space, $index, $limit, $offset, $iterator ?? IteratorType::Eq);

        return new Request($operation, $prefix . $key);
    }

    /**
     * Makes a select whose result decodes tuples upon access (Codec\LazyRows).
     *
     * @param array<mixed>|int|string $key
     */
    public function selectLazy(
        int|string $space,
        array|int|string $key = [],
        int|string $index = 0,
        int $limit = self::NO_LIMIT,
        int $offset = 0,
        ?IteratorType $iterator = null,
    ): Request {
        [$operation, $space, $index] = $this->index($space, $index, AnswerKind::LazyRows);
        $key = $this->codec->encodeList(\is_array($key) ? $key : [$key]);

        $prefix = SelectBody::prefix($space, $index, $limit, $offset, $iterator ?? IteratorType::Eq);

        return new Request($operation, $prefix . $key);
    }

    /**
     * Makes an insert, which fails if the key exists; its result is the tuple.
     *
     * @param array<mixed> $tuple
     */
    public function insert(int|string $space, array $tuple): Request
    {
        $template = $this->write(Iproto::INSERT, $space);

        return new Request($template[0], $template[1] . $this->codec->encodeList($tuple));
    }

    /**
     * Makes a replace: an insert that overwrites; its result is the tuple.
     *
     * @param array<mixed> $tuple
     */
    public function replace(int|string $space, array $tuple): Request
    {
        $template = $this->write(Iproto::REPLACE, $space);

        return new Request($template[0], $template[1] . $this->codec->encodeList($tuple));
    }

    /**
     * Makes an update of one tuple; its result is the new tuple, or null if there is none.
     *
     * @param array<mixed>|int|string $key
     * @param list<array<mixed>> $operations like ['=', field number from 0, value]
     */
    public function update(int|string $space, array|int|string $key, array $operations, int|string $index = 0): Request
    {
        [$operation, $space, $index] = $this->index($space, $index, AnswerKind::FirstRow, Iproto::UPDATE);

        return new Request(
            $operation,
            "\x84\x10" . Encoder::integer($space) . "\x11" . Encoder::integer($index)
            . "\x20" . $this->codec->encodeList(\is_array($key) ? $key : [$key])
            . "\x21" . $this->codec->encodeList($operations),
        );
    }

    /**
     * Makes an upsert: an insert, or an update if the key exists; its result is null.
     *
     * @param array<mixed> $tuple
     * @param list<array<mixed>> $operations like ['=', field number from 0, value]
     */
    public function upsert(int|string $space, array $tuple, array $operations): Request
    {
        return new Request(
            $this->upsert,
            "\x83\x10" . Encoder::integer($this->spaceId($space))
            . "\x21" . $this->codec->encodeList($tuple) . "\x28" . $this->codec->encodeList($operations),
        );
    }

    /**
     * Makes a delete of one tuple; its result is that tuple, or null if there was none.
     *
     * @param array<mixed>|int|string $key
     */
    public function delete(int|string $space, array|int|string $key, int|string $index = 0): Request
    {
        [$operation, $space, $index] = $this->index($space, $index, AnswerKind::FirstRow, Iproto::DELETE);

        return new Request(
            $operation,
            "\x83\x10" . Encoder::integer($space) . "\x11" . Encoder::integer($index)
            . "\x20" . $this->codec->encodeList(\is_array($key) ? $key : [$key]),
        );
    }

    /**
     * Makes the execution of an SQL statement; its result is a SqlResult.
     *
     * @param array<mixed> $binds values for "?" by position, or for ":name" under their names
     */
    public function execute(string $sql, array $binds = []): Request
    {
        return new Request($this->execute, "\x82\x40" . Encoder::value($sql) . "\x41" . $this->binds($binds));
    }

    /**
     * Encodes the values for the parameters of an SQL statement.
     *
     * @internal
     * @param array<mixed> $binds
     */
    public function binds(array $binds): string
    {
        if (\array_is_list($binds)) {
            return $this->codec->encodeList($binds);
        }
        $named = [];
        foreach ($binds as $name => $value) {
            $named[] = [(\is_string($name) ? ':' . \ltrim($name, ':@$') : $name + 1) => $value];
        }

        return Encoder::list($named);
    }

    private function spaceId(int|string $space): int
    {
        return \is_int($space) ? $space : $this->schema->spaceId($space);
    }

    /**
     * @return array{Operation, int, int} an operation, and the numbers of space and index
     */
    private function index(
        int|string $space,
        int|string $index,
        AnswerKind $kind,
        int $type = Iproto::SELECT,
    ): array {
        $format = \is_int($space) ? null : $this->schema->format($space);
        $space = $this->spaceId($space);

        return [
            new Operation($type, $kind, $type === Iproto::SELECT, false, $format),
            $space,
            \is_int($index) ? $index : $this->schema->indexId($space, $index),
        ];
    }

    /**
     * @return array{Operation, string}
     */
    private function selectTemplate(int|string $space, int|string $index): array
    {
        [$operation, $space, $index] = $this->index($space, $index, AnswerKind::Rows);

        return [$operation, SelectBody::prefix($space, $index, self::NO_LIMIT, 0, IteratorType::Eq)];
    }

    /**
     * @return array{Operation, string}
     */
    private function write(int $type, int|string $space): array
    {
        $this->renew();
        $kind = \is_int($space) ? $type | 0x100 : $type;
        if (!isset($this->writes[$kind][$space])) {
            [$operation, $number] = $this->index($space, 0, AnswerKind::FirstRow, $type);
            $this->writes[$kind][$space] = [$operation, "\x82\x10" . Encoder::integer($number) . "\x21"];
        }

        return $this->writes[$kind][$space];
    }

    private function renew(): void
    {
        if ($this->version !== $this->inbox->schemaVersion) {
            $this->clear();
            $this->version = $this->inbox->schemaVersion;
        }
    }

    /**
     * Forgets the numbers of spaces and indexes.
     *
     * @internal
     */
    public function clear(): void
    {
        $this->selects = $this->writes = [];
        $this->latestSpace = null;
    }
}
