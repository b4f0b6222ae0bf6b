<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Protocol;

use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\IteratorType;

/**
 * The constant part of the bodies of select requests.
 *
 * @internal
 */
final class SelectBody
{
    /**
     * Returns the body up to the key, which follows as an array.
     */
    public static function prefix(int $space, int $index, int $limit, int $offset, IteratorType $iterator): string
    {
        return "\x86\x10" . Encoder::integer($space) . "\x11" . Encoder::integer($index)
            . "\x12" . Encoder::integer($limit) . "\x13" . Encoder::integer($offset)
            . "\x14" . \chr($iterator->value) . "\x20";
    }
}
