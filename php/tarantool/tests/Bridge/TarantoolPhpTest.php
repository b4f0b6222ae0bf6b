<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Bridge;

use MessagePack\Packer as MessagePacker;
use Phpdyno\Tarantool\Bridge\TarantoolPhp\CodecPacker;
use Phpdyno\Tarantool\Bridge\TarantoolPhp\MultiplexedConnection;
use Phpdyno\Tarantool\Exception\UserConflict;
use Phpdyno\Tarantool\Options;
use Phpdyno\Tarantool\Scheduler;
use Phpdyno\Tarantool\Tests\Support\TestCase;
use Phpdyno\Tarantool\Transport\Connection;
use Tarantool\Client\Client;
use Tarantool\Client\Exception\CommunicationFailed;
use Tarantool\Client\Exception\ConnectionFailed;
use Tarantool\Client\Exception\RequestFailed;
use Tarantool\Client\Handler\DefaultHandler;
use Tarantool\Client\Keys;
use Tarantool\Client\Middleware\AuthenticationMiddleware;
use Tarantool\Client\Middleware\RetryMiddleware;
use Tarantool\Client\Packer\Packer;
use Tarantool\Client\Packer\PurePacker;
use Tarantool\Client\Request\CallRequest;
use Tarantool\Client\Schema\Criteria;
use Tarantool\Client\Schema\Operations;

/**
 * The unmodified tarantool-php/client over our socket.
 */
final class TarantoolPhpTest extends TestCase
{
    protected function setUp(): void
    {
        parent::setUp();
        if (!class_exists(Client::class) || !class_exists(MessagePacker::class)) {
            self::markTestSkipped('TARANTOOL_PHP_CLIENT names no autoloader of tarantool/client and rybakit/msgpack');
        }
    }

    /** @return iterable<string, array{bool}> */
    public function packers(): iterable
    {
        yield 'its own packer' => [false];
        yield 'our packer' => [true];
    }

    /** @dataProvider packers */
    public function testAllOperations(bool $ours): void
    {
        $client = $this->facade($this->socket(), $ours ? new CodecPacker() : new PurePacker());
        $client->ping();
        self::assertSame([1, 'a', [2]], $client->call('same', 1, 'a', [2]));
        self::assertSame([3], $client->evaluate('return 1 + ...', 2));
        $space = $client->getSpace('scratch');
        $client->evaluate('box.space.scratch:truncate()');
        self::assertSame([[5, 'a']], $space->insert([5, 'a']));
        self::assertSame([[5, 'b']], $space->replace([5, 'b']));
        self::assertSame([[5, 'c']], $space->update([5], Operations::set(1, 'c')));
        $space->upsert([5, 'x'], Operations::set(1, 'd'));
        self::assertSame([[5, 'd']], $space->select(Criteria::key([5])));
        self::assertSame([[5, 'd']], $space->delete([5]));
        self::assertSame(7, $client->executeQuery('select 3 + 4 as "n"')[0]['n']);
        $error = self::thrown(RequestFailed::class, static fn () => $client->call('no_such'));
        self::assertStringContainsString('no_such', $error->getMessage());
    }

    /** @dataProvider packers */
    public function testManyClientsInFibersShareTheSocket(bool $ours): void
    {
        $socket = $this->socket();
        $session = $this->facade($socket)->evaluate('return box.session.id()');
        $results = Scheduler::map(range(1, 200), function (int $i) use ($socket, $ours): array {
            $client = $this->facade($socket, $ours ? new CodecPacker() : new PurePacker());
            $row = $client->getSpaceById(281)->select(Criteria::key([281]))[0];

            return [$client->call('slow', 0.01, $i)[0], $row[2], $client->evaluate('return box.session.id()')];
        }, 50);
        foreach ($results as $i => $result) {
            self::assertSame([$i + 1, '_vspace', $session], $result);
        }
    }

