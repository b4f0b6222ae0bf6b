<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Protocol;

use Phpdyno\Tarantool\Exception\ProtocolError;

/**
 * The 128 bytes that a server sends first.
 */
final class Greeting
{
    public const SIZE = 128;

    private function __construct(public readonly string $bytes, public readonly string $salt)
    {
    }

    /**
     * Parses a greeting.
     *
     * @throws ProtocolError if it is no greeting of Tarantool's binary protocol
     */
    public static function parse(string $bytes): self
    {
        $salt = base64_decode(substr($bytes, 64, 44), true);
        if (
            strlen($bytes) !== self::SIZE || !preg_match('/^Tarantool \S+ \(Binary\)/', $bytes)
            || $salt === false || strlen($salt) < 20
        ) {
            throw new ProtocolError('The peer did not greet like a Tarantool server (binary protocol)');
        }

        return new self($bytes, substr($salt, 0, 20));
    }

    /**
     * Returns the scramble that proves knowledge of the password (chap-sha1), 20 bytes.
     */
    public function scramble(#[\SensitiveParameter] string $password): string
    {
        $hash = sha1($password, true);

        return $hash ^ sha1($this->salt . sha1($hash, true), true);
    }
}
