<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Codec;

use Phpdyno\Tarantool\Exception\EncodingFailed;
use Phpdyno\Tarantool\Value\Binary;
use Phpdyno\Tarantool\Value\Extension;
use Phpdyno\Tarantool\Value\Pairs;
use Phpdyno\Tarantool\Value\UnsignedInteger;

/**
 * Encodes PHP values as MessagePack.
 *
 * Integers always take their shortest form: Tarantool does not find a key sent in a longer one.
 */
final class Encoder
{
    private const MAX_DEPTH = 256;

    /**
     * Encodes a value; a list becomes an array, any other PHP array and a stdClass a map.
     *
     * @throws EncodingFailed if the value, or one inside it, has no MessagePack form
     */
    public static function value(mixed $value, int $depth = 0): string
    {
        if (\is_int($value)) {
            return $value >= 0 && $value < 0x80 ? \chr($value) : self::integer($value);
        }
        if (\is_string($value)) {
            $length = \strlen($value);

            return $length < 32 ? \chr(0xa0 | $length) . $value : self::stringHeader($length) . $value;
        }
        if (\is_array($value)) {
            return \array_is_list($value) ? self::list($value, $depth) : self::map($value, $depth);
        }

        return match (true) {
            $value === null => "\xc0",
            $value === false => "\xc2",
            $value === true => "\xc3",
            \is_float($value) => "\xcb" . \pack('E', $value),
            $value instanceof Extension => self::extension($value->extensionType(), $value->extensionData()),
            $value instanceof Binary => self::binaryHeader(\strlen($value->bytes)) . $value->bytes,
            $value instanceof UnsignedInteger => "\xcf" . \pack('J', $value->bits()),
            $value instanceof Pairs => self::pairs($value, $depth),
            $value instanceof \stdClass => self::map((array) $value, $depth),
            default => throw new EncodingFailed(\sprintf('%s has no MessagePack form', \get_debug_type($value))),
        };
    }

    /**
     * Encodes an integer in its shortest form.
     */
    public static function integer(int $value): string
    {
        if ($value >= 0) {
            return match (true) {
                $value < 0x80 => \chr($value),
                $value < 0x100 => "\xcc" . \chr($value),
                $value < 0x10000 => \pack('Cn', 0xcd, $value),
                $value < 0x100000000 => \pack('CN', 0xce, $value),
                default => \pack('CJ', 0xcf, $value),
            };
        }

        return match (true) {
            $value >= -0x20 => \chr($value & 0xff),
            $value >= -0x80 => "\xd0" . \chr($value & 0xff),
            $value >= -0x8000 => \pack('Cn', 0xd1, $value & 0xffff),
            $value >= -0x80000000 => \pack('CN', 0xd2, $value & 0xffffffff),
            default => \pack('CJ', 0xd3, $value),
        };
    }

    /**
     * Encodes the values of a PHP array as an array; keys are dropped.
     *
     * @param array<mixed> $values
     * @throws EncodingFailed if a value has no MessagePack form
     */
    public static function list(array $values, int $depth = 0): string
    {
        if ($depth >= self::MAX_DEPTH) {
            throw new EncodingFailed('Values are nested too deeply, or a reference makes a circle');
        }
        $count = \count($values);
        $out = $count < 16 ? \chr(0x90 | $count) : self::listHeader($count);
        foreach ($values as $value) {
            // The first two branches are part of value(), without its call.
            if (\is_int($value) && $value >= 0x100 && $value < 0x10000) {
                $out .= "\xcd" . \chr($value >> 8) . \chr($value & 0xff);
            } elseif (\is_string($value) && \strlen($value) < 32) {
                $out .= \chr(0xa0 | \strlen($value)) . $value;
            } else {
                $out .= self::value($value, $depth + 1);
            }
        }

        return $out;
    }

    /**
     * Encodes a PHP array as a map, whatever its keys.
     *
     * @param array<mixed> $map
     * @throws EncodingFailed if a value has no MessagePack form
     */
    public static function map(array $map, int $depth = 0): string
    {
        if ($depth >= self::MAX_DEPTH) {
            throw new EncodingFailed('Values are nested too deeply, or a reference makes a circle');
        }
        $out = self::mapHeader(\count($map));
        foreach ($map as $key => $value) {
            $out .= (\is_int($key) && $key >= 0 && $key < 0x80 ? \chr($key) : self::value($key))
                . self::value($value, $depth + 1);
        }

        return $out;
    }

    /**
     * Encodes the header of an array of so many values.
     */
    public static function listHeader(int $count): string
    {
        return match (true) {
            $count < 16 => \chr(0x90 | $count),
            $count < 0x10000 => \pack('Cn', 0xdc, $count),
            default => \pack('CN', 0xdd, $count),
        };
    }

    private static function mapHeader(int $count): string
    {
        return match (true) {
            $count < 16 => \chr(0x80 | $count),
            $count < 0x10000 => \pack('Cn', 0xde, $count),
            default => \pack('CN', 0xdf, $count),
        };
    }

    private static function pairs(Pairs $pairs, int $depth): string
    {
        if ($depth >= self::MAX_DEPTH) {
            throw new EncodingFailed('Values are nested too deeply');
        }
        $out = self::mapHeader(\count($pairs->pairs));
        foreach ($pairs->pairs as [$key, $value]) {
            $out .= self::value($key, $depth + 1) . self::value($value, $depth + 1);
        }

        return $out;
    }

    private static function stringHeader(int $length): string
    {
        return match (true) {
            $length < 0x100 => "\xd9" . \chr($length),
            $length < 0x10000 => \pack('Cn', 0xda, $length),
            default => \pack('CN', 0xdb, self::limited($length)),
        };
    }

    private static function binaryHeader(int $length): string
    {
        return match (true) {
            $length < 0x100 => "\xc4" . \chr($length),
            $length < 0x10000 => \pack('Cn', 0xc5, $length),
            default => \pack('CN', 0xc6, self::limited($length)),
        };
    }

    private static function extension(int $type, string $data): string
    {
        $length = \strlen($data);
        $header = match (true) {
            $length === 1 => "\xd4",
            $length === 2 => "\xd5",
            $length === 4 => "\xd6",
            $length === 8 => "\xd7",
            $length === 16 => "\xd8",
            $length < 0x100 => "\xc7" . \chr($length),
            $length < 0x10000 => \pack('Cn', 0xc8, $length),
            default => \pack('CN', 0xc9, self::limited($length)),
        };

        return $header . \pack('c', $type) . $data;
    }

    private static function limited(int $length): int
    {
        return $length <= 0xffffffff ? $length : throw new EncodingFailed('A value is longer than 4 GiB');
    }
}
