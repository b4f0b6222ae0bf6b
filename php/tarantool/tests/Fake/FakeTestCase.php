<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Fake;

use Phpdyno\Tarantool\Client;
use Phpdyno\Tarantool\Options;
use Phpdyno\Tarantool\Tests\Support\TestCase;

/**
 * A test against a scripted server.
 */
abstract class FakeTestCase extends TestCase
{
    private ?FakeServer $server = null;

    protected function setUp(): void
    {
        parent::setUp();
        if (!function_exists('pcntl_fork')) {
            self::markTestSkipped('The pcntl extension is not loaded');
        }
    }

    protected function tearDown(): void
    {
        parent::tearDown();
        $this->server = null;
    }

    /** Starts a server that greets and then follows the script; returns a client of it. */
    protected function scripted(callable $script, mixed ...$options): Client
    {
        $this->server = new FakeServer(static function (FakePeer $peer, int $number) use ($script): void {
            $peer->greet();
            $script($peer, $number);
        });

        return new Client(new Options(...$options + ['uri' => $this->server->uri]));
    }
}
