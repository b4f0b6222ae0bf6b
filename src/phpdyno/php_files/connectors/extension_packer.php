<?php
// A packer for tarantool-php/client by the msgpack extension, as releases of it up to 0.9 had one.
declare(strict_types=1);

namespace Phpdyno\Connectors;

use Tarantool\Client\Keys;
use Tarantool\Client\Packer\Packer;
use Tarantool\Client\Request\Request;
use Tarantool\Client\Response;

final class ExtensionPacker implements Packer
{
    private readonly \MessagePack $packer;
    private readonly \MessagePackUnpacker $unpacker;

    public function __construct()
    {
        $this->packer = new \MessagePack(false);
        $this->unpacker = new \MessagePackUnpacker(false);
    }

    public function pack(Request $request, int $sync): string
    {
        // An array whose keys are 0 and 1, or an empty one, would be packed as a list.
        $body = $request->getBody();
        $packet = \pack('C*', 0x82, Keys::CODE, $request->getType(), Keys::SYNC) . $this->packer->pack($sync)
            . ($body === [] ? "\x80" : $this->packer->pack($body));
        return "\xce" . \pack('N', \strlen($packet)) . $packet;
    }

    public function unpack(string $packet): Response
    {
        $this->unpacker->feed($packet);
        $this->unpacker->execute();
        $header = $this->unpacker->data();
        $this->unpacker->reset();
        $body = $this->unpacker->execute() ? $this->unpacker->data() : [];
        $this->unpacker->reset();
        return new Response($header, $body);
    }
}
