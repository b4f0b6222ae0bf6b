<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Transport;

use Phpdyno\Tarantool\Codec\Codec;
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

    /** The usual header up to the lower half of sync, which no request of ours fills. */
    private const HEADER_START = "\x83\0\xce\0\0\0\0\x01\xcf\0\0\0\0";

    /** Length and header of the usual frame, and the body of an answer that is one row. */
    private const SHORTEST = 36;

    /** The schema version in the latest answer; 0 before the first. */
    public int $schemaVersion = 0;

    /** The end of the usual header, and the body up to its rows if it has one row. */
    private string $oneRow = '';

    private string $buffer = '';
    private int $offset = 0;
    private int $turns = 0;
    private readonly int $limit;
    private readonly Codec $codec;

    /**
     * Creates the inbox of a connection.
     */
    public function __construct(
        private readonly Options $options,
        private readonly Outbox $outbox,
        private readonly AnswerReader $reader,
    ) {
        $this->limit = $options->maxAnswer;
        $this->codec = $options->codec;
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
        $last = \strlen($buffer) - self::SHORTEST;
        $outbox = $this->outbox;
        $codec = $this->codec;
        while ($offset <= $last) {
            $isOneRow = \substr_compare($buffer, self::HEADER_START, $offset + 5, 13) === 0
                && \substr_compare($buffer, $this->oneRow, $offset + 22, 13) === 0
                && $buffer[$offset] === "\xce" && $buffer[$offset + 1] === "\0" && $buffer[$offset + 2] === "\0";
            if ($isOneRow) {
                $end = $offset + 5 + ((\ord($buffer[$offset + 3]) << 8) | \ord($buffer[$offset + 4]));
                $sync = \unpack('N', $buffer, $offset + 18)[1];
            } else {
                $h = \unpack('Nl/Ja/x/Js/x/x/Nv', $buffer, $offset + 1);
                if (
                    $h['a'] !== self::USUAL || $buffer[$offset] !== "\xce" || $buffer[$offset + 13] !== "\xcf"
                    || $buffer[$offset + 22] !== "\x05" || $buffer[$offset + 23] !== "\xce"
                ) {
                    break;
                }
                $end = $offset + 5 + $h['l'];
                $sync = $h['s'];
                if ($h['v'] !== $this->schemaVersion) {
                    $this->setSchemaVersion($h['v']);
                }
            }
            $request = $outbox->outstanding[$sync] ?? null;
            if ($end > $last + self::SHORTEST || $request === null) {
                break;
            }
            unset($outbox->outstanding[$sync]);
            $this->offset = $end;
            $operation = $request->operation;
            if ($isOneRow && $operation->hasRows) {
                try {
                    $rows = $codec->decodeRows($buffer, $offset + 35, $end, 1, $operation->format);
                    $request->value = $operation->isRows ? $rows : $rows[0];
                } catch (ProtocolError $error) {
                    $request->error = $error;
                }
            } else {
                $this->read($request, $buffer, $offset + 5, $offset + 28, $end);
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
                if (--$group->remaining === 0) {
                    $group->settle();
                }
            } else {
                $request->settle();
            }
            if ($turns !== $this->turns) {
                return;
            }
            $offset = $end;
        }
        if ($offset < $last + self::SHORTEST) {
            $this->unusual($buffer);
        }
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
            $this->setSchemaVersion($header->schemaVersion);
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
            $this->read($request, $buffer, $header->start, $header->body, $header->end);
        } else {
            try {
                $request->error = $this->reader->error($header->type, $buffer, $header->body, $header->end);
            } catch (ProtocolError $error) {
                $request->error = $error;
            }
        }
        $request->settle();
    }

    private function read(Request $request, string $buffer, int $start, int $body, int $end): void
    {
        $operation = $request->operation;
        try {
            $request->value = !$operation->hasRows && $operation->kind === AnswerKind::Raw
                ? \substr($buffer, $start, $end - $start)
                : $this->reader->read($operation, $buffer, $body, $end);
        } catch (ProtocolError $error) {
            $request->error = $error;
        }
    }

    private function setSchemaVersion(int $version): void
    {
        $this->schemaVersion = $version;
        $this->oneRow = $version <= 0xffffffff ? "\x05\xce" . \pack('N', $version) . "\x81\x30\xdd\0\0\0\x01" : '';
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
