<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Integration;

use Phpdyno\Tarantool\Client;
use Phpdyno\Tarantool\Exception\ConnectionFailed;
use Phpdyno\Tarantool\Exception\ConnectionLost;
use Phpdyno\Tarantool\Exception\ProcessFailed;
use Phpdyno\Tarantool\Exception\ServerError;
use Phpdyno\Tarantool\Exception\TimedOut;
use Phpdyno\Tarantool\Options;
use Phpdyno\Tarantool\Processes;
use Phpdyno\Tarantool\Scheduler;
use Phpdyno\Tarantool\Tests\Support\TarantoolServer;
use Phpdyno\Tarantool\Tests\Support\TestCase;

final class ConcurrencyTest extends TestCase
{
    public function testFibersShareOneSocket(): void
    {
        $client = self::client();
        $client->ping();
        $sockets = $client->eval('return box.stat.net().CONNECTIONS.current')[0];
        $results = Scheduler::map(
            range(1, 1000),
            static fn (int $i): array => $client->select('items', $i)[0],
            100,
        );
        self::assertSame(range(0, 999), array_keys($results));
        foreach ($results as $i => $row) {
            self::assertSame([$i + 1, 'tuple_' . ($i + 1)], $row);
        }
        self::assertSame([$sockets], $client->eval('return box.stat.net().CONNECTIONS.current'));
    }

    public function testFibersWithASocketEach(): void
    {
        self::server();
        $results = Scheduler::map(range(1, 20), static function (int $i): array {
            $client = self::client();

            return [$client->eval('return box.session.id()')[0], $client->call('slow', 0.1, $i)[0]];
        }, 20);
        self::assertSame(range(1, 20), array_column($results, 1));
        self::assertCount(20, array_unique(array_column($results, 0)));
    }

    public function testAForgottenClientClosesItsSocketAtOnce(): void
    {
        $observer = self::client();
        $count = static fn (): int => $observer->eval('return box.stat.net().CONNECTIONS.current')[0];
        $before = $count();
        gc_disable();
        try {
            $client = self::client(user: 'alice', password: 'secret');
            Scheduler::map([1, 2, 3], static fn (int $i): array => $client->select('items', $i), 3);
            $client->batch()->flush();
            self::assertSame($before + 1, $count());
            unset($client);
            for ($until = microtime(true) + 2; $count() > $before && microtime(true) < $until;) {
                usleep(10000);
            }
            self::assertSame($before, $count());
        } finally {
            gc_enable();
        }
    }

    public function testWaitingTakesAsLongAsTheSlowest(): void
    {
        $client = self::client();
        $start = microtime(true);
        $results = Scheduler::run(
            a: static fn () => $client->call('slow', 0.3, 'a')[0],
            b: static fn () => $client->call('slow', 0.1, 'b')[0],
            c: static fn () => array_sum(Scheduler::map(
                [1, 2, 3],
                static fn (int $i): int => $client->call('slow', 0.1, $i)[0],
                3,
            )),
        );
        self::assertSame(['a' => 'a', 'b' => 'b', 'c' => 6], $results);
        self::assertLessThan(0.55, microtime(true) - $start);
    }

    public function testAnExceptionGoesToTheFiberThatWaits(): void
    {
        $client = self::client();
        $caught = Scheduler::run(
            bad: fn (): string => self::thrown(
                ServerError::class,
                static fn () => $client->call('no_such'),
            )->getMessage(),
            good: static fn () => $client->call('same', 1)[0],
        );
        self::assertStringContainsString('no_such', $caught['bad']);
        self::assertSame(1, $caught['good']);
        $begun = 0;
        self::thrown(ServerError::class, static function () use ($client, &$begun): void {
            Scheduler::map(range(1, 100), static function (int $i) use ($client, &$begun): void {
                ++$begun;
                $client->call($i === 3 ? 'no_such' : 'same', $i);
            }, 5);
        });
        self::assertLessThan(15, $begun);
        self::assertSame([2], $client->call('same', 2));
    }

    public function testAFiberOfSomebodyElseBlocksAndDisturbsNobody(): void
    {
        $client = self::client();
        $results = Scheduler::map(range(1, 200), static function (int $i) use ($client): array {
            $first = $client->select('items', $i)[0][0];
            if ($i % 7 === 0) {
                // Blocks, so it reads answers of the scheduler's Fibers while their connection is settling others.
                $foreign = new \Fiber(static fn (): int => $client->select('items', $i + 1)[0][0]);
                $foreign->start();

                return [$first, $foreign->getReturn(), $client->select('items', $i + 2)[0][0]];
            }

            return [$first, $client->call('same', $i + 1)[0], $client->select('items', $i + 2)[0][0]];
        }, 40);
        foreach ($results as $i => $result) {
            self::assertSame([$i + 1, $i + 2, $i + 3], $result);
        }
    }

