<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Bridge\TarantoolPhp;

use Phpdyno\Tarantool\Exception\UserConflict;
use Phpdyno\Tarantool\Transport\Connection;

/**
 * The one user of a shared socket: the first that sends a request decides, for as long as the session lasts.
 *
 * @internal
 */
final class SocketUser
{
    private const GUEST = 'guest';

    /** @var \WeakMap<Connection, self> */
    private static ?\WeakMap $all = null;

    private int $epoch = 0;
    private ?string $user = null;

    /**
     * Returns the user of a connection.
     */
    public static function of(Connection $connection): self
    {
        self::$all ??= new \WeakMap();

        return self::$all[$connection] ??= new self();
    }

    /**
     * Notes that a facade acts as a user (null: it did not authenticate).
     *
     * @throws UserConflict if the session is another user's
     */
    public function claim(Connection $connection, ?string $user): void
    {
        if ($this->epoch !== $connection->epoch) {
            $this->epoch = $connection->epoch;
            $this->user = $connection->options->user;
        }
        $wanted = $user ?? $connection->options->user ?? self::GUEST;
        $this->user ??= $wanted;
        if ($this->user !== $wanted) {
            throw new UserConflict(\sprintf(
                'The socket is used by "%s": "%s" needs a connection of its own',
                $this->user,
                $wanted,
            ));
        }
    }
}
