<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Value;

use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Exception\ProtocolError;

/**
 * A span of time in calendar units (Tarantool 2.10 and later).
 */
final class Interval implements Extension
{
    public const TYPE = 6;

    /** @var list<string> the names of the parts, in the order of their keys on the wire */
    private const PARTS = ['year', 'month', 'week', 'day', 'hour', 'minute', 'second', 'nanosecond', 'adjust'];

    /**
     * Creates the value; $adjust is 0 for the last day kept in range, 1 for an excess, 2 for the last day of the month.
     */
    public function __construct(
        public readonly int $year = 0,
        public readonly int $month = 0,
        public readonly int $week = 0,
        public readonly int $day = 0,
        public readonly int $hour = 0,
        public readonly int $minute = 0,
        public readonly int $second = 0,
        public readonly int $nanosecond = 0,
        public readonly int $adjust = 0,
    ) {
    }

    /**
     * Creates the value from the bytes of the extension: a count, then a key and an integer for each part.
     *
     * @throws ProtocolError if the bytes are malformed
     */
    public static function fromData(string $data): self
    {
        $decoder = new Decoder($data, 1);
        $parts = [];
        for ($left = $data === '' ? -1 : ord($data[0]); $left > 0; --$left) {
            $name = self::PARTS[self::integer($decoder)] ?? null;
            if ($name === null || isset($parts[$name])) {
                throw new ProtocolError('Malformed interval: unknown or repeated part');
            }
            $parts[$name] = self::integer($decoder);
        }
        if ($left < 0 || $decoder->offset() !== strlen($data)) {
            throw new ProtocolError('Malformed interval: wrong length');
        }

        return new self(...$parts);
    }

    public function extensionType(): int
    {
        return self::TYPE;
    }

    public function extensionData(): string
    {
        $count = 0;
        $data = '';
        foreach (self::PARTS as $key => $name) {
            if ($this->$name !== 0) {
                ++$count;
                $data .= chr($key) . Encoder::integer($this->$name);
            }
        }

        return chr($count) . $data;
    }

    public function __toString(): string
    {
        $words = [];
        foreach (array_slice(self::PARTS, 0, 8) as $name) {
            if ($this->$name !== 0) {
                $words[] = sprintf('%+d %s%s', $this->$name, $name, abs($this->$name) === 1 ? '' : 's');
            }
        }

        return $words === [] ? '0 seconds' : implode(', ', $words);
    }

    private static function integer(Decoder $decoder): int
    {
        $value = $decoder->value();

        return is_int($value) ? $value : throw new ProtocolError('Malformed interval: a part is no integer');
    }
}
