<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Support;

use Phpdyno\Tarantool\Client;
use Phpdyno\Tarantool\Options;

/**
 * A test that fails when it takes longer than 30 s.
 */
abstract class TestCase extends \PHPUnit\Framework\TestCase
{
    private static ?TarantoolServer $server = null;

    protected function setUp(): void
    {
        if (function_exists('pcntl_alarm')) {
            pcntl_async_signals(true);
            pcntl_signal(SIGALRM, static fn () => throw new \RuntimeException('The test took longer than 30 s'));
            pcntl_alarm(30);
        }
    }

    protected function tearDown(): void
    {
        if (function_exists('pcntl_alarm')) {
            pcntl_alarm(0);
        }
    }

    /**
     * Returns a server that all tests share; skips the test if there is none.
     */
    protected static function server(): TarantoolServer
    {
        self::needServer();

        return self::$server ??= TarantoolServer::start();
    }

    /**
     * Skips the test if no server can be started.
     */
    protected static function needServer(): void
    {
        $missing = TarantoolServer::missing();
        if ($missing !== null) {
            self::markTestSkipped($missing);
        }
    }

    /**
     * Returns a client of the shared server.
     */
    protected static function client(mixed ...$options): Client
    {
        return new Client(new Options(...$options + ['uri' => self::server()->uri]));
    }

    /**
     * Returns what the function throws; fails if it throws nothing, or something else.
     *
     * @template T of \Throwable
     * @param class-string<T> $class
     * @return T
     */
    protected static function thrown(string $class, callable $function): \Throwable
    {
        try {
            $function();
        } catch (\Throwable $error) {
            self::assertInstanceOf($class, $error, (string) $error);

            return $error;
        }
        self::fail('Nothing was thrown, ' . $class . ' was expected');
    }
}
