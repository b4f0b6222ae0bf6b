<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Unit;

use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Options;
use Phpdyno\Tarantool\Protocol\Greeting;
use Phpdyno\Tarantool\Tests\Support\TestCase;

final class OptionsTest extends TestCase
{
    public function testThePasswordIsNotShown(): void
    {
        $options = new Options(user: 'alice', password: 'secret');
        self::assertStringNotContainsString('secret', print_r($options, true));
        self::assertSame('secret', $options->password());
    }

    public function testBadOptionsAreRefused(): void
    {
        $bad = [['uri' => 'localhost:3301'], ['uri' => 'tcp://host'], ['connectTimeout' => 0.0],
            ['requestTimeout' => -1.0], ['reconnect' => -1], ['maxAnswer' => 0]];
        foreach ($bad as $arguments) {
            self::thrown(\InvalidArgumentException::class, static fn () => new Options(...$arguments));
        }
    }

    public function testGreeting(): void
    {
        $salt = base64_encode(str_repeat('s', 32));
        $bytes = str_pad('Tarantool 2.6.0 (Binary) 0', 63) . "\n" . str_pad($salt, 63) . "\n";
        $greeting = Greeting::parse($bytes);
        self::assertSame(str_repeat('s', 20), $greeting->salt);
        $hash = sha1('secret', true);
        self::assertSame($hash, $greeting->scramble('secret') ^ sha1($greeting->salt . sha1($hash, true), true));
        foreach (['', substr($bytes, 1), str_replace('Binary', 'Lua console', $bytes), str_repeat('x', 128)] as $bad) {
            self::thrown(ProtocolError::class, static fn () => Greeting::parse($bad));
        }
    }
}
