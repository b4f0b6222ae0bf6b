<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool;

use Phpdyno\Tarantool\Codec\Codec;
use Phpdyno\Tarantool\Codec\PureCodec;
use Psr\Log\LoggerInterface;

/**
 * Where to connect to, as whom, and within which limits.
 */
final class Options
{
    /**
     * Creates options.
     *
     * @param string $uri "tcp://host:port" or "unix:///path"; a host name is resolved by PHP, which blocks
     * @param string|null $user null means guest
     * @param float $connectTimeout seconds for connect, greeting and authentication together
     * @param float $requestTimeout seconds from the write of a request to its answer
     * @param int $reconnect how often connecting is tried again; 0 means a lost connection stays lost until connect()
     * @param LoggerInterface|null $logger told about connects, losses and ignored answers
     * @param bool $tcpNoDelay send small writes at once (TCP only)
     * @param int $maxAnswer bytes; a longer answer is a ProtocolError
     * @param string|null $codeCache a private directory for generated row decoders; null means the generic decoder
     * @param (\Closure(mixed, int): void)|null $onPush called with data and sync of each
     *     box.session.push() message; what it throws is logged
     * @throws \InvalidArgumentException if an option is out of its range
     */
    public function __construct(
        public readonly string $uri = 'tcp://127.0.0.1:3301',
        public readonly ?string $user = null,
        #[\SensitiveParameter] private readonly string $password = '',
        public readonly float $connectTimeout = 5.0,
        public readonly float $requestTimeout = 5.0,
        public readonly int $reconnect = 2,
        public readonly ?LoggerInterface $logger = null,
        public readonly bool $tcpNoDelay = true,
        public readonly Codec $codec = new PureCodec(),
        public readonly int $maxAnswer = 0x10000000,
        public readonly ?string $codeCache = null,
        public readonly ?\Closure $onPush = null,
    ) {
        if (!preg_match('~^(tcp://.+:\d+|unix://.+)$~Ds', $uri)) {
            throw new \InvalidArgumentException(sprintf(
                'The URI "%s" has neither the form tcp://host:port nor unix:///path',
                $uri,
            ));
        }
        if ($connectTimeout <= 0 || $requestTimeout <= 0 || $reconnect < 0 || $maxAnswer < 1) {
            throw new \InvalidArgumentException('Time-outs and maxAnswer must be positive, reconnect not negative');
        }
    }

    /**
     * Returns the password.
     */
    public function password(): string
    {
        return $this->password;
    }

    /**
     * Writes a line to the log, if there is one.
     *
     * @internal
     */
    public function log(string $level, string $message, string $reason = ''): void
    {
        $this->logger?->log($level, $message, ['uri' => $this->uri, 'reason' => $reason]);
    }

    /**
     * Returns what var_dump() shows: everything but the password.
     *
     * @return array<string, mixed>
     */
    public function __debugInfo(): array
    {
        return ['password' => '***'] + get_object_vars($this);
    }
}
