<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Fake;

use Phpdyno\Tarantool\Exception\ConnectionLost;
use Phpdyno\Tarantool\Exception\Outcome;
use Phpdyno\Tarantool\Scheduler;

/**
 * A server that answers in random order and cuts connections at random places, also inside a frame.
 */
final class FakeChaosTest extends FakeTestCase
{
    /** @dataProvider seeds */
    public function testEachRequestEndsOnceAndNoneIsExecutedTwice(int $seed): void
    {
        $log = tempnam(sys_get_temp_dir(), 'chaos');
        $client = $this->scripted(static function (FakePeer $peer, int $number) use ($seed, $log): void {
            mt_srand($seed + $number);
            $waiting = [];
            for ($life = mt_rand(20, 120); $life > 0 && $request = $peer->read(); --$life) {
                if ($request['type'] === 10) {
                    file_put_contents($log, $request['body'][0x21][0] . "\n", FILE_APPEND);
                }
                $waiting[] = $request;
                if (mt_rand(0, 3) === 0) {
                    shuffle($waiting);
                    while ($waiting !== [] && mt_rand(0, 9) > 0) {
                        $answered = array_pop($waiting);
                        $peer->rows($answered['sync'], $answered['body'][0x21][0] ?? $answered['body'][0x20][0]);
                    }
                }
            }
            $peer->raw(substr("\xce\0\0\0\x20\x83\0\xce\0\0\0\0\x01\xcf", 0, mt_rand(0, 12)));
        }, reconnect: 3, requestTimeout: 1.0);
        $ended = [];
        $outcomes = Scheduler::map(range(1, 400), static function (int $i) use ($client, &$ended): string {
            try {
                $value = $i % 2 === 0 ? $client->call('x', $i)[0] : $client->select(512, $i)[0];

                return $value === $i ? 'right' : 'wrong';
            } catch (ConnectionLost $lost) {
                return $lost->outcome->value;
            } catch (\Phpdyno\Tarantool\Exception\TimedOut) {
                return 'late';
            } finally {
                $ended[] = $i;
            }
        }, 40);
        $executed = file($log, FILE_IGNORE_NEW_LINES);
        unlink($log);
        self::assertCount(400, $ended);
        self::assertSame(range(1, 400), array_map(static fn (int $key): int => $key + 1, array_keys($outcomes)));
        $counts = array_count_values($outcomes) + ['right' => 0, 'wrong' => 0, Outcome::PerhapsExecuted->value => 0];
        self::assertSame(0, $counts['wrong']);
        self::assertGreaterThan(100, $counts['right']);
        self::assertGreaterThan(5, $counts[Outcome::PerhapsExecuted->value]);
        self::assertSame(count($executed), count(array_unique($executed)), 'A call was executed twice');
        foreach ($outcomes as $key => $outcome) {
            if ($outcome === Outcome::Unsent->value) {
                self::assertNotContains((string) ($key + 1), $executed);
            }
        }
    }

    /** @return iterable<array{int}> */
    public function seeds(): iterable
    {
        foreach ([1, 100, 10000] as $seed) {
            yield "seed $seed" => [$seed];
        }
    }
}
