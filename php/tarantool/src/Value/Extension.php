<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Value;

/**
 * A value that travels as a MessagePack extension.
 */
interface Extension extends \Stringable
{
    /**
     * Returns the extension type, -128 to 127.
     */
    public function extensionType(): int;

    /**
     * Returns the bytes after the extension header.
     */
    public function extensionData(): string;
}
