<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Protocol;

use Phpdyno\Tarantool\Codec\Codec;
use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Codec\LazyRows;
use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Exception\ServerError;
use Phpdyno\Tarantool\SqlResult;
use Phpdyno\Tarantool\Value\ErrorStack;

/**
 * Decodes the bodies of answers.
 *
 * @internal
 */
final class AnswerReader
{
    /**
     * Creates a reader that leaves rows to a codec.
     */
    public function __construct(private readonly Codec $codec)
    {
    }

    /**
     * Decodes the body between two positions as the operation wants it.
     *
     * @throws ProtocolError if the body is malformed
     */
    public function read(Operation $operation, string $buffer, int $offset, int $end): mixed
    {
        $usual = $offset + 7 <= $end && $buffer[$offset] === "\x81" && $buffer[$offset + 1] === "\x30"
            && $buffer[$offset + 2] === "\xdd";
        if ($usual && $operation->isRows) {
            $count = self::count($buffer, $offset + 3);

            return $this->codec->decodeRows($buffer, $offset + 7, $end, $count, $operation->format);
        }
        $kind = $operation->kind;
        if ($kind === AnswerKind::Nothing) {
            return null;
        }
        if ($kind === AnswerKind::Sql) {
            return SqlResult::fromBody($this->body($buffer, $offset, $end));
        }
        if ($kind === AnswerKind::Body) {
            return $this->body($buffer, $offset, $end);
        }
        if (!$usual) {
            $data = $this->body($buffer, $offset, $end)[Iproto::KEY_DATA] ?? null;
            if (!\is_array($data) || !\array_is_list($data)) {
                throw new ProtocolError('An answer has no list of rows');
            }

            return $kind === AnswerKind::FirstRow ? $data[0] ?? null : $data;
        }
        $count = self::count($buffer, $offset + 3);
        if ($kind === AnswerKind::LazyRows) {
            return new LazyRows(\substr($buffer, $offset + 7, $end - $offset - 7), $count);
        }
        $rows = $this->codec->decodeRows($buffer, $offset + 7, $end, $count, $operation->format);

        return $kind === AnswerKind::FirstRow ? $rows[0] ?? null : $rows;
    }

    private static function count(string $buffer, int $offset): int
    {
        return $buffer[$offset + 2] === "\0" && $buffer[$offset + 1] === "\0" && $buffer[$offset] === "\0"
            ? \ord($buffer[$offset + 3])
            : \unpack('N', $buffer, $offset)[1];
    }

    /**
     * Decodes the body of an answer that is an error.
     *
     * @throws ProtocolError if the body is malformed
     */
    public function error(int $type, string $buffer, int $offset, int $end): ServerError
    {
        $body = $this->body($buffer, $offset, $end);
        $message = $body[Iproto::KEY_ERROR_MESSAGE] ?? '';
        $stack = isset($body[Iproto::KEY_ERROR_STACK])
            ? ErrorStack::fromMap($body[Iproto::KEY_ERROR_STACK])->errors
            : [];

        return new ServerError(\is_string($message) ? $message : '', $type & (Iproto::ERROR - 1), $stack);
    }

    /**
     * Decodes a body, or no body at all, as a map.
     *
     * @return array<array-key, mixed>
     * @throws ProtocolError if it is no map
     */
    public function body(string $buffer, int $offset, int $end): array
    {
        if ($offset === $end) {
            return [];
        }
        $decoder = new Decoder($buffer, $offset, $end);
        $body = $decoder->value();
        if (!\is_array($body) || $decoder->offset() !== $end || (\ord($buffer[$offset]) & 0xf0) === 0x90) {
            throw new ProtocolError('The body of a frame is no map');
        }

        return $body;
    }
}
