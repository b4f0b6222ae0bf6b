<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Value;

/**
 * An extension whose type this package does not know; its bytes are kept and can be sent back.
 */
final class UnknownExtension implements Extension
{
    /**
     * Creates the value from an extension type (-128 to 127) and its bytes.
     */
    public function __construct(public readonly int $type, public readonly string $data)
    {
    }

    public function extensionType(): int
    {
        return $this->type;
    }

    public function extensionData(): string
    {
        return $this->data;
    }

    public function __toString(): string
    {
        return sprintf('ext(%d, 0x%s)', $this->type, bin2hex($this->data));
    }
}