    public function testATimeOutInsideAFiber(): void
    {
        $client = self::client(requestTimeout: 0.2);
        $results = Scheduler::run(
            late: fn () => self::thrown(TimedOut::class, static fn () => $client->call('slow', 0.6, 1))->outcome->value,
            fine: static fn () => $client->call('slow', 0.05, 2)[0],
        );
        self::assertSame(['late' => 'perhaps executed', 'fine' => 2], $results);
        usleep(500000);
        self::assertSame([3], $client->call('same', 3));
    }

    public function testBatch(): void
    {
        $client = self::client();
        $batch = $client->batch();
        $first = $batch->select('items', 1);
        $batch->key('second')->select('items', [2]);
        $bad = $batch->key('bad')->eval('error("on purpose")');
        $batch->key('last')->insert('scratch', [null, 'x']);
        self::thrown(\LogicException::class, $first->get(...));
        self::thrown(\InvalidArgumentException::class, static fn () => $batch->key('bad')->ping());
        self::thrown(\BadMethodCallException::class, static fn () => $batch->nonsense());
        self::assertCount(4, $batch);
        $results = $batch->flush();
        self::assertCount(0, $batch);
        self::assertSame([0, 'second', 'bad', 'last'], array_keys($results));
        self::assertSame([[1, 'tuple_1']], $first->get());
        self::assertSame([[2, 'tuple_2']], $results['second']->get());
        self::assertSame('x', $results['last']->get()[1]);
        self::assertInstanceOf(ServerError::class, $bad->error());
        self::assertSame([], $batch->flush());
    }

    public function testABatchSendsWhileItIsFilled(): void
    {
        [$client, $other] = [self::client(), self::client()];
        $client->connect();
        $seen = static fn (): int => $other->eval('return box.space.scratch.index[0]:count()')[0];
        $before = $seen();
        $batch = $client->batch(sendEvery: 3);
        for ($i = 0; $i < 8; ++$i) {
            $batch->key("k$i")->insert('scratch', [null, "early $i"]);
        }
        for ($tries = 0; $seen() < $before + 6 && $tries < 1000; ++$tries) {
            usleep(1000);
        }
        self::assertSame($before + 6, $seen());
        self::assertCount(8, $batch);
        $names = array_map(static fn ($request) => $request->get()[1], $batch->flush());
        self::assertSame(array_map(static fn (int $i) => "early $i", range(0, 7)), array_values($names));
        self::assertSame($before + 8, $seen());
        $batch->ping();
        self::assertCount(1, $batch->flush());
        self::thrown(\InvalidArgumentException::class, static fn () => $client->batch(-1));
    }

    public function testARequestThatStandsInABatchTwiceIsRefusedAndNothingIsSent(): void
    {
        $client = self::client();
        $batch = $client->batch();
        $good = $batch->call('same', [1]);
        $batch->add($client->requests()->ping());
        $batch->add($good);
        self::thrown(\LogicException::class, static fn () => $batch->flush());
        self::assertFalse($good->isDone());
        self::assertSame([1], $client->run($good));
    }

    public function testARefusedRequestLeavesTheBatchAndTheOthersCanBeWaitedFor(): void
    {
        $client = self::client();
        $batch = $client->batch(sendEvery: 2);
        [$first, $second] = [$batch->call('same', [1]), $batch->call('same', [2])];
        $batch->call('same', [3]);
        self::thrown(\LogicException::class, static fn () => $batch->add($first));
        self::assertCount(2, $batch);
        $other = $client->batch();
        $other->add($second);
        self::thrown(\LogicException::class, static fn () => $other->flush());
        self::assertSame([], $other->flush());
        self::assertSame([[1], [2]], array_map(static fn ($request) => $request->get(), $batch->flush()));
    }

    public function testABatchOfANewClientIsSentWhileItIsFilled(): void
    {
        [$client, $other] = [self::client(), self::client()];
        $count = static fn (): int => $other->eval('return box.space.scratch.index[0]:count()')[0];
        $before = $count();
        $batch = $client->batch(sendEvery: 1);
        for ($i = 0; $count() < $before + 5 && $i < 2000; ++$i) {
            $batch->eval('box.space.scratch:insert{nil, "new"}');
            usleep(500);
        }
        self::assertLessThan(2000, $i);
        self::assertCount(count($batch), $batch->flush());
    }

    public function testAForkWhileABatchIsFilledHarmsNobody(): void
    {
        $client = self::client();
        $client->connect();
        $batch = $client->batch(sendEvery: 2);
        $mine = [$batch->call('same', [1]), $batch->call('same', [2])];
        $told = Processes::map([1, 2], static function (array $share) use ($client): array {
            $seen = [];
            foreach ([10, 11] as $value) {
                try {
                    $seen[] = $client->call('same', $value)[0];
                } catch (ConnectionLost) {
                    $seen[] = 'lost';
                }
            }

            return $seen;
        }, 2);
        // What is asked for first in the child may find the parent's session; the next has one of its own.
        foreach ($told as $seen) {
            self::assertContains($seen, [[10, 11], ['lost', 11]]);
        }
        $batch->flush();
        self::assertSame([[1], [2]], array_map(static fn ($request) => $request->get(), $mine));
    }

