<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Bridge\TarantoolPhp;

use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Exception\ProtocolError;
use Tarantool\Client\Packer\Packer;
use Tarantool\Client\Request\Request;
use Tarantool\Client\Response;

/**
 * A packer for tarantool-php/client with the codec of this package, which is faster than its own.
 *
 * Extension types are the value objects of this package, not Decimal\Decimal or Symfony's Uuid.
 */
final class CodecPacker implements Packer
{
    public function pack(Request $request, int $sync): string
    {
        $rest = "\x82\x00" . Encoder::integer($request->getType()) . "\x01" . Encoder::integer($sync)
            . Encoder::map($request->getBody());

        return "\xce" . \pack('N', \strlen($rest)) . $rest;
    }

    public function unpack(string $packet): Response
    {
        $decoder = new Decoder($packet);
        $header = $decoder->value();
        $body = $decoder->offset() < \strlen($packet) ? $decoder->value() : [];
        if (!\is_array($header) || !\is_array($body)) {
            throw new ProtocolError('An answer has no header or no body');
        }

        return new Response($header, $body);
    }
}
