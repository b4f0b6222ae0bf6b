<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Value;

/**
 * A map as a list of [key, value] pairs.
 *
 * Decoding gives it for a map that has keys other than integers and strings, which a PHP array cannot hold.
 * To send an empty map, send `new Pairs([])`: an empty PHP array is sent as an empty array.
 */
final class Pairs
{
    /**
     * Creates the map.
     *
     * @param list<array{mixed, mixed}> $pairs
     */
    public function __construct(public readonly array $pairs)
    {
    }
}