    public function testManyRequestsInFibersAreWrittenBeforeTheTurnEnds(): void
    {
        $client = self::client();
        $text = str_repeat('t', 200);
        $work = static fn (int $i): array => $client->call('same', $i, $text);
        $expected = array_map(static fn (int $i) => [$i, $text], range(0, 2999));
        self::assertSame($expected, Scheduler::map(range(0, 2999), $work, 600));
    }

    public function testBatchesInFibers(): void
    {
        $client = self::client();
        $sums = Scheduler::map(range(1, 10), static function (int $i) use ($client): int {
            $batch = $client->batch();
            for ($k = 1; $k <= 20; ++$k) {
                $batch->select('items', $i * $k);
            }

            return array_sum(array_map(static fn ($request) => $request->get()[0][0], $batch->flush()));
        }, 10);
        self::assertSame(array_map(static fn (int $i): int => 210 * $i, range(1, 10)), $sums);
    }

    public function testARequestIsSubmittedOnce(): void
    {
        $client = self::client();
        $request = $client->requests()->call('same', [1]);
        self::assertSame([1], $client->run($request));
        self::thrown(\LogicException::class, static fn () => $client->run($request));
        self::assertSame([1], $request->get());
    }

    public function testAnswersThatCameWhileTheCallerWasBusyAreNoTimeOut(): void
    {
        $client = self::client(requestTimeout: 0.3);
        $make = $client->requests();
        $requests = array_map(static fn (int $i) => $make->call('same', [$i, str_repeat('z', 100)]), range(0, 999));
        foreach ($client->pipeline($requests, 1000) as $i => $request) {
            self::assertSame($i, $request->get()[0]);
            if ($i === 0) {
                usleep(500000);
            }
        }
        self::assertSame(999, $i);
    }

    public function testPipelineBeyondNetMsgMaxDoesNotHang(): void
    {
        $client = self::client();
        $make = $client->requests();
        $big = str_repeat('x', 20000);
        $requests = (static function () use ($make, $big): \Generator {
            for ($i = 0; $i < 3000; ++$i) {
                yield "k$i" => $make->call('same', [$i, $big]);
            }
        })();
        $seen = 0;
        foreach ($client->pipeline($requests, 2000) as $key => $request) {
            self::assertSame("k$seen", $key);
            self::assertSame([$seen, $big], $request->get());
            ++$seen;
        }
        self::assertSame(3000, $seen);
    }

    public function testABatchBeyondNetMsgMaxDoesNotHang(): void
    {
        $client = self::client();
        $batch = $client->batch();
        $big = str_repeat('y', 10000);
        for ($i = 0; $i < 4000; ++$i) {
            $batch->call('same', [$i, $big]);
        }
        foreach ($batch->flush() as $i => $request) {
            self::assertSame([$i, $big], $request->get());
        }
    }

    public function testAServerKilledMidPipelineFailsWhatIsOpen(): void
    {
        self::needServer();
        $server = TarantoolServer::start();
        $client = new Client(new Options($server->uri, reconnect: 1));
        $requests = [];
        for ($i = 0; $i < 200; ++$i) {
            $requests[] = $client->requests()->call('slow', [$i < 50 ? 0 : 5, $i]);
        }
        $answered = $lost = 0;
        foreach ($client->pipeline($requests, 200) as $i => $request) {
            if ($i === 10) {
                $server->kill();
            }
            if ($request->error() === null) {
                self::assertSame([$i], $request->get());
                ++$answered;
            } else {
                self::thrown(ConnectionLost::class, $request->get(...));
                ++$lost;
            }
        }
        self::assertSame(200, $answered + $lost);
        self::assertGreaterThanOrEqual(150, $lost);
        self::thrown(ConnectionFailed::class, $client->ping(...));
    }

    public function testProcesses(): void
    {
        if (!function_exists('pcntl_fork')) {
            self::markTestSkipped('The pcntl extension is not loaded');
        }
        $client = self::client();
        $client->ping();
        // The client of the parent is used in the children: each opens a socket of its own.
        $work = static fn (array $ids): array => [
            $client->eval('return box.session.id()')[0],
            array_sum(Scheduler::map($ids, static fn (int $id): int => $client->select('items', $id)[0][0], 10)),
        ];
        $results = Processes::map(range(1, 100), $work, 3);
        self::assertSame(5050, array_sum(array_column($results, 1)));
        $session = $client->eval('return box.session.id()')[0];
        self::assertCount(4, array_unique([$session, ...array_column($results, 0)]));
        $error = self::thrown(ProcessFailed::class, static fn () => Processes::map(
            [1, 2],
            static fn (array $share, int $number) => $number === 1 ? throw new \LogicException('on purpose') : 1,
            2,
        ));
        self::assertStringContainsString('on purpose', $error->getMessage());
        self::thrown(ProcessFailed::class, static fn () => Processes::map([1], static function (): void {
            posix_kill(posix_getpid(), SIGKILL);
        }, 1));
        self::thrown(ProcessFailed::class, static fn () => Processes::map([1], static fn () => sleep(20), 1, 0.2));
    }
}
