<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Codec;

use Phpdyno\Tarantool\Exception\ProtocolError;

/**
 * The codec in PHP, fast with the JIT; needs no extension.
 */
final class PureCodec implements Codec
{
    private readonly Decoder $decoder;

    /**
     * Creates the codec.
     */
    public function __construct()
    {
        $this->decoder = new Decoder();
    }

    public function encodeList(array $values): string
    {
        if (\count($values) === 1 && \is_int($values[0] ?? null)) {
            $value = $values[0];

            return $value >= 0x100 && $value < 0x10000
                ? \pack('nn', 0x91cd, $value)
                : "\x91" . Encoder::integer($value);
        }

        return Encoder::list($values);
    }

    public function decode(string $buffer, int $offset, int $end): mixed
    {
        $this->decoder->reset($buffer, $offset, $end);
        $value = $this->decoder->value();
        if ($this->decoder->offset() !== $end) {
            throw new ProtocolError('Bytes follow the MessagePack value');
        }

        return $value;
    }

    public function decodeRows(string $buffer, int $offset, int $end, int $count, ?RowFormat $format): array
    {
        $decoder = $this->decoder;
        if ($format !== null && $format->decoder !== null && $count <= $end - $offset) {
            return ($format->decoder)($buffer, $offset, $end, $count, $decoder);
        }
        $decoder->reset($buffer, $offset, $end);
        if ($count === 1 && $offset < $end && (\ord($buffer[$offset]) & 0xf0) === 0x90) {
            $decoder->seek($offset + 1);
            $rows = [$decoder->list(\ord($buffer[$offset]) & 0x0f, 1)];
        } else {
            $rows = $decoder->list($count);
        }
        if ($decoder->offset() !== $end) {
            throw new ProtocolError('Bytes follow the rows');
        }

        return $rows;
    }
}
