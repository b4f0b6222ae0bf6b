<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Codec;

/**
 * The fields of a space: names and types, as the server's schema gives them.
 */
final class RowFormat
{
    /** The kinds of the fields, one letter each: (u)nsigned or integer, (s)tring, (a)nything else. */
    public readonly string $shape;

    /** @var (\Closure(string, int, int, int, Decoder): list<mixed>)|null the compiled decoder of this format */
    public ?\Closure $decoder = null;

    /**
     * Creates the format.
     *
     * @param list<string> $names
     * @param list<string> $types
     */
    public function __construct(public readonly array $names, public readonly array $types)
    {
        $shape = '';
        foreach ($types as $type) {
            $shape .= match ($type) {
                'unsigned', 'integer', 'num' => 'u',
                'string', 'str' => 's',
                default => 'a',
            };
        }
        $this->shape = $shape;
    }
}
