<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Bridge\TarantoolPhp;

use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Codec\PureCodec;
use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Protocol\Iproto;
use Tarantool\Client\Packer\Packer;
use Tarantool\Client\Request\Request;
use Tarantool\Client\Response;

/**
 * A packer for tarantool-php/client with the codec of this package.
 *
 * Extension types are the value objects of this package, not Decimal\Decimal or Symfony's Uuid.
 */
final class CodecPacker implements Packer
{
    private readonly PureCodec $codec;

    /**
     * Creates the packer.
     */
    public function __construct()
    {
        $this->codec = new PureCodec();
    }

    public function pack(Request $request, int $sync): string
    {
        $rest = "\x82\x00" . Encoder::integer($request->getType()) . "\x01" . Encoder::integer($sync)
            . Encoder::map($request->getBody());

        return "\xce" . \pack('N', \strlen($rest)) . $rest;
    }

    public function unpack(string $packet): Response
    {
        if (
            \strlen($packet) >= 30 && $packet[0] === "\x83" && $packet[1] === "\0" && $packet[2] === "\xce"
            && $packet[7] === "\x01" && $packet[8] === "\xcf" && $packet[17] === "\x05" && $packet[18] === "\xce"
            && $packet[23] === "\x81" && $packet[24] === "\x30" && $packet[25] === "\xdd"
        ) {
            $h = \unpack('Ntype/x2/Jsync/x2/Nversion/x3/Nrows', $packet, 3);
            $rows = $this->codec->decodeRows($packet, 30, \strlen($packet), $h['rows'], null);

            return new Response(
                [
                    Iproto::KEY_TYPE => $h['type'],
                    Iproto::KEY_SYNC => $h['sync'],
                    Iproto::KEY_SCHEMA_VERSION => $h['version'],
                ],
                [Iproto::KEY_DATA => $rows],
            );
        }
        $decoder = new Decoder($packet);
        $header = $decoder->value();
        $body = $decoder->offset() < \strlen($packet) ? $decoder->value() : [];
        if (!\is_array($header) || !\is_array($body)) {
            throw new ProtocolError('An answer has no header or no body');
        }

        return new Response($header, $body);
    }
}
