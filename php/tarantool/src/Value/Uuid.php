<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Value;

use Phpdyno\Tarantool\Exception\ProtocolError;

/**
 * A UUID.
 */
final class Uuid implements Extension
{
    public const TYPE = 2;

    private function __construct(private readonly string $bytes)
    {
    }

    /**
     * Creates a UUID from its usual form, like "64d22e4d-ac92-4a23-899a-e59f34af5479".
     *
     * @throws \InvalidArgumentException if the string is no UUID
     */
    public static function fromString(string $uuid): self
    {
        if (!preg_match('/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/Di', $uuid)) {
            throw new \InvalidArgumentException(sprintf('"%s" is no UUID', $uuid));
        }

        return new self((string) hex2bin(str_replace('-', '', $uuid)));
    }

    /**
     * Creates a UUID from its 16 bytes.
     *
     * @throws ProtocolError if there are not 16 bytes
     */
    public static function fromData(string $bytes): self
    {
        if (strlen($bytes) !== 16) {
            throw new ProtocolError('Malformed uuid: it must have 16 bytes');
        }

        return new self($bytes);
    }

    public function extensionType(): int
    {
        return self::TYPE;
    }

    public function extensionData(): string
    {
        return $this->bytes;
    }

    public function __toString(): string
    {
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($this->bytes), 4));
    }
}
