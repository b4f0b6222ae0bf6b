<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Value;

/**
 * Bytes to be sent as MessagePack bin (Tarantool's varbinary); a plain PHP string is sent as str.
 */
final class Binary implements \Stringable
{
    /**
     * Creates the value from raw bytes.
     */
    public function __construct(public readonly string $bytes)
    {
    }

    public function __toString(): string
    {
        return $this->bytes;
    }
}
