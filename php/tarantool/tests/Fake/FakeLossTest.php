<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Fake;

use Phpdyno\Tarantool\Client;
use Phpdyno\Tarantool\Exception\ConnectionFailed;
use Phpdyno\Tarantool\Exception\ConnectionLost;
use Phpdyno\Tarantool\Exception\Outcome;
use Phpdyno\Tarantool\Exception\TimedOut;
use Phpdyno\Tarantool\Options;
use Phpdyno\Tarantool\Scheduler;

/**
 * Connections that end, answer late, or do not answer.
 */
final class FakeLossTest extends FakeTestCase
{
    public function testACutMidPipelineFailsEveryRequestOnce(): void
    {
        $client = $this->scripted(static function (FakePeer $peer): void {
            for ($i = 0; $i < 100; ++$i) {
                $request = $peer->read();
                if ($i < 30) {
                    $peer->rows($request['sync'], $i);
                }
            }
            $peer->raw("\xce\0\0\0\x20\x83\0");
        }, reconnect: 0);
        $done = [];
        $answered = $lost = 0;
        $requests = array_map(static fn (int $i) => $client->requests()->call('x', [$i]), range(0, 99));
        foreach ($client->pipeline($requests, 100) as $key => $request) {
            $done[] = $key;
            if ($request->error() === null) {
                self::assertSame([$key], $request->get());
                ++$answered;
            } else {
                $error = self::thrown(ConnectionLost::class, $request->get(...));
                self::assertSame(Outcome::PerhapsExecuted, $error->outcome);
                ++$lost;
            }
        }
        self::assertSame(range(0, 99), $done);
        self::assertSame([30, 70], [$answered, $lost]);
        $error = self::thrown(ConnectionLost::class, $client->ping(...));
        self::assertSame(Outcome::Unsent, $error->outcome);
    }

    public function testOnlyIdempotentRequestsAreRepeated(): void
    {
        $client = $this->scripted(static function (FakePeer $peer, int $number): void {
            if ($number === 1) {
                array_map(static fn () => $peer->read(), range(1, 4));

                return;
            }
            while ($request = $peer->read()) {
                $peer->rows($request['sync'], ["connection $number", $request['type']]);
            }
        });
        $batch = $client->batch();
        $requests = [$batch->select(512, 1), $batch->insert(512, [1]), $batch->call('x'), $batch->ping()];
        $batch->flush();
        self::assertSame([['connection 2', 1]], $requests[0]->get());
        self::assertNull($requests[3]->get());
        foreach ([1, 2] as $i) {
            $error = self::thrown(ConnectionLost::class, $requests[$i]->get(...));
            self::assertSame(Outcome::PerhapsExecuted, $error->outcome);
        }
    }

    public function testARequestThatKillsEachSessionIsNotRepeatedForEver(): void
    {
        $client = $this->scripted(static fn (FakePeer $peer) => $peer->read(), reconnect: 2);
        $error = self::thrown(ConnectionLost::class, static fn () => $client->select(512, 1));
        self::assertSame(Outcome::PerhapsExecuted, $error->outcome);
    }

    public function testAHalfOpenSocketTimesOut(): void
    {
        $client = $this->scripted(static function (FakePeer $peer): void {
            while ($peer->read()) {
            }
        }, requestTimeout: 0.2);
        $start = microtime(true);
        $error = self::thrown(TimedOut::class, $client->ping(...));
        self::assertSame(Outcome::PerhapsExecuted, $error->outcome);
        $batch = $client->batch();
        $requests = [$batch->ping(), $batch->call('x')];
        $batch->flush();
        foreach ($requests as $request) {
            self::thrown(TimedOut::class, $request->get(...));
        }
        self::assertEqualsWithDelta(0.4, microtime(true) - $start, 0.3);
    }

    public function testALateAnswerIsNotTakenForAnother(): void
    {
        $client = $this->scripted(static function (FakePeer $peer): void {
            $first = $peer->read();
            $second = $peer->read();
            $peer->rows($first['sync'], 'late')->rows($second['sync'], 'second');
            $peer->rows($peer->read()['sync'], 'third');
            $peer->read();
        }, requestTimeout: 0.2);
        self::thrown(TimedOut::class, static fn () => $client->call('x'));
        self::assertSame(['second'], $client->call('x'));
        self::assertSame(['third'], $client->call('x'));
    }

