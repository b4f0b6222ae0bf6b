<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Value;

/**
 * One error of the server's error stack.
 */
final class ErrorInfo implements \Stringable
{
    /**
     * Creates the value.
     *
     * @param array<array-key, mixed> $fields further fields of the error, like custom_type
     */
    public function __construct(
        public readonly string $type,
        public readonly string $message,
        public readonly int $code,
        public readonly int $errno = 0,
        public readonly string $file = '',
        public readonly int $line = 0,
        public readonly array $fields = [],
    ) {
    }

    public function __toString(): string
    {
        return sprintf('%s %d: %s', $this->type, $this->code, $this->message);
    }
}
