<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Codec;

use Phpdyno\Tarantool\Exception\ProtocolError;

/**
 * Rows that are decoded upon access, in order, up to the one that is asked for.
 *
 * Access throws a ProtocolError if the bytes are malformed.
 *
 * @implements \ArrayAccess<int, mixed>
 * @implements \IteratorAggregate<int, mixed>
 */
final class LazyRows implements \ArrayAccess, \Countable, \IteratorAggregate
{
    private readonly Decoder $decoder;

    /** @var list<mixed> */
    private array $rows = [];

    /**
     * Creates so many rows from their encoded bytes.
     *
     * @throws ProtocolError if there are fewer bytes than rows
     */
    public function __construct(string $bytes, private readonly int $count)
    {
        if ($count > strlen($bytes)) {
            throw new ProtocolError('MessagePack data ends too early');
        }
        $this->decoder = new Decoder($bytes);
    }

    public function count(): int
    {
        return $this->count;
    }

    public function offsetExists(mixed $offset): bool
    {
        return is_int($offset) && $offset >= 0 && $offset < $this->count;
    }

    /**
     * Returns a row.
     *
     * @throws \OutOfBoundsException if there is no such row
     */
    public function offsetGet(mixed $offset): mixed
    {
        if (!$this->offsetExists($offset)) {
            throw new \OutOfBoundsException('There is no such row');
        }
        for ($i = count($this->rows); $i <= $offset; ++$i) {
            $this->rows[] = $this->decoder->value(1);
        }

        return $this->rows[$offset];
    }

    public function offsetSet(mixed $offset, mixed $value): void
    {
        throw new \LogicException('Rows cannot be changed');
    }

    public function offsetUnset(mixed $offset): void
    {
        throw new \LogicException('Rows cannot be changed');
    }

    public function getIterator(): \Iterator
    {
        for ($i = 0; $i < $this->count; ++$i) {
            yield $i => $this->offsetGet($i);
        }
    }
}
