<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Transport;

use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Exception\ServerError;
use Phpdyno\Tarantool\Options;
use Phpdyno\Tarantool\Protocol\AnswerKind;
use Phpdyno\Tarantool\Protocol\AnswerReader;
use Phpdyno\Tarantool\Protocol\Header;
use Phpdyno\Tarantool\Protocol\Iproto;
use Phpdyno\Tarantool\Request;

/**
 * The bytes that a connection received and did not use yet; finds frames in them and settles their requests.
 *
 * Frames are not cut out of the buffer. Settling resumes Fibers, which may submit further requests, read the
 * same connection, or close it: then $turns changes, and the loop starts over from what is left.
 *
 * @internal
 */
final class Inbox
{
    /** Eight bytes of the usual header, 83 00 ce <type: 4 bytes> 01, with type 0, as an int. */
    private const USUAL = -0x7cff31ffffffffff;

    /** The schema version in the latest answer; 0 before the first. */
    public int $schemaVersion = 0;

    private string $buffer = '';
    private int $offset = 0;
    private int $turns = 0;
    private readonly int $limit;

    /**
     * Creates the inbox of a connection.
     */
    public function __construct(
        private readonly Options $options,
        private readonly Outbox $outbox,
        private readonly AnswerReader $reader,
    ) {
        $this->limit = $options->maxAnswer;
    }

    /**
     * Adds received bytes.
     */
    public function append(string $chunk): void
    {
        ++$this->turns;
        if ($this->offset === \strlen($this->buffer)) {
            $this->buffer = $chunk;
            $this->offset = 0;
        } elseif ($this->offset === 0) {
            $this->buffer .= $chunk;
        } else {
            $this->buffer = \substr($this->buffer, $this->offset) . $chunk;
            $this->offset = 0;
        }
    }

    /**
     * Takes so many bytes, null if there are fewer.
     */
    public function take(int $length): ?string
    {
        if (\strlen($this->buffer) - $this->offset < $length) {
            return null;
        }
        $this->offset += $length;

        return \substr($this->buffer, $this->offset - $length, $length);
    }

    /**
     * Forgets all bytes.
     */
    public function clear(): void
    {
        ++$this->turns;
        $this->buffer = '';
        $this->offset = 0;
    }

    /**
     * Settles the requests that the complete frames in the buffer answer.
     *
     * @throws ProtocolError if the peer sent what it may not send
     * @throws ServerError   if the server says that it did not understand what was sent to it
     */
    public function dispatch(): void
    {
        do {
            $turns = $this->turns;
            $this->frames($this->buffer, $turns);
        } while ($turns !== $this->turns);
    }

    private function frames(string $buffer, int $turns): void
    {
        $offset = $this->offset;
        $size = \strlen($buffer);
        $outbox = $this->outbox;
        while ($offset + 28 <= $size) {
            $h = \unpack('Nl/Ja/x/Js/x2/Nv', $buffer, $offset + 1);
            if (
                $h['a'] !== self::USUAL || $buffer[$offset] !== "\xce" || $buffer[$offset + 13] !== "\xcf"
                || $buffer[$offset + 22] !== "\x05" || $buffer[$offset + 23] !== "\xce"
            ) {
                break;
            }
            $end = $offset + 5 + $h['l'];
            $sync = $h['s'];
            $request = $outbox->outstanding[$sync] ?? null;
            if ($end > $size || $request === null) {
                break;
            }
            $this->schemaVersion = $h['v'];
            $this->offset = $end;
            unset($outbox->outstanding[$sync]);
            $this->answer($request, $buffer, $offset + 5, $offset + 28, $end);
            if ($turns !== $this->turns) {
                return;
            }
            $offset = $end;
        }
        $this->unusual($buffer);
    }

    /**
     * Handles the next frame without assumptions about its shape; changes $turns if there was one.
     */
    private function unusual(string $buffer): void
    {
        $offset = $this->offset;
        $header = Header::parse($buffer, $offset, $this->limit);
        if ($header === null) {
            return;
        }
        ++$this->turns;
        $this->offset = $header->end;
        $sync = $header->sync;
        if ($header->schemaVersion !== null) {
            $this->schemaVersion = $header->schemaVersion;
        }
        if ($sync === 0 && $header->type >= Iproto::ERROR) {
            throw $this->reader->error($header->type, $buffer, $header->body, $header->end);
        }
        if ($header->type === Iproto::PUSH) {
            $this->push($sync, $buffer, $header);

            return;
        }
        if (isset($this->outbox->abandoned[$sync])) {
            unset($this->outbox->abandoned[$sync]);
            $this->options->log('debug', 'Answer to a request that had timed out ignored');

            return;
        }
        $request = $this->outbox->outstanding[$sync] ?? null;
        if ($request === null) {
            throw new ProtocolError(\sprintf('The peer answered the sync %d, which no request has', $sync));
        }
        if ($header->type !== Iproto::OK && $header->type < Iproto::ERROR) {
            throw new ProtocolError(\sprintf('The peer sent a frame of the unknown type %d', $header->type));
        }
        unset($this->outbox->outstanding[$sync]);
        if ($header->type === Iproto::OK || $request->operation->kind === AnswerKind::Raw) {
            $this->answer($request, $buffer, $header->start, $header->body, $header->end);
        } else {
            try {
                $request->error = $this->reader->error($header->type, $buffer, $header->body, $header->end);
            } catch (ProtocolError $error) {
                $request->error = $error;
            }
            $request->settle();
        }
    }

    private function answer(Request $request, string $buffer, int $start, int $body, int $end): void
    {
        try {
            $operation = $request->operation;
            $request->value = !$operation->isRows && $operation->kind === AnswerKind::Raw
                ? \substr($buffer, $start, $end - $start)
                : $this->reader->read($operation, $buffer, $body, $end);
        } catch (ProtocolError $error) {
            $request->error = $error;
        }
        // What Request::settle() does, without its calls.
        $request->done = true;
        $fiber = $request->fiber;
        $group = $request->group;
        if ($fiber !== null) {
            $request->fiber = null;
            $fiber->resume();
        } elseif ($group !== null) {
            $request->group = null;
            $group->leave();
        } else {
            $request->settle();
        }
    }

    private function push(int $sync, string $buffer, Header $header): void
    {
        $listener = $this->options->onPush;
        if ($listener === null) {
            $this->options->log('debug', 'Push message ignored: there is no onPush');

            return;
        }
        $body = $this->reader->body($buffer, $header->body, $header->end);
        try {
            $listener($body[Iproto::KEY_DATA] ?? null, $sync);
        } catch (\Throwable $error) {
            $this->options->log('error', 'onPush threw: {reason}', $error->getMessage());
        }
    }
}
