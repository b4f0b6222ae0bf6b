<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Bridge\TarantoolPhp;

use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Exception\ConnectionFailed;
use Phpdyno\Tarantool\Exception\TarantoolException;
use Phpdyno\Tarantool\Exception\UserConflict;
use Phpdyno\Tarantool\Executor;
use Phpdyno\Tarantool\Protocol\AnswerKind;
use Phpdyno\Tarantool\Protocol\Iproto;
use Phpdyno\Tarantool\Protocol\Operation;
use Phpdyno\Tarantool\Request;
use Phpdyno\Tarantool\Statements;
use Phpdyno\Tarantool\Transport\Connection as Socket;
use Phpdyno\Tarantool\Transport\DefaultWaiter;
use Phpdyno\Tarantool\Transport\Waiter;
use Tarantool\Client\Connection\Connection;
use Tarantool\Client\Connection\Greeting;
use Tarantool\Client\Exception\CommunicationFailed;
use Tarantool\Client\Exception\ConnectionFailed as ClientConnectionFailed;

/**
 * A connection for tarantool-php/client over a socket that any number of such clients share, each in its Fiber.
 *
 * Give each client a facade of its own: close() closes the facade, not the socket.
 */
final class MultiplexedConnection implements Connection
{
    private readonly Executor $executor;
    private readonly SocketUser $socketUser;
    private readonly Statements $statements;
    private readonly Operation $raw;
    private ?Greeting $greeting = null;

    /** The session that the facade has open. */
    private int $epoch = 0;

    /** The user that the client authenticated as, and the session in which it did. */
    private ?string $user = null;
    private int $userEpoch = 0;

    /**
     * Creates a facade of a socket.
     */
    public function __construct(private readonly Socket $socket, Waiter $waiter = new DefaultWaiter())
    {
        $this->executor = new Executor($socket, $waiter);
        $this->socketUser = SocketUser::of($socket);
        $this->statements = Statements::of($socket);
        $this->raw = new Operation(0, AnswerKind::Raw);
    }

    public function open(): Greeting
    {
        if ($this->greeting !== null && $this->epoch === $this->socket->epoch && $this->socket->isReady()) {
            return $this->greeting;
        }
        try {
            if (!$this->socket->isReady()) {
                $this->socket->connect();
                $this->executor->run(new Request(new Operation(Iproto::PING, AnswerKind::Nothing, true), "\x80"));
            }
        } catch (ConnectionFailed $error) {
            throw new ClientConnectionFailed($error->getMessage(), 0, $error);
        } catch (TarantoolException $error) {
            throw new CommunicationFailed($error->getMessage(), 0, $error);
        }
        $this->epoch = $this->socket->epoch;

        return $this->greeting = Greeting::parse($this->socket->greeting()?->bytes ?? '');
    }

    public function close(): void
    {
        $this->greeting = null;
    }

    public function isClosed(): bool
    {
        return $this->greeting === null;
    }

    /**
     * Sends a packed request and returns its packed answer, without the length.
     *
     * @throws CommunicationFailed if there is no answer; the previous exception tells whether the request was sent
     * @throws UserConflict if the socket is another user's
     */
    public function send(string $data): string
    {
        if ($this->greeting === null || $this->epoch !== $this->socket->epoch || !$this->socket->isReady()) {
            throw new CommunicationFailed('Error writing request: connection closed');
        }
        try {
            $frame = Frame::parse($data);
            if ($frame->type === Iproto::AUTH) {
                return $this->authenticate($frame);
            }
            if ($this->user !== null && $this->userEpoch !== $this->epoch) {
                throw new CommunicationFailed('Error writing request: the session is new and not authenticated yet');
            }
            $this->socketUser->claim($this->socket, $this->user);

            return $frame->type === Iproto::PREPARE ? $this->prepare($frame) : $this->exchange($frame);
        } catch (UserConflict $error) {
            throw $error;
        } catch (TarantoolException $error) {
            throw new CommunicationFailed($error->getMessage(), 0, $error);
        }
    }

    private function exchange(Frame $frame): string
    {
        $sync = $this->socket->outbox->reserve($frame->sync);
        $request = new Request($this->raw, $sync === $frame->sync ? $frame->bytes : $frame->withSync($sync));
        $this->socket->outbox->addFrame($request, $sync);
        $this->socket->flushEarly();
        $this->executor->waiter->wait($this->socket, $request);
        $answer = $request->get();

        return $sync === $frame->sync ? $answer : $frame->answer($answer);
    }

    private function authenticate(Frame $frame): string
    {
        $user = $frame->field(Iproto::KEY_USER);
        $this->socketUser->claim($this->socket, \is_string($user) ? $user : null);
        $answer = $this->exchange($frame);
        if (self::succeeded($answer)) {
            $this->user = $user;
            $this->userEpoch = $this->epoch;
        }

        return $answer;
    }

    private function prepare(Frame $frame): string
    {
        $sql = $frame->field(Iproto::KEY_SQL_TEXT);
        if (!\is_string($sql)) {
            $id = $frame->field(Iproto::KEY_STATEMENT);

            return \is_int($id) && !$this->statements->releaseId($id)
                ? $frame->success($this->socket->inbox->schemaVersion)
                : $this->exchange($frame);
        }
        $this->statements->acquire($sql);
        $prepared = false;
        try {
            $answer = $this->exchange($frame);
            $prepared = self::succeeded($answer);
        } finally {
            if (!$prepared) {
                $this->statements->release($sql);
            }
        }
        if ($prepared) {
            $this->statements->name($sql, self::statementId($answer));
        }

        return $answer;
    }

    private static function succeeded(string $answer): bool
    {
        return ((new Decoder($answer))->value()[Iproto::KEY_TYPE] ?? null) === Iproto::OK;
    }

    private static function statementId(string $answer): int
    {
        $decoder = new Decoder($answer);
        $decoder->value();

        return (int) ($decoder->value()[Iproto::KEY_STATEMENT] ?? 0);
    }
}
