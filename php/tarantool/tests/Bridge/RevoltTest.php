<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Bridge;

use Phpdyno\Tarantool\Bridge\Revolt\RevoltWaiter;
use Phpdyno\Tarantool\Client;
use Phpdyno\Tarantool\Exception\ServerError;
use Phpdyno\Tarantool\Exception\TimedOut;
use Phpdyno\Tarantool\Options;
use Phpdyno\Tarantool\Tests\Support\TestCase;
use Revolt\EventLoop;

/**
 * The client in Revolt's event loop.
 */
final class RevoltTest extends TestCase
{
    protected function setUp(): void
    {
        parent::setUp();
        if (!class_exists(EventLoop::class)) {
            self::markTestSkipped('REVOLT does not name an autoloader of revolt/event-loop');
        }
    }

    public function testFibersOfTheLoopShareOneSocket(): void
    {
        $client = $this->revolt();
        self::assertSame([[1, 'tuple_1']], $client->select('items', 1));
        $results = [];
        $ticks = 0;
        $start = microtime(true);
        for ($i = 1; $i <= 50; ++$i) {
            EventLoop::queue(static function () use ($client, $i, &$results): void {
                $results[$i] = [$client->call('slow', 0.1, $i)[0], $client->select('items', $i)[0][0]];
            });
        }
        EventLoop::unreference(EventLoop::repeat(0.02, static function () use (&$ticks): void {
            ++$ticks;
        }));
        EventLoop::run();
        ksort($results);
        self::assertSame(array_map(static fn (int $i): array => [$i, $i], range(1, 50)), array_values($results));
        self::assertLessThan(0.6, microtime(true) - $start);
        self::assertGreaterThan(1, $ticks);
    }

    public function testErrorsAndTimeOutsArrive(): void
    {
        $client = $this->revolt(requestTimeout: 0.2);
        self::thrown(ServerError::class, static fn () => $client->call('no_such'));
        self::thrown(TimedOut::class, static fn () => $client->call('slow', 0.5, 1));
        $batch = $client->batch();
        $one = $batch->select('items', 1);
        $batch->select('items', 2);
        $batch->flush();
        self::assertSame([[1, 'tuple_1']], $one->get());
        $client->close();
        self::assertSame([4], $client->call('same', 4));
    }

    private function revolt(mixed ...$options): Client
    {
        return new Client(new Options(...$options + ['uri' => self::server()->uri]), new RevoltWaiter());
    }
}
