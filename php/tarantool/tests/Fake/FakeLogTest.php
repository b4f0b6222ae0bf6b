<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Fake;

use Phpdyno\Tarantool\Exception\ConnectionLost;
use Psr\Log\LoggerInterface;

/**
 * What the logger is told.
 */
final class FakeLogTest extends FakeTestCase
{
    public function testConnectsLossesAndIgnoredPushesAreLogged(): void
    {
        if (!interface_exists(LoggerInterface::class)) {
            self::markTestSkipped('PSR_LOG does not name an autoloader of psr/log');
        }
        $lines = [];
        $logger = $this->createStub(LoggerInterface::class);
        $logger->method('log')->willReturnCallback(
            static function (string $level, string $message, array $context) use (&$lines): void {
                $lines[] = $level . ': ' . strtr($message, ['{uri}' => 'X', '{reason}' => $context['reason']]);
            },
        );
        $client = $this->scripted(static function (FakePeer $peer): void {
            $request = $peer->read();
            $peer->frame($request['sync'], "\x81\x30\x91\x01", 0x80)->rows($request['sync']);
            $peer->read();
        }, reconnect: 0, logger: $logger);
        self::assertSame([], $client->call('x'));
        self::thrown(ConnectionLost::class, static fn () => $client->call('x'));
        self::assertSame([
            'info: Connected to X',
            'debug: Push message ignored: there is no onPush',
            'warning: Connection to X lost: The server closed the connection',
        ], $lines);
    }
}
