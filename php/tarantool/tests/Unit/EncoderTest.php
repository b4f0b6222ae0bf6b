<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Unit;

use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Exception\EncodingFailed;
use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Tests\Support\TestCase;
use Phpdyno\Tarantool\Value;

final class EncoderTest extends TestCase
{
    /** @return iterable<array{mixed, string}> */
    public function values(): iterable
    {
        foreach (
            [
                [0, '00'], [127, '7f'], [128, 'cc80'], [255, 'ccff'], [256, 'cd0100'], [65535, 'cdffff'],
                [65536, 'ce00010000'], [0xffffffff, 'ceffffffff'], [0x100000000, 'cf0000000100000000'],
                [PHP_INT_MAX, 'cf7fffffffffffffff'], [-1, 'ff'], [-32, 'e0'], [-33, 'd0df'], [-128, 'd080'],
                [-129, 'd1ff7f'], [-32768, 'd18000'], [-32769, 'd2ffff7fff'], [-2147483648, 'd280000000'],
                [-2147483649, 'd3ffffffff7fffffff'], [PHP_INT_MIN, 'd38000000000000000'],
                [null, 'c0'], [false, 'c2'], [true, 'c3'], [1.5, 'cb3ff8000000000000'],
                ['', 'a0'], ['ab', 'a26162'], [[], '90'], [[1, [2]], '92019102'], [['a' => 1], '81a16101'],
                [[1 => 1, 2 => 2], '8201010202'], [new Value\Pairs([[true, 1]]), '81c301'],
                [new Value\Pairs([[1.5, []], [null, 'x']]), '82cb3ff800000000000090c0a178'],
                [Value\UnsignedInteger::fromBits(-1), 'cfffffffffffffffff'],
            ] as $case
        ) {
            yield $case[1] => $case;
        }
    }

    /** @dataProvider values */
    public function testValueAndBytesCorrespond(mixed $value, string $hex): void
    {
        self::assertSame($hex, bin2hex(Encoder::value($value)));
        self::assertEquals($value, (new Decoder(hex2bin($hex)))->value());
    }

    public function testLengthsAreEncodedInTheirShortestForm(): void
    {
        $heads = [31 => 'bf', 32 => 'd920', 255 => 'd9ff', 256 => 'da0100', 65536 => 'db00010000'];
        foreach ($heads as $length => $head) {
            self::assertStringStartsWith($head, bin2hex(Encoder::value(str_repeat('x', $length))));
            self::assertSame($length, strlen((new Decoder(Encoder::value(str_repeat('x', $length))))->value()));
        }
        foreach ([15 => '9f', 16 => 'dc0010', 65536 => 'dd00010000'] as $count => $head) {
            $encoded = Encoder::value(array_fill(0, $count, 1));
            self::assertStringStartsWith($head, bin2hex($encoded));
            self::assertCount($count, (new Decoder($encoded))->value());
        }
        self::assertSame('c403616263', bin2hex(Encoder::value(new Value\Binary('abc'))));
        self::assertSame('80', bin2hex(Encoder::value(new \stdClass())));
    }

    public function testWhatHasNoFormIsRefused(): void
    {
        $circle = [];
        $circle[] = &$circle;
        foreach ([static fn () => 1, fopen('php://memory', 'r'), $circle, [new \DateTime()]] as $value) {
            self::thrown(EncodingFailed::class, static fn () => Encoder::value($value));
        }
    }

    public function testMalformedBytesAreRefused(): void
    {
        $bad = ['', 'c1', 'cc', 'cd00', 'ce000000', 'cf00', 'a261', 'd9ff', '9201', '8101', 'ddffffffff', 'dfffffffff',
            'c7', 'c70502', 'd801', 'd80200', 'dbffffffff61', str_repeat('91', 300) . '01', 'd50101', 'c70004'];
        foreach ($bad as $hex) {
            self::thrown(ProtocolError::class, static fn () => (new Decoder(hex2bin($hex)))->value());
        }
    }

    public function testMapsWithOtherKeysBecomePairs(): void
    {
        $value = (new Decoder(hex2bin('83a16101c302cb3ff800000000000003')))->value();
        self::assertEquals(new Value\Pairs([['a', 1], [true, 2], [1.5, 3]]), $value);
    }
}
