<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Value;

/**
 * An unsigned integer from 2^63 to 2^64 - 1, which does not fit PHP's int.
 */
final class UnsignedInteger implements \Stringable
{
    private function __construct(private readonly int $bits)
    {
    }

    /**
     * Creates the value from its 64 bits, read as a (negative) PHP int.
     *
     * @throws \InvalidArgumentException if the value fits PHP's int
     */
    public static function fromBits(int $bits): self
    {
        if ($bits >= 0) {
            throw new \InvalidArgumentException('This value fits an int');
        }

        return new self($bits);
    }

    /**
     * Returns the 64 bits as a (negative) PHP int.
     */
    public function bits(): int
    {
        return $this->bits;
    }

    public function __toString(): string
    {
        return sprintf('%u', $this->bits);
    }
}
