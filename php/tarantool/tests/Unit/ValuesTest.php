<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Unit;

use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Tests\Support\TestCase;
use Phpdyno\Tarantool\Value;

final class ValuesTest extends TestCase
{
    public function testDecimals(): void
    {
        $cases = ['0' => '0', '-12.50' => '-12.50', '0.001' => '0.001', '3e2' => '300', '-0' => '0', '+7' => '7',
            '99999999999999999999999999999999999999' => '99999999999999999999999999999999999999', '1e-3' => '0.001'];
        foreach ($cases as $input => $expected) {
            $decimal = Value\Decimal::fromString((string) $input);
            self::assertSame($expected, (string) $decimal);
            self::assertSame($expected, (string) (new Decoder(Encoder::value($decimal)))->value());
        }
        // From Tarantool's documentation of its MessagePack extensions: -12.34 is d6 01 02 01 23 4d.
        self::assertSame('d6010201234d', bin2hex(Encoder::value(Value\Decimal::fromString('-12.34'))));
        foreach (['', '1.', 'x', '1e9999', str_repeat('9', 39)] as $bad) {
            self::thrown(\InvalidArgumentException::class, static fn () => Value\Decimal::fromString($bad));
        }
        foreach (['', '02', "\x02\xff", "\x02\x12\x34"] as $bad) {
            self::thrown(ProtocolError::class, static fn () => Value\Decimal::fromData($bad));
        }
    }

    public function testUuid(): void
    {
        $text = '64d22e4d-ac92-4a23-899a-e59f34af5479';
        $uuid = Value\Uuid::fromString($text);
        self::assertSame('d80264d22e4dac924a23899ae59f34af5479', bin2hex(Encoder::value($uuid)));
        self::assertSame($text, (string) (new Decoder(Encoder::value($uuid)))->value());
        self::thrown(\InvalidArgumentException::class, static fn () => Value\Uuid::fromString('nonsense'));
    }

    public function testDateTime(): void
    {
        $date = new Value\DateTime(1662735600, 5_000_000, 180, 947);
        $encoded = Encoder::value($date);
        self::assertSame('d804' . 'f0541b6300000000' . '404b4c00' . 'b400' . 'b303', bin2hex($encoded));
        self::assertEquals($date, (new Decoder($encoded))->value());
        self::assertSame('2022-09-09T18:00:00.005+03:00', (string) $date);
        self::assertSame('1970-01-01T00:00:00Z', (string) new Value\DateTime(0));
        self::assertSame('d7040000000000000000', bin2hex(Encoder::value(new Value\DateTime(0))));
        self::assertSame('1969-12-31T23:59:59.999999999-01:30', (string) new Value\DateTime(5399, 999999999, -90));
        $native = new \DateTimeImmutable('2024-02-29T12:00:00.25-05:00');
        self::assertEquals($native, Value\DateTime::fromNative($native)->toNative());
        self::assertSame('-05:00', Value\DateTime::fromNative($native)->toNative()->format('P'));
        self::thrown(\InvalidArgumentException::class, static fn () => new Value\DateTime(0, -1));
    }

    public function testInterval(): void
    {
        $interval = new Value\Interval(year: 1, month: -2, nanosecond: 300, adjust: 1);
        self::assertSame('c70b06' . '04' . '0001' . '01fe' . '07cd012c' . '0801', bin2hex(self::fixed($interval)));
        self::assertEquals($interval, (new Decoder(Encoder::value($interval)))->value());
        self::assertSame('+1 year, -2 months, +300 nanoseconds', (string) $interval);
        foreach (["\x01", "\x01\x63\x01", "\x02\x00\x01\x00\x01", "\x01\x00\xa1x", "\x00\x00"] as $bad) {
            self::thrown(ProtocolError::class, static fn () => Value\Interval::fromData($bad));
        }
    }

    public function testErrors(): void
    {
        $stack = new Value\ErrorStack([
            new Value\ErrorInfo('ClientError', 'outer', 32, 0, 'a.lua', 3, ['custom_type' => 'X']),
            new Value\ErrorInfo('SystemError', 'inner', 115, 5),
        ]);
        self::assertEquals($stack, (new Decoder(Encoder::value($stack)))->value());
        self::assertSame("ClientError 32: outer\ncaused by SystemError 115: inner", (string) $stack);
        foreach (["\x90\x90", "\x81\x00\x91\x01", "\x81\x00\x91\x81\x03\x05", "\x01"] as $bad) {
            self::thrown(ProtocolError::class, static fn () => Value\ErrorStack::fromData($bad));
        }
    }

    public function testAnUnknownExtensionIsKept(): void
    {
        $value = (new Decoder("\xc7\x03\x4dabc"))->value();
        self::assertEquals(new Value\UnknownExtension(0x4d, 'abc'), $value);
        self::assertSame('ext(77, 0x616263)', (string) $value);
        self::assertSame("\xc7\x03\x4dabc", Encoder::value($value));
        self::assertEquals(new Value\UnknownExtension(-1, 'abcd'), (new Decoder("\xd6\xffabcd"))->value());
    }

    public function testBigUnsignedIntegers(): void
    {
        self::assertSame('18446744073709551615', (string) Value\UnsignedInteger::fromBits(-1));
        self::thrown(\InvalidArgumentException::class, static fn () => Value\UnsignedInteger::fromBits(1));
    }

    private static function fixed(Value\Interval $interval): string
    {
        $data = $interval->extensionData();

        return "\xc7" . chr(strlen($data)) . "\x06" . $data;
    }
}
