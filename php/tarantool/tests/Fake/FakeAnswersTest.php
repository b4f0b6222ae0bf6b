<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Fake;

use Phpdyno\Tarantool\Exception\ConnectionFailed;
use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Exception\ServerError;
use Phpdyno\Tarantool\Scheduler;
use Phpdyno\Tarantool\Value;

/**
 * What a server may send, in shapes and orders that 2.6.0 does not show, and what none may send.
 */
final class FakeAnswersTest extends FakeTestCase
{
    public function testPushMessagesAreNotTheAnswer(): void
    {
        $pushed = [];
        $client = $this->scripted(static function (FakePeer $peer): void {
            while ($request = $peer->read()) {
                $peer->frame($request['sync'], "\x81\x30\x91\xa3one", 0x80);
                $peer->frame($request['sync'], "\x81\x30\x91\x02", 0x80);
                $peer->rows($request['sync'], 'end');
            }
        }, onPush: static function (mixed $data, int $sync) use (&$pushed): void {
            $pushed[] = $data;
            throw new \RuntimeException('A listener that throws does no harm');
        });
        self::assertSame(['end'], $client->call('x'));
        self::assertSame([['one'], [2]], $pushed);
    }

    public function testAnswersOutOfOrderFindTheirRequests(): void
    {
        $client = $this->scripted(static function (FakePeer $peer): void {
            $requests = [];
            while ($request = $peer->read()) {
                $requests[] = $request;
                if (count($requests) === 20) {
                    foreach (array_reverse($requests) as $late) {
                        $peer->rows($late['sync'], $late['body'][0x21][0]);
                    }
                    $requests = [];
                }
            }
        });
        $results = Scheduler::map(range(1, 40), static fn (int $i): int => $client->call('x', $i)[0], 20);
        self::assertSame(range(1, 40), $results);
        $batch = $client->batch();
        for ($i = 0; $i < 20; ++$i) {
            $batch->key("k$i")->call('x', [$i]);
        }
        foreach ($batch->flush() as $key => $request) {
            self::assertSame($key, 'k' . $request->get()[0]);
        }
    }

    public function testDateTimeAndUnknownExtensionsArrive(): void
    {
        $values = [new Value\DateTime(1, 2, 3, 4), new Value\Interval(day: 5), new Value\UnknownExtension(9, 'xyz')];
        $client = $this->scripted(static function (FakePeer $peer) use ($values): void {
            $peer->rows($peer->read()['sync'], ...$values);
            $peer->read();
        });
        self::assertEquals($values, $client->call('x'));
    }

    public function testOtherShapesOfHeadersAreUnderstood(): void
    {
        $client = $this->scripted(static function (FakePeer $peer): void {
            $rows = "\x81\x30\xdd\0\0\0\x01\x91\x07";
            $sync = static fn (): string => chr($peer->read()['sync']);
            $peer->raw("\x0e\x82\x00\x00\x01" . $sync() . $rows);
            $header = "\x83\x01" . $sync() . "\x05\xcf" . pack('J', 5000000000) . "\x00\x00";
            $peer->raw("\xcd" . pack('n', strlen($header . $rows)) . $header . $rows);
            $header = "\x83\x00\xce\0\0\0\0\x01\xcf" . pack('J', ord($sync())) . "\x05\xcf" . pack('J', 5000000001);
            foreach (str_split("\xce" . pack('N', strlen($header . $rows)) . $header . $rows) as $byte) {
                $peer->raw($byte);
                usleep(200);
            }
            $header = "\x82\x00\x00\x01" . $sync();
            $peer->raw(chr(strlen($header) + 4) . $header . "\x81\x30\x91\x07");
            $peer->raw("\x05\x82\x00\x00\x01" . $sync());
            $peer->read();
        });
        for ($i = 0; $i < 3; ++$i) {
            self::assertSame([[7]], $client->call('x'));
        }
        self::assertSame(5000000001, $client->connection()->inbox->schemaVersion);
        self::assertSame([7], $client->call('x'));
        $client->ping();
    }

    /** @return iterable<array{string}> */
    public function forbidden(): iterable
    {
        $start = "\xce\0\0\0\x18\x83\0\xce\0\0\0\0\x01\xcf\0\0\0\0\0\0";
        yield 'a sync nobody asked for' => [$start . "\x77\x77\x05\xce\0\0\0\x01\x80"];
        yield 'sync 0 without an error' => [$start . "\0\0\x05\xce\0\0\0\x01\x80"];
        yield 'no frame' => [str_repeat('HTTP/1.1 400 Bad Request ', 9)];
        yield 'a frame that is too long' => ["\xce\x7f\xff\xff\xff"];
        yield 'a header that is no map' => ["\x02\x05\x80"];
        yield 'an unknown type' => ["\x05\x82\x00\x4c\x01\x01\x80"];
        yield 'a header without type' => ["\x03\x81\x01\x01"];
    }

    /** @dataProvider forbidden */
    public function testWhatNoServerMaySendFailsAllRequests(string $bytes): void
    {
        $client = $this->scripted(static function (FakePeer $peer, int $number) use ($bytes): void {
            for ($i = 0; $i < 3; ++$i) {
                $request = $peer->read();
            }
            $number === 1 ? $peer->raw($bytes) : $peer->rows($request['sync'], 'again');
            $peer->read();
        });
        $batch = $client->batch();
        $requests = [$batch->ping(), $batch->call('x'), $batch->select(512, 1)];
        $batch->flush();
        foreach ($requests as $request) {
            self::assertInstanceOf(ProtocolError::class, $request->error());
        }
    }

    public function testAMalformedTupleFailsItsRequestOnly(): void
    {
        $client = $this->scripted(static function (FakePeer $peer): void {
            $peer->frame($peer->read()['sync'], "\x81\x30\xdd\0\0\0\x01\x92\x01");
            $peer->frame($peer->read()['sync'], "\x81\x30\xdd\0\0\0\x01\x91\xc1");
            $peer->frame($peer->read()['sync'], "\x92\x01\x02");
            $peer->frame($peer->read()['sync'], "\x80");
            $peer->rows($peer->read()['sync'], [1, 'a']);
            $peer->read();
        });
        for ($i = 0; $i < 4; ++$i) {
            self::thrown(ProtocolError::class, static fn () => $client->select(512, 1));
        }
        self::assertSame([[1, 'a']], $client->select(512, 1));
    }

    public function testAnErrorWithSyncZeroIsGivenToAllRequests(): void
    {
        $client = $this->scripted(static function (FakePeer $peer): void {
            $peer->read();
            $peer->read();
            $peer->error(0, 20, 'Invalid MsgPack - packet length');
        });
        $batch = $client->batch();
        $requests = [$batch->ping(), $batch->ping()];
        $batch->flush();
        foreach ($requests as $request) {
            $error = self::thrown(ServerError::class, $request->get(...));
            self::assertSame(20, $error->getCode());
            self::assertSame('Invalid MsgPack - packet length', $error->getMessage());
        }
    }

    public function testWhatDoesNotGreetIsRefused(): void
    {
        $server = new FakeServer(static function (FakePeer $peer): void {
            $peer->raw(str_repeat('SSH-2.0-Nonsense', 10));
            $peer->read();
        });
        $client = new \Phpdyno\Tarantool\Client(new \Phpdyno\Tarantool\Options($server->uri));
        $error = self::thrown(ConnectionFailed::class, $client->ping(...));
        self::assertStringContainsString('did not greet', $error->getMessage());
    }
}
