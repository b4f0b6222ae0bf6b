<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Unit;

use Phpdyno\Tarantool\Codec\Encoder;
use Phpdyno\Tarantool\Codec\LazyRows;
use Phpdyno\Tarantool\Exception\ProtocolError;
use Phpdyno\Tarantool\Exception\ServerError;
use Phpdyno\Tarantool\Options;
use Phpdyno\Tarantool\Protocol\AnswerKind;
use Phpdyno\Tarantool\Protocol\AnswerReader;
use Phpdyno\Tarantool\Protocol\Operation;
use Phpdyno\Tarantool\Request;
use Phpdyno\Tarantool\Tests\Support\TestCase;
use Phpdyno\Tarantool\Tests\Support\Values;
use Phpdyno\Tarantool\Transport\Inbox;
use Phpdyno\Tarantool\Transport\Outbox;

/**
 * Whatever shortcut a frame takes through the inbox, the result is that of the general way.
 */
final class InboxTest extends TestCase
{
    /** @return iterable<string, array{string}> */
    public function bodies(): iterable
    {
        $values = new Values(5);
        yield 'no body' => [''];
        yield 'an empty map' => ["\x80"];
        yield 'no row' => [self::rows()];
        yield 'a row' => [self::rows([7, 'seven'])];
        yield 'a row of everything' => [self::rows(array_map(static fn () => $values->any(), range(1, 12)))];
        yield 'a row of no field' => [self::rows([])];
        yield 'a row of many fields' => [self::rows(range(1, 400))];
        yield 'a row above 64 KiB' => [self::rows([1, str_repeat('x', 70_000)])];
        yield 'a value that is no row' => [self::rows('text')];
        yield 'a row within a row' => [self::rows([1, [2, [300, ['k' => 'v']]]])];
        yield 'two rows' => [self::rows([1, 'a'], [300, 'b'])];
        yield 'a short list of rows' => ["\x81\x30" . Encoder::value([[1, 'a']])];
        yield 'bytes after the row' => [self::rows([1]) . "\x05"];
        yield 'a row that ends too early' => [substr(self::rows([1, 'abc']), 0, -1)];
        yield 'more rows than bytes' => ["\x81\x30\xdd\x7f\xff\xff\xff\x91\x01"];
    }

    /** @dataProvider bodies */
    public function testTheUsualFrameMeansWhatAnyOtherFrameMeans(string $body): void
    {
        foreach (AnswerKind::cases() as $kind) {
            foreach ([80, 0] as $known) {
                $usual = "\x83\0\xce\0\0\0\0\x01\xcf" . pack('J', 1) . "\x05\xce" . pack('N', 80);
                $other = "\x83\x00\x00\x01\x01\x05\x50";
                [$result, $rest] = self::received($usual . $body, $kind, $known);
                self::assertEquals(self::received($other . $body, $kind, $known), [$result, $rest]);
                self::assertSame('done', $rest);
            }
        }
    }

    public function testFlippedBitsSettleARequestOnceOrEndTheSession(): void
    {
        mt_srand(6);
        $start = "\x83\0\xce\0\0\0\0\x01\xcf";
        $bodies = [self::rows([1, 'tuple_1']), self::rows([300, 'tuple_300']), "\x80", self::rows([2, 'x'])];
        $stream = '';
        foreach ($bodies as $i => $body) {
            $stream .= self::frame($start . pack('J', $i + 1) . "\x05\xce\0\0\0\x50" . $body);
        }
        $outcomes = ['all' => 0, 'some' => 0, 'ended' => 0];
        for ($i = 0; $i < 5000; ++$i) {
            $bytes = $stream;
            for ($flips = mt_rand(1, 2); $flips > 0; --$flips) {
                $at = mt_rand(0, strlen($bytes) - 1);
                $bytes[$at] = chr(ord($bytes[$at]) ^ (1 << mt_rand(0, 7)));
            }
            [$inbox, $outbox] = self::boxes();
            $settled = 0;
            foreach ($bodies as $_) {
                $request = new Request(new Operation(1, AnswerKind::Rows), '');
                $request->listener = static function () use (&$settled): void {
                    ++$settled;
                };
                $outbox->add($request);
            }
            try {
                $inbox->append(substr($bytes, 0, 50));
                $inbox->dispatch();
                $inbox->append(substr($bytes, 50));
                $inbox->dispatch();
                ++$outcomes[$settled === count($bodies) ? 'all' : 'some'];
            } catch (ProtocolError | ServerError) {
                ++$outcomes['ended'];
            }
            self::assertSame(count($bodies) - $settled, count($outbox->outstanding));
        }
        foreach ($outcomes as $outcome => $count) {
            self::assertGreaterThan(50, $count, $outcome);
        }
    }

    /**
     * @return array{mixed, string} the result or the class of the failure, and what became of the request
     */
    private static function received(string $content, AnswerKind $kind, int $schemaVersion): array
    {
        [$inbox, $outbox] = self::boxes();
        // Another answer first, so that the schema version is known, or another one is.
        $outbox->add($first = new Request(new Operation(64, AnswerKind::Nothing), "\x80"));
        $usual = "\x83\0\xce\0\0\0\0\x01\xcf" . pack('J', 1) . "\x05\xce";
        $inbox->append(self::frame($usual . pack('N', $schemaVersion) . "\x80"));
        $inbox->dispatch();
        self::assertTrue($first->isDone());
        $request = new Request(new Operation(1, $kind), '');
        $outbox->outstanding[1] = $request;
        $inbox->append(self::frame($content) . self::frame("\x83\x00\x00\x01\x02\x05\x50\x80"));
        $outbox->outstanding[2] = $next = new Request(new Operation(64, AnswerKind::Nothing), "\x80");
        $inbox->dispatch();
        self::assertTrue($next->isDone(), 'the next frame was not found');
        self::assertSame(80, $inbox->schemaVersion);
        try {
            $result = $request->get();
            $result = match (true) {
                $result instanceof LazyRows => iterator_to_array($result),
                $kind === AnswerKind::Raw => $result === $content, // They hold the header, which differs.
                default => $result,
            };
        } catch (ProtocolError $error) {
            $result = $error::class;
        }

        return [$result, $request->isDone() ? 'done' : 'lost'];
    }

    private static function rows(mixed ...$rows): string
    {
        return "\x81\x30\xdd" . pack('N', count($rows)) . implode('', array_map(Encoder::value(...), $rows));
    }

    private static function frame(string $content): string
    {
        return "\xce" . pack('N', strlen($content)) . $content;
    }

    /** @return array{Inbox, Outbox} */
    private static function boxes(): array
    {
        $options = new Options('tcp://127.0.0.1:1');
        $outbox = new Outbox(1_000_000_000);

        return [new Inbox($options, $outbox, new AnswerReader($options->codec)), $outbox];
    }
}
