<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Codec;

use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Value\Pairs;
use Phpdyno\Tarantool\Value\UnsignedInteger;

/**
 * Decodes MessagePack from a part of a buffer, without copying that part.
 *
 * Never reads past the given end, never allocates for a length that the bytes at hand cannot fill.
 */
final class Decoder
{
    private const MAX_DEPTH = 256;

    private int $end;

    /**
     * Creates a decoder of the bytes from $offset to before $end (default: the end of the buffer).
     */
    public function __construct(private string $buffer = '', private int $offset = 0, ?int $end = null)
    {
        $this->end = $end ?? \strlen($buffer);
    }

    /**
     * Sets the decoder to another part of a buffer.
     */
    public function reset(string $buffer, int $offset, int $end): void
    {
        $this->buffer = $buffer;
        $this->offset = $offset;
        $this->end = $end;
    }

    /**
     * Returns where in the buffer the next value starts.
     */
    public function offset(): int
    {
        return $this->offset;
    }

    /**
     * Decodes the next value.
     *
     * @throws ProtocolError if the bytes are malformed or end too early
     */
    public function value(int $depth = 0): mixed
    {
        $offset = $this->offset;
        if ($offset >= $this->end) {
            throw new ProtocolError('MessagePack data ends too early');
        }
        $code = \ord($this->buffer[$offset]);
        $this->offset = $offset + 1;
        if ($code < 0x80) {
            return $code;
        }
        if ($code < 0x90) {
            return $this->map($code & 0x0f, $depth);
        }
        if ($code < 0xa0) {
            return $this->list($code & 0x0f, $depth);
        }
        if ($code < 0xc0) {
            return $this->bytes($code & 0x1f);
        }
        if ($code >= 0xe0) {
            return $code - 256;
        }

        switch ($code) {
            case 0xc0:
                return null;
            case 0xc2:
                return false;
            case 0xc3:
                return true;
            case 0xcc:
                return $this->number('C', 1);
            case 0xcd:
                return $this->number('n', 2);
            case 0xce:
                return $this->number('N', 4);
            case 0xcf:
                $value = $this->number('J', 8);

                return $value >= 0 ? $value : UnsignedInteger::fromBits($value);
            case 0xd0:
                return $this->number('c', 1);
            case 0xd1:
                $value = $this->number('n', 2);

                return $value >= 0x8000 ? $value - 0x10000 : $value;
            case 0xd2:
                $value = $this->number('N', 4);

                return $value >= 0x80000000 ? $value - 0x100000000 : $value;
            case 0xd3:
                return $this->number('J', 8);
            case 0xca:
                return $this->number('G', 4);
            case 0xcb:
                return $this->number('E', 8);
            case 0xc4:
            case 0xd9:
                return $this->bytes($this->number('C', 1));
            case 0xc5:
            case 0xda:
                return $this->bytes($this->number('n', 2));
            case 0xc6:
            case 0xdb:
                return $this->bytes($this->number('N', 4));
            case 0xdc:
                return $this->list($this->number('n', 2), $depth);
            case 0xdd:
                return $this->list($this->number('N', 4), $depth);
            case 0xde:
                return $this->map($this->number('n', 2), $depth);
            case 0xdf:
                return $this->map($this->number('N', 4), $depth);
            case 0xd4:
            case 0xd5:
            case 0xd6:
            case 0xd7:
            case 0xd8:
                return $this->extension(1 << ($code - 0xd4));
            case 0xc7:
                return $this->extension($this->number('C', 1));
            case 0xc8:
                return $this->extension($this->number('n', 2));
            case 0xc9:
                return $this->extension($this->number('N', 4));
            default:
                throw new ProtocolError('MessagePack never uses the byte 0xc1');
        }
    }

    /**
     * Decodes so many values as a list.
     *
     * @return list<mixed>
     * @throws ProtocolError if the bytes are malformed or end too early
     */
    public function list(int $count, int $depth = 0): array
    {
        $this->check($count, $depth);
        $list = [];
        for (; $count > 0; --$count) {
            $list[] = $this->value($depth + 1);
        }

        return $list;
    }

    /**
     * @return array<array-key, mixed>|Pairs
     */
    private function map(int $count, int $depth): array|Pairs
    {
        $this->check(2 * $count, $depth);
        $map = [];
        $pairs = null;
        for (; $count > 0; --$count) {
            $key = $this->value($depth + 1);
            if ($pairs === null && !\is_int($key) && !\is_string($key)) {
                $pairs = \array_map(null, \array_keys($map), \array_values($map));
            }
            if ($pairs === null) {
                $map[$key] = $this->value($depth + 1);
            } else {
                $pairs[] = [$key, $this->value($depth + 1)];
            }
        }

        return $pairs === null ? $map : new Pairs($pairs);
    }

    private function check(int $values, int $depth): void
    {
        if ($depth >= self::MAX_DEPTH) {
            throw new ProtocolError('MessagePack data is nested too deeply');
        }
        if ($values > $this->end - $this->offset) {
            throw new ProtocolError('MessagePack data ends too early');
        }
    }

    private function number(string $format, int $size): int|float
    {
        $offset = $this->offset;
        if ($offset + $size > $this->end) {
            throw new ProtocolError('MessagePack data ends too early');
        }
        $this->offset = $offset + $size;

        return \unpack($format, $this->buffer, $offset)[1];
    }

    private function bytes(int $length): string
    {
        $offset = $this->offset;
        if ($offset + $length > $this->end) {
            throw new ProtocolError('MessagePack data ends too early');
        }
        $this->offset = $offset + $length;

        return \substr($this->buffer, $offset, $length);
    }

    private function extension(int $length): mixed
    {
        $type = $this->number('c', 1);

        return Extensions::decode($type, $this->bytes($length));
    }
}
