<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Unit;

use Phpdyno\Tarantool\Exception\ConnectionLost;
use Phpdyno\Tarantool\Exception\Outcome;
use Phpdyno\Tarantool\Exception\TimedOut;
use Phpdyno\Tarantool\Protocol\AnswerKind;
use Phpdyno\Tarantool\Protocol\Operation;
use Phpdyno\Tarantool\Request;
use Phpdyno\Tarantool\Tests\Support\TestCase;
use Phpdyno\Tarantool\Transport\Outbox;

final class OutboxTest extends TestCase
{
    public function testSyncsStartAgainAndSkipThoseInUse(): void
    {
        $outbox = new Outbox(1);
        (new \ReflectionProperty($outbox, 'sync'))->setValue($outbox, 0xfffffffe);
        $outbox->abandoned[2] = true;
        $outbox->outstanding[1] = $this->request();
        $outbox->add($this->request());
        $outbox->add($this->request());
        $outbox->add($this->request());
        self::assertSame([1, 0xffffffff, 3, 4], array_keys($outbox->outstanding));
        self::assertSame(7, $outbox->reserve(7));
        foreach ([0, 1, 2, -1, 0x100000000] as $taken) {
            self::assertNotContains($outbox->reserve($taken), [0, 1, 2, 3, 4]);
        }
    }

    public function testTogetherTheyAreFramedAsOneByOne(): void
    {
        foreach ([0, 0xfffffffd] as $latest) {
            $boxes = $bytes = [];
            foreach (['one by one', 'together'] as $way) {
                $outbox = new Outbox(1);
                (new \ReflectionProperty($outbox, 'sync'))->setValue($outbox, $latest);
                $outbox->abandoned[$latest + 2] = true;
                $outbox->outstanding[1 + $latest] = $this->request();
                $raw = new Request(new Operation(1, AnswerKind::Raw), "\xce\0\0\0\0");
                $requests = array_map(fn (int $i) => $this->request(str_repeat('b', $i * 100)), range(0, 5));
                array_splice($requests, 2, 0, [$raw]);
                $way === 'together' ? $outbox->addAll($requests) : array_map($outbox->add(...), $requests);
                self::assertInstanceOf(ConnectionLost::class, $raw->error());
                $boxes[] = array_keys($outbox->outstanding);
                $bytes[] = [(new \ReflectionProperty($outbox, 'bytes'))->getValue($outbox), $outbox->queued];
            }
            self::assertCount(7, $boxes[0]);
            self::assertSame($boxes[0], $boxes[1]);
            self::assertSame($bytes[0], $bytes[1]);
        }
    }

    public function testAnEarlyWriteIsAskedForByWhatIsNewAndByWhatIsUnderWay(): void
    {
        [$ours] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $outbox = new Outbox(1_000_000_000);
        $counts = [];
        foreach (range(1, 4) as $_) {
            for ($count = 0; $outbox->queued < $outbox->early; ++$count) {
                $outbox->add($this->request(str_repeat('b', 26)));
            }
            $counts[] = $count;
            $outbox->write($ours);
            $outbox->early > $outbox->queued ?: self::fail('a write would be asked for at once');
        }
        self::assertSame([26, 26, 26, 32], $counts);
    }

    public function testFramesAreWrittenInOrderHoweverLittleTheSocketTakes(): void
    {
        [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        stream_set_blocking($ours, false);
        stream_set_blocking($theirs, false);
        $outbox = new Outbox(1_000_000_000);
        $expected = $received = '';
        for ($i = 1; $i <= 300; ++$i) {
            $body = str_repeat(chr($i & 0x7f), $i * 37);
            $expected .= "\xce" . pack('N', 9 + strlen($body)) . "\x82\x00\x01\x01\xce" . pack('N', $i) . $body;
            $outbox->add($this->request($body));
        }
        for ($turns = 0; $outbox->isWaiting() && $turns < 10000; ++$turns) {
            $outbox->write($ours);
            $received .= fread($theirs, 5000);
        }
        while ('' !== $chunk = (string) fread($theirs, 65536)) {
            $received .= $chunk;
        }
        self::assertTrue($expected === $received);
    }

    public function testExpiredRequestsLeaveTheQueue(): void
    {
        [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        stream_set_blocking($ours, false);
        $outbox = new Outbox(1000);
        $sent = $this->request(str_repeat('a', 3_000_000));
        $late = [$this->request('bb'), $this->request('cc')];
        foreach ([$sent, ...$late] as $request) {
            $outbox->add($request);
        }
        $outbox->write($ours);
        $fresh = $this->request('dd');
        $outbox->add($fresh);
        $outbox->expire(hrtime(true) + 1_000_000, 1.0);
        self::assertSame(Outcome::PerhapsExecuted, self::thrown(TimedOut::class, $sent->get(...))->outcome);
        foreach ($late as $request) {
            self::assertSame(Outcome::Unsent, self::thrown(TimedOut::class, $request->get(...))->outcome);
        }
        self::assertFalse($fresh->isDone());
        self::assertSame([4], array_keys($outbox->outstanding));
        self::assertSame([1], array_keys($outbox->abandoned));
        $received = '';
        for ($turns = 0; $outbox->isWaiting() && $turns < 10000; ++$turns) {
            $outbox->write($ours);
            $received .= fread($theirs, 1 << 20);
        }
        $received .= stream_get_contents($theirs, 3_000_030 - strlen($received));
        $frame = static fn (int $sync, string $body): string => "\xce" . pack('N', 9 + strlen($body))
            . "\x82\x00\x01\x01\xce" . pack('N', $sync) . $body;
        self::assertTrue($received === $frame(1, $sent->body) . $frame(4, 'dd'));
    }

    private function request(string $body = "\x80"): Request
    {
        return new Request(new Operation(1, AnswerKind::Rows), $body);
    }
}
