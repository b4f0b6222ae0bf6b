<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Property;

use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Codec\ExtensionCodec;
use Phpdyno\Tarantool\Codec\PureCodec;
use Phpdyno\Tarantool\Tests\Support\TestCase;
use Phpdyno\Tarantool\Tests\Support\Values;

final class RoundTripTest extends TestCase
{
    public function testValuesComeBack(): void
    {
        $values = new Values(20261125);
        $codecs = [new PureCodec()];
        if (extension_loaded('msgpack')) {
            $codecs[] = new ExtensionCodec();
        }
        for ($i = 0; $i < 400; ++$i) {
            $row = [$values->any(), $values->any()];
            $bytes = Encoder::list($row);
            $decoder = new Decoder($bytes);
            self::assertEquals($row, $decoder->value());
            self::assertSame(strlen($bytes), $decoder->offset());
            foreach ($codecs as $codec) {
                self::assertSame($bytes, $codec->encodeList($row));
                self::assertEquals([$row, $row], $codec->decodeRows($bytes . $bytes, 0, 2 * strlen($bytes), 2, null));
            }
        }
    }

    public function testIntegersHaveTheFormOfTheServer(): void
    {
        $client = self::client();
        $values = new Values(7);
        $numbers = [PHP_INT_MAX, PHP_INT_MIN];
        foreach ([7, 8, 15, 16, 31, 32] as $bits) {
            for ($i = -2; $i <= 2; ++$i) {
                $numbers[] = (1 << $bits) + $i;
                $numbers[] = -(1 << $bits) + $i;
            }
        }
        for ($i = 0; $i < 300; ++$i) {
            $numbers[] = $values->integer();
        }
        $code = 'local m = require("msgpack") local r = {} for i, n in ipairs(...) do r[i] = m.encode(n) end return r';
        $encoded = $client->eval($code, $numbers)[0];
        foreach ($numbers as $i => $number) {
            self::assertSame(bin2hex($encoded[$i]), bin2hex(Encoder::value($number)), (string) $number);
            self::assertSame(bin2hex("\x91" . $encoded[$i]), bin2hex((new PureCodec())->encodeList([$number])));
        }
    }

    public function testNoKeyIsMissedAndNoneIsDoubled(): void
    {
        $client = self::client();
        $client->eval('box.space.anything:truncate()');
        $keys = [0, 5, 127, 128, 255, 256, 65535, 65536, 0xffffffff, 0x100000000, PHP_INT_MAX, -1, -33, -200];
        foreach ($keys as $key) {
            $client->eval('box.space.anything:replace{(...), "lua"}', $key);
            self::assertSame([[$key, 'lua']], $client->select('anything', [$key]), (string) $key);
            $client->replace('anything', [$key, 'php']);
            self::assertSame([[$key, 'php']], $client->eval('return box.space.anything:get((...))', $key));
        }
        self::assertSame([count($keys)], $client->eval('return box.space.anything:count()'));
    }
}
