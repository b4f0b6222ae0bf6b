<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Fuzz;

use Phpdyno\Tarantool\Codec\Decoder;
use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Exception\ServerError;
use Phpdyno\Tarantool\Protocol\AnswerKind;
use Phpdyno\Tarantool\Protocol\AnswerReader;
use Phpdyno\Tarantool\Protocol\Header;
use Phpdyno\Tarantool\Protocol\Operation;
use Phpdyno\Tarantool\Codec\PureCodec;
use Phpdyno\Tarantool\Tests\Support\TestCase;
use Phpdyno\Tarantool\Tests\Support\Values;

final class DecoderFuzzTest extends TestCase
{
    public function testEveryTruncationIsRefused(): void
    {
        $values = new Values(1);
        for ($i = 0; $i < 25; ++$i) {
            $bytes = Encoder::list([$values->any(), $values->any()]);
            $step = max(1, intdiv(strlen($bytes), 60));
            for ($length = 0; $length < strlen($bytes); $length += $step) {
                self::thrown(ProtocolError::class, static fn () => (new Decoder(substr($bytes, 0, $length)))->value());
                self::thrown(ProtocolError::class, static fn () => (new Decoder($bytes, 0, $length))->value());
            }
        }
    }

    public function testRandomBytesGiveAValueOrAProtocolError(): void
    {
        mt_srand(2);
        $values = $errors = 0;
        for ($i = 0; $i < 20000; ++$i) {
            $bytes = '';
            for ($left = mt_rand(1, 60); $left > 0; --$left) {
                $bytes .= chr(mt_rand(0, 3) === 0 ? mt_rand(0x80, 0xdf) : mt_rand(0, 255));
            }
            try {
                $decoder = new Decoder($bytes);
                $decoder->value();
                self::assertLessThanOrEqual(strlen($bytes), $decoder->offset());
                ++$values;
            } catch (ProtocolError) {
                ++$errors;
            }
        }
        self::assertGreaterThan(1000, $values);
        self::assertGreaterThan(1000, $errors);
    }

    public function testBitFlipsInAnAnswerAreHarmless(): void
    {
        mt_srand(3);
        $reader = new AnswerReader(new PureCodec());
        $body = "\x81\x30\xdd\0\0\0\x03" . Encoder::list([1, 'a']) . Encoder::list([300, ['k' => 1.5]])
            . Encoder::list([\Phpdyno\Tarantool\Value\Decimal::fromString('1.5')]);
        $header = "\x83\0\xce\0\0\0\0\x01\xcf" . pack('J', 1) . "\x05\xce\0\0\0\x50";
        $frame = "\xce" . pack('N', strlen($header . $body)) . $header . $body;
        $outcomes = ['value' => 0, 'error' => 0, 'incomplete' => 0];
        for ($i = 0; $i < 10000; ++$i) {
            $bytes = $frame;
            for ($flips = mt_rand(1, 3); $flips > 0; --$flips) {
                $at = mt_rand(0, strlen($bytes) - 1);
                $bytes[$at] = chr(ord($bytes[$at]) ^ (1 << mt_rand(0, 7)));
            }
            try {
                $header = Header::parse($bytes, 0, 1 << 28);
                if ($header === null) {
                    ++$outcomes['incomplete'];
                    continue;
                }
                foreach ([AnswerKind::Rows, AnswerKind::FirstRow, AnswerKind::Sql] as $kind) {
                    $reader->read(new Operation(1, $kind), $bytes, $header->body, $header->end);
                }
                self::assertInstanceOf(ServerError::class, $reader->error(0x8001, $bytes, $header->body, $header->end));
                ++$outcomes['value'];
            } catch (ProtocolError) {
                ++$outcomes['error'];
            }
        }
        foreach ($outcomes as $outcome => $count) {
            self::assertGreaterThan(50, $count, $outcome);
        }
    }

    public function testClaimedLengthsCostNoMemory(): void
    {
        $before = memory_get_usage();
        foreach (['ddffffffff', 'dfffffffff', 'dbffffffff', 'c6ffffffff', 'c9ffffffff01', 'dcffff', 'deffff'] as $hex) {
            $bytes = hex2bin($hex) . str_repeat("\x01", 50);
            self::thrown(ProtocolError::class, static fn () => (new Decoder($bytes))->value());
        }
        self::assertLessThan(1 << 20, memory_get_usage() - $before);
    }
}
