<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Fake;

use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Codec\Encoder;

/**
 * The server's side of one connection of a FakeServer.
 */
final class FakePeer
{
    private string $buffer = '';

    /** @param resource $stream */
    public function __construct(private $stream)
    {
        stream_set_timeout($stream, 20);
    }

    /** Sends the greeting. */
    public function greet(): self
    {
        $salt = base64_encode(str_repeat('s', 32));

        return $this->raw(str_pad('Tarantool 2.6.0 (Binary) fake', 63) . "\n" . str_pad($salt, 63) . "\n");
    }

    /**
     * Reads a request.
     *
     * @return array{type: int, sync: int, body: mixed}|null null when the client has closed
     */
    public function read(): ?array
    {
        while (strlen($this->buffer) < 5 || strlen($this->buffer) < 5 + unpack('N', $this->buffer, 1)[1]) {
            $chunk = fread($this->stream, 65536);
            if ($chunk === '' || $chunk === false) {
                return null;
            }
            $this->buffer .= $chunk;
        }
        $length = 5 + unpack('N', $this->buffer, 1)[1];
        $decoder = new Decoder($this->buffer, 5, $length);
        $header = $decoder->value();
        $body = $decoder->value();
        $this->buffer = substr($this->buffer, $length);

        return ['type' => $header[0], 'sync' => $header[1], 'body' => $body];
    }

    /** Sends bytes. */
    public function raw(string $bytes): self
    {
        while ($bytes !== '' && ($count = @fwrite($this->stream, $bytes)) > 0) {
            $bytes = substr($bytes, $count);
        }

        return $this;
    }

    /** Sends a frame of the usual shape with an encoded body. */
    public function frame(int $sync, string $body, int $type = 0, int $version = 80): self
    {
        return $this->raw("\xce" . pack('N', 23 + strlen($body)) . "\x83\x00\xce" . pack('N', $type)
            . "\x01\xcf" . pack('J', $sync) . "\x05\xce" . pack('N', $version) . $body);
    }

    /** Answers with rows. */
    public function rows(int $sync, mixed ...$rows): self
    {
        $body = "\x81\x30\xdd" . pack('N', count($rows));
        foreach ($rows as $row) {
            $body .= Encoder::value($row);
        }

        return $this->frame($sync, $body);
    }

    /** Answers with an error. */
    public function error(int $sync, int $code, string $message): self
    {
        return $this->frame($sync, Encoder::map([0x31 => $message]), 0x8000 | $code);
    }
}