    public function testTwoFibersThatChooseOneSync(): void
    {
        $socket = $this->socket();
        foreach ([123456789, 5, 300, 0] as $sync) {
            $answers = Scheduler::map(range(1, 10), static function (int $i) use ($socket, $sync): array {
                $connection = new MultiplexedConnection($socket);
                $connection->open();
                $packer = new PurePacker();
                // The later a request comes, the sooner it is answered.
                $packed = $packer->pack(new CallRequest('slow', [(11 - $i) / 50, $i]), $sync);
                $response = $packer->unpack($connection->send($packed));

                return [$response->getSync(), $response->getBodyField(Keys::DATA)];
            }, 10);
            foreach ($answers as $i => $answer) {
                self::assertSame([$sync, [$i + 1]], $answer);
            }
        }
    }

    public function testTwoUsersOnOneSocketAreRefused(): void
    {
        $socket = $this->socket();
        $alice = $this->facade($socket)->withMiddleware(new AuthenticationMiddleware('alice', 'secret'));
        self::assertSame(['alice'], $alice->evaluate('return box.session.user()'));
        $second = $this->facade($socket)->withMiddleware(new AuthenticationMiddleware('alice', 'secret'));
        self::assertSame(['alice'], $second->evaluate('return box.session.user()'));
        $bob = $this->facade($socket)->withMiddleware(new AuthenticationMiddleware('bob', 'hidden'));
        self::thrown(UserConflict::class, $bob->ping(...));
        $guest = $this->facade($socket);
        self::thrown(UserConflict::class, $guest->ping(...));
        self::assertSame(['alice'], $alice->evaluate('return box.session.user()'));
        $socket->close();
        self::assertSame(['bob'], $bob->evaluate('return box.session.user()'));
        self::thrown(UserConflict::class, static fn () => $alice->evaluate('return box.session.user()'));
    }

    public function testAWrongPassword(): void
    {
        $client = $this->facade($this->socket())->withMiddleware(new AuthenticationMiddleware('alice', 'wrong'));
        self::thrown(RequestFailed::class, $client->ping(...));
    }

    public function testCloseIsLogical(): void
    {
        $socket = $this->socket();
        $one = new MultiplexedConnection($socket);
        $two = new MultiplexedConnection($socket);
        self::assertTrue($one->isClosed());
        $one->open();
        self::assertTrue($two->open()->equals($one->open()));
        $one->close();
        self::assertTrue($one->isClosed());
        self::assertFalse($two->isClosed());
        self::assertTrue($socket->isReady());
        self::thrown(CommunicationFailed::class, static fn () => $one->send('x'));
        $one->open();
        self::assertFalse($one->isClosed());
    }

    public function testALossIsRepairedByItsRetryMiddleware(): void
    {
        $socket = $this->socket();
        $client = $this->facade($socket)->withMiddleware(RetryMiddleware::constant(3, 1));
        $before = $client->evaluate('return box.session.id()');
        $results = Scheduler::run(
            lost: fn () => self::thrown(
                CommunicationFailed::class,
                fn () => $this->facade($socket)->call('slow', 1, 'x'),
            )->getMessage(),
            closing: static function () use ($socket): void {
                Scheduler::sleep(0.1);
                $socket->close();
            },
        );
        self::assertStringContainsString('perhaps executed', $results['lost']);
        self::assertNotSame($before, $client->evaluate('return box.session.id()'));
        $nobody = $this->facade(new Connection(new Options('unix:///nonexistent', reconnect: 0)));
        self::thrown(ConnectionFailed::class, $nobody->ping(...));
    }

    public function testUnprepareLeavesTheStatementToOthers(): void
    {
        $socket = $this->socket();
        $one = $this->facade($socket)->prepare('select 5 + ?');
        $two = $this->facade($socket)->prepare('select 5 + ?');
        $one->close();
        self::assertSame([[7]], iterator_to_array($this->plain($two->execute(2))));
        $two->close();
        self::thrown(RequestFailed::class, static fn () => $two->execute(2));
        self::thrown(RequestFailed::class, fn () => $this->facade($socket)->prepare('nonsense'));
    }

    private function plain(\Tarantool\Client\Response $response): \ArrayIterator
    {
        return new \ArrayIterator($response->getBodyField(Keys::DATA));
    }

    private function socket(): Connection
    {
        return new Connection(new Options(self::server()->uri));
    }

    private function facade(Connection $socket, ?Packer $packer = null): Client
    {
        return new Client(new DefaultHandler(new MultiplexedConnection($socket), $packer ?? new PurePacker()));
    }
}
