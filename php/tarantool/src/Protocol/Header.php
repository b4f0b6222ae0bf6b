<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Protocol;

use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Exception\ProtocolError;

/**
 * A frame's length and header, parsed without assumptions about its shape.
 *
 * @internal
 */
final class Header
{
    /**
     * Creates a header; $start, $body and $end are positions in the buffer.
     */
    private function __construct(
        public readonly int $type,
        public readonly int $sync,
        public readonly ?int $schemaVersion,
        public readonly int $start,
        public readonly int $body,
        public readonly int $end,
    ) {
    }

    /**
     * Parses the frame at a position; null if the buffer does not hold all of it yet.
     *
     * @throws ProtocolError if the bytes start no frame, or one longer than $limit bytes
     */
    public static function parse(string $buffer, int $offset, int $limit): ?self
    {
        $size = strlen($buffer);
        if ($offset >= $size) {
            return null;
        }
        $code = ord($buffer[$offset]);
        $width = match (true) {
            $code < 0x80 => 1,
            $code === 0xcc => 2,
            $code === 0xcd => 3,
            $code === 0xce => 5,
            $code === 0xcf => 9,
            default => throw new ProtocolError(sprintf('No frame starts with the byte 0x%02x', $code)),
        };
        if ($offset + $width > $size) {
            return null;
        }
        $length = (new Decoder($buffer, $offset))->value();
        if (!is_int($length) || $length > $limit) {
            throw new ProtocolError(sprintf('A frame of %s bytes is longer than the limit of %d', $length, $limit));
        }
        $end = $offset + $width + $length;
        if ($end > $size) {
            return null;
        }
        $decoder = new Decoder($buffer, $offset + $width, $end);
        $map = $decoder->value();
        $type = is_array($map) ? $map[Iproto::KEY_TYPE] ?? null : null;
        $sync = is_array($map) ? $map[Iproto::KEY_SYNC] ?? 0 : null;
        if (!is_int($type) || !is_int($sync)) {
            throw new ProtocolError('A frame has no header with type and sync');
        }
        $version = $map[Iproto::KEY_SCHEMA_VERSION] ?? null;

        return new self($type, $sync, is_int($version) ? $version : null, $offset + $width, $decoder->offset(), $end);
    }
}
