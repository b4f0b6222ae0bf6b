<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Codec;

use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Value;

/**
 * Turns extension types and their bytes into values.
 */
final class Extensions
{
    /**
     * Returns the value of an extension; an unknown type gives an UnknownExtension.
     *
     * @throws ProtocolError if the bytes do not fit a known type
     */
    public static function decode(int $type, string $data): Value\Extension
    {
        return match ($type) {
            Value\Decimal::TYPE => Value\Decimal::fromData($data),
            Value\Uuid::TYPE => Value\Uuid::fromData($data),
            Value\ErrorStack::TYPE => Value\ErrorStack::fromData($data),
            Value\DateTime::TYPE => Value\DateTime::fromData($data),
            Value\Interval::TYPE => Value\Interval::fromData($data),
            default => new Value\UnknownExtension($type, $data),
        };
    }
}
