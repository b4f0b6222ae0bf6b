<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Bridge\TarantoolPhp;

use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Protocol\Iproto;

/**
 * A request frame that another client packed, and the answer that goes back to it.
 *
 * @internal
 */
final class Frame
{
    private function __construct(
        public readonly string $bytes,
        public readonly int $type,
        public readonly int $sync,
        private readonly int $body,
    ) {
    }

    /**
     * Parses a frame with a length of five bytes.
     *
     * @throws ProtocolError if it is none
     */
    public static function parse(string $bytes): self
    {
        if (
            \strlen($bytes) > 14 && $bytes[5] === "\x82" && $bytes[6] === "\x00" && \ord($bytes[7]) < 0x80
            && $bytes[8] === "\x01" && $bytes[9] === "\xce"
        ) {
            return new self($bytes, \ord($bytes[7]), \unpack('N', $bytes, 10)[1], 14);
        }
        $decoder = new Decoder($bytes, 5);
        $header = $decoder->value();
        $type = \is_array($header) ? $header[Iproto::KEY_TYPE] ?? null : null;
        $sync = \is_array($header) ? $header[Iproto::KEY_SYNC] ?? null : null;
        if (!\is_int($type) || !\is_int($sync)) {
            throw new ProtocolError('A request frame has no type or no sync');
        }

        return new self($bytes, $type, $sync, $decoder->offset());
    }

    /**
     * Returns the value of a key of the body, null if it has none.
     */
    public function field(int $key): mixed
    {
        $body = (new Decoder($this->bytes, $this->body))->value();

        return \is_array($body) ? $body[$key] ?? null : null;
    }

    /**
     * Returns the frame with another sync.
     */
    public function withSync(int $sync): string
    {
        $rest = "\x82\x00" . Encoder::integer($this->type) . "\x01" . Encoder::integer($sync)
            . \substr($this->bytes, $this->body);

        return "\xce" . \pack('N', \strlen($rest)) . $rest;
    }

    /**
     * Returns an answer, header and body, with the sync of this frame.
     */
    public function answer(string $answer): string
    {
        if (\substr($answer, 7, 2) === "\x01\xcf" && \substr($answer, 0, 3) === "\x83\x00\xce") {
            return \substr_replace($answer, \pack('J', $this->sync), 9, 8);
        }
        $decoder = new Decoder($answer);
        $header = $decoder->value();
        $header[Iproto::KEY_SYNC] = $this->sync;

        return Encoder::map($header) . \substr($answer, $decoder->offset());
    }

    /**
     * Returns an answer without content, as the server gives for a success.
     */
    public function success(int $schemaVersion): string
    {
        return Encoder::map([
            Iproto::KEY_TYPE => Iproto::OK,
            Iproto::KEY_SYNC => $this->sync,
            Iproto::KEY_SCHEMA_VERSION => $schemaVersion,
        ]) . "\x80";
    }
}
