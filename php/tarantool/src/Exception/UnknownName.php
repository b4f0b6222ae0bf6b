<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Exception;

/**
 * The server has no space or index of this name, or the user may not see it.
 */
final class UnknownName extends \RuntimeException implements TarantoolException
{
    /**
     * Creates the exception for a space.
     */
    public static function space(string $name): self
    {
        return new self(sprintf('Unknown space "%s": it does not exist, or this user may not see it', $name));
    }

    /**
     * Creates the exception for an index of a space.
     */
    public static function index(string $name, string|int $space): self
    {
        return new self(sprintf('Unknown index "%s" of space "%s"', $name, $space));
    }
}
