<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Codec;

use Phpdyno\Tarantool\Exception\EncodingFailed;
use Phpdyno\Tarantool\Exception\ProtocolError;

/**
 * Encodes what requests hold and decodes what answers hold.
 */
interface Codec
{
    /**
     * Encodes a list of values (a tuple, a key, arguments) as a MessagePack array.
     *
     * @param array<mixed> $values keys are dropped
     * @throws EncodingFailed if a value has no MessagePack form
     */
    public function encodeList(array $values): string;

    /**
     * Decodes the single value between two positions of a buffer.
     *
     * @throws ProtocolError if the bytes are malformed, or are not exactly one value
     */
    public function decode(string $buffer, int $offset, int $end): mixed;

    /**
     * Decodes so many rows, which lie one after the other between two positions of a buffer.
     *
     * @param RowFormat|null $format what the rows are expected to look like; others are decoded all the same
     * @return list<mixed>
     * @throws ProtocolError if the bytes are malformed, or are not exactly that many values
     */
    public function decodeRows(string $buffer, int $offset, int $end, int $count, ?RowFormat $format): array;
}
