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
        if ($count > $end - $offset) {
            throw new ProtocolError('MessagePack data ends too early');
        }
        $decoder = $this->decoder;
        if ($format !== null && $format->decoder !== null) {
            return ($format->decoder)($buffer, $offset, $end, $count, $decoder);
        }
        $rows = [];
        for (; $count > 0; --$count) {
            $fields = $offset < $end ? \ord($buffer[$offset]) - 0x90 : -1;
            if ($fields < 0 || $fields > 15) {
                $decoder->reset($buffer, $offset, $end);
                $rows[] = $decoder->value(1);
                $offset = $decoder->offset();
                continue;
            }
            ++$offset;
            $row = [];
            for (; $fields > 0; --$fields) {
                $code = $offset < $end ? \ord($buffer[$offset]) : 0xc1;
                if ($code < 0x80) {
                    $row[] = $code;
                    ++$offset;
                } elseif (($code & 0xe0) === 0xa0 && $offset + 1 + ($code & 0x1f) <= $end) {
                    $row[] = \substr($buffer, $offset + 1, $code & 0x1f);
                    $offset += 1 + ($code & 0x1f);
                } elseif ($code === 0xcd && $offset + 3 <= $end) {
                    $row[] = (\ord($buffer[$offset + 1]) << 8) | \ord($buffer[$offset + 2]);
                    $offset += 3;
                } else {
                    $decoder->reset($buffer, $offset, $end);
                    $row[] = $decoder->value(2);
                    $offset = $decoder->offset();
                }
            }
            $rows[] = $row;
        }
        if ($offset !== $end) {
            throw new ProtocolError('Bytes follow the rows');
        }

        return $rows;
    }
}