    public function testATimeOutInsideAFiberLeavesTheOthersAlone(): void
    {
        $client = $this->scripted(static function (FakePeer $peer): void {
            while ($request = $peer->read()) {
                if ($request['type'] === 10) {
                    usleep(20000);
                    $peer->rows($request['sync'], 'fine');
                }
            }
        }, requestTimeout: 0.3);
        $start = microtime(true);
        $results = Scheduler::run(
            lost: fn () => self::thrown(TimedOut::class, $client->ping(...))->outcome,
            fine: static fn () => [$client->call('x'), $client->call('x'), $client->call('x')],
            slept: static function () use ($start): bool {
                Scheduler::sleep(0.05);

                return microtime(true) - $start < 0.25;
            },
        );
        self::assertSame(
            ['lost' => Outcome::PerhapsExecuted, 'fine' => [['fine'], ['fine'], ['fine']], 'slept' => true],
            $results,
        );
    }

    public function testWhatWasNotWrittenWhenTheTimeEndedIsNeverSent(): void
    {
        $file = tempnam(sys_get_temp_dir(), 'types');
        $client = $this->scripted(static function (FakePeer $peer) use ($file): void {
            usleep(700000);
            while ($request = $peer->read()) {
                file_put_contents($file, $request['type'] . ' ', FILE_APPEND);
                $peer->rows($request['sync'], 'ok');
            }
        }, requestTimeout: 0.3);
        $batch = $client->batch();
        $big = $batch->replace(512, [1, str_repeat('x', 4_000_000)]);
        $insert = $batch->insert(512, [2]);
        $batch->flush();
        self::assertSame(Outcome::PerhapsExecuted, self::thrown(TimedOut::class, $big->get(...))->outcome);
        self::assertSame(Outcome::Unsent, self::thrown(TimedOut::class, $insert->get(...))->outcome);
        usleep(500000);
        self::assertSame(['ok'], $client->call('x'));
        self::assertSame('3 10 ', file_get_contents($file));
        unlink($file);
    }

    public function testConnectingFailsClearly(): void
    {
        $nobody = new Client(new Options('unix:///nonexistent/socket', reconnect: 1));
        self::thrown(ConnectionFailed::class, $nobody->ping(...));
        $probe = stream_socket_server('tcp://127.0.0.1:0');
        $address = stream_socket_get_name($probe, false);
        fclose($probe);
        $refused = new Client(new Options('tcp://' . $address, reconnect: 0));
        $error = self::thrown(ConnectionFailed::class, $refused->ping(...));
        self::assertStringContainsString('refused', $error->getMessage());
        $silent = stream_socket_server('tcp://127.0.0.1:0');
        $uri = 'tcp://' . stream_socket_get_name($silent, false);
        $client = new Client(new Options($uri, connectTimeout: 0.2, reconnect: 0));
        $error = self::thrown(ConnectionFailed::class, $client->ping(...));
        self::assertStringContainsString('took longer', $error->getMessage());
    }

    public function testFibersHearThatNobodyListens(): void
    {
        $client = new Client(new Options('unix:///nonexistent/socket', reconnect: 2));
        $start = microtime(true);
        $results = Scheduler::map(range(1, 5), static function (int $i) use ($client): string {
            if ($i === 5) {
                Scheduler::sleep(0.01);

                return 'slept';
            }

            return self::thrown(ConnectionFailed::class, $client->ping(...))::class;
        });
        self::assertSame([...array_fill(0, 4, ConnectionFailed::class), 'slept'], $results);
        self::assertLessThan(1.0, microtime(true) - $start);
    }

    public function testClosingInsideAFiberFailsTheOthers(): void
    {
        $client = $this->scripted(static function (FakePeer $peer, int $number): void {
            while ($request = $peer->read()) {
                if ($number === 2) {
                    $peer->rows($request['sync'], 'second');
                }
            }
        });
        $results = Scheduler::run(
            waiting: fn () => self::thrown(ConnectionLost::class, static fn () => $client->call('x'))->outcome,
            closing: static function () use ($client): bool {
                Scheduler::sleep(0.05);
                $client->close();

                return true;
            },
        );
        self::assertSame(['waiting' => Outcome::PerhapsExecuted, 'closing' => true], $results);
        self::assertSame(['second'], $client->call('x'));
    }

    public function testANewSessionPreparesStatementsAgain(): void
    {
        $client = $this->scripted(static function (FakePeer $peer, int $number): void {
            $column = "\x82\x00\xa1a\x01\xa7integer";
            for ($left = 2; $left > 0 && $request = $peer->read(); --$left) {
                $request['type'] === 13
                    ? $peer->frame($request['sync'], "\x82\x43\x07\x34\x00")
                    : $peer->frame($request['sync'], "\x82\x32\x91$column\x30\x91\x91" . chr($number));
            }
        });
        $statement = $client->prepare('select 1');
        self::assertSame([[1]], $statement->execute()->rows);
        usleep(50000);
        self::assertSame([[2]], $statement->execute()->rows);
    }
}
