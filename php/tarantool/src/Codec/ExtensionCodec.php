<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Codec;

/**
 * The codec that uses the msgpack extension where its result is certain to be the same, and PHP elsewhere.
 *
 * The extension turns extension types into null, big unsigned integers into strings and map keys into
 * strings, all without a word. So data in which such a byte occurs anywhere is left to PureCodec.
 */
final class ExtensionCodec implements Codec
{
    /** Ext types, uint 64, the unused byte, maps: as bytes, wherever they stand. */
    private const UNSURE = '/[\x80-\x8f\xc1\xc7-\xc9\xcf\xd4-\xd8\xde\xdf]/';

    /** Bytes; below this PHP is faster. */
    private const MIN_LENGTH = 200;

    private readonly \MessagePack $extension;
    private readonly PureCodec $pure;

    /**
     * Creates the codec.
     *
     * @throws \LogicException if the msgpack extension is not loaded
     */
    public function __construct()
    {
        if (!\extension_loaded('msgpack')) {
            throw new \LogicException('The msgpack extension is not loaded');
        }
        $this->extension = new \MessagePack(false);
        $this->pure = new PureCodec();
    }

    public function encodeList(array $values): string
    {
        foreach ($values as $value) {
            if (!\is_scalar($value) && $value !== null) {
                return $this->pure->encodeList($values);
            }
        }

        return $this->extension->pack(\array_values($values));
    }

    public function decode(string $buffer, int $offset, int $end): mixed
    {
        return $this->pure->decode($buffer, $offset, $end);
    }

    public function decodeRows(string $buffer, int $offset, int $end, int $count, ?RowFormat $format): array
    {
        $length = $end - $offset;
        if ($length < self::MIN_LENGTH || $count < 1 || $count > $length) {
            return $this->pure->decodeRows($buffer, $offset, $end, $count, $format);
        }
        $bytes = \substr($buffer, $offset, $length);
        if (\preg_match(self::UNSURE, $bytes) === 0) {
            // The extension ignores bytes after the value: an element behind the rows shows where they end.
            $rows = @$this->extension->unpack("\xdd" . \pack('N', $count + 1) . $bytes . "\xa4stop");
            if (\is_array($rows) && \count($rows) === $count + 1 && \array_pop($rows) === 'stop') {
                return $rows;
            }
        }

        return $this->pure->decodeRows($buffer, $offset, $end, $count, $format);
    }
}
