<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Integration;

use Phpdyno\Tarantool\Client;
use Phpdyno\Tarantool\Codec\ExtensionCodec;
use Phpdyno\Tarantool\Codec\LazyRows;
use Phpdyno\Tarantool\Exception\ConnectionFailed;
use Phpdyno\Tarantool\Exception\EncodingFailed;
use Phpdyno\Tarantool\Exception\ServerError;
use Phpdyno\Tarantool\Exception\UnknownName;
use Phpdyno\Tarantool\IteratorType;
use Phpdyno\Tarantool\Options;
use Phpdyno\Tarantool\Tests\Support\TarantoolServer;
use Phpdyno\Tarantool\Tests\Support\TestCase;
use Phpdyno\Tarantool\Value;

final class OperationsTest extends TestCase
{
    private static ?TarantoolServer $tcp = null;

    public static function tearDownAfterClass(): void
    {
        self::$tcp = null;
    }

    /** @return iterable<string, array{bool, bool}> */
    public function transports(): iterable
    {
        yield 'unix, pure codec' => [false, false];
        yield 'tcp, pure codec' => [true, false];
        yield 'unix, msgpack extension' => [false, true];
    }

    /** @dataProvider transports */
    public function testAllOperations(bool $tcp, bool $extension): void
    {
        if ($extension && !extension_loaded('msgpack')) {
            self::markTestSkipped('The msgpack extension is not loaded');
        }
        self::needServer();
        if ($tcp) {
            self::$tcp ??= TarantoolServer::start(true);
        }
        $options = ['uri' => $tcp ? self::$tcp->uri : self::server()->uri];
        $client = new Client(new Options(...$options + ($extension ? ['codec' => new ExtensionCodec()] : [])));
        $client->eval('box.space.scratch:truncate()');
        $client->ping();
        self::assertSame([1, 'two', [3], null], $client->call('same', 1, 'two', [3], null));
        self::assertSame([3, ['a' => 1.5]], $client->eval('return 1 + ..., {a = 1.5}', 2));
        self::assertSame([10, 'ten'], $client->insert('scratch', [10, 'ten']));
        self::assertSame([10, 'TEN'], $client->replace('scratch', [10, 'TEN']));
        self::assertSame([10, 'Ten'], $client->update('scratch', 10, [['=', 1, 'Ten']]));
        self::assertNull($client->update('scratch', 99, [['=', 1, 'x']]));
        $client->upsert('scratch', [11, 'eleven'], [['=', 1, 'again']]);
        $client->upsert('scratch', [11, 'eleven'], [['=', 1, 'again']]);
        self::assertSame([[10, 'Ten'], [11, 'again']], $client->select('scratch'));
        self::assertSame([[11, 'again']], $client->select('scratch', 'again', 'by_name'));
        self::assertSame([10, 'Ten'], $client->delete('scratch', 10));
        self::assertNull($client->delete('scratch', [10]));
        self::assertSame([[11, 'again']], $client->select('scratch', [], limit: 5));
        $id = $client->schema()->spaceId('scratch');
        self::assertSame([[11, 'again']], $client->select($id, 11, 0));
        self::assertSame(['id', 'name'], $client->schema()->format('scratch')->names);
    }

    public function testIteratorsLimitsAndOffsets(): void
    {
        $client = self::client();
        $ids = static fn (IteratorType $iterator, int $limit = 3, int $offset = 0): array => array_column(
            $client->select('items', 500, 0, $limit, $offset, $iterator),
            0,
        );
        self::assertSame([500], $ids(IteratorType::Eq));
        self::assertSame([500], $ids(IteratorType::Req));
        self::assertSame([501, 502, 503], $ids(IteratorType::Gt));
        self::assertSame([500, 501], $ids(IteratorType::Ge, 2));
        self::assertSame([499, 498, 497], $ids(IteratorType::Lt));
        self::assertSame([498, 497], $ids(IteratorType::Le, 2, 2));
        self::assertSame([], $ids(IteratorType::Eq, 0));
        self::assertSame([4, 5], array_column($client->select('items', [], 0, 2, 3, IteratorType::All), 0));
        self::assertCount(1000, $client->select('items'));
        $lazy = $client->run($client->requests()->selectLazy('items', 995, 0, iterator: IteratorType::Ge));
        self::assertInstanceOf(LazyRows::class, $lazy);
        self::assertCount(6, $lazy);
        self::assertSame([997, 'tuple_997'], $lazy[2]);
    }

    public function testSql(): void
    {
        $client = self::client();
        $client->eval('box.space.scratch:truncate()');
        $insert = $client->execute('insert into "scratch" values (?, ?), (?, ?)', [1, 'a', 2, 'b']);
        self::assertSame(2, $insert->rowCount);
        self::assertSame([], $insert->rows);
        $auto = $client->execute('insert into "scratch" values (null, :n)', ['n' => 'c']);
        self::assertCount(1, $auto->autoincrementIds);
        $select = $client->execute('select "id", "name" from "scratch" where "id" < ? order by 1', [3]);
        self::assertSame([[1, 'a'], [2, 'b']], $select->rows);
        self::assertSame(['id', 'name'], array_column($select->columns, 'name'));
        self::assertSame(['id' => 1, 'name' => 'a'], $select->assoc()[0]);
        $error = self::thrown(ServerError::class, static fn () => $client->execute('select nonsense'));
        self::assertNotSame('', $error->getMessage());
        self::assertGreaterThan(0, $error->getCode());
        $statement = $client->prepare('select "name" from "scratch" where "id" = :id');
        self::assertSame(1, $statement->bindCount());
        self::assertSame([['b']], $statement->execute(['id' => 2])->rows);
        $batch = $client->batch();
        $requests = [$batch->add($statement->request([':id' => 1])), $batch->add($statement->request([2]))];
        $batch->flush();
        self::assertSame([[['a']], [['b']]], array_map(static fn ($request) => $request->get()->rows, $requests));
        $statement->close();
        self::thrown(\LogicException::class, static fn () => $statement->execute(['id' => 1]));
    }

    public function testUnprepareLeavesTheStatementToOthers(): void
    {
        $client = self::client();
        $one = $client->prepare('select 1 + 1');
        $two = $client->prepare('select 1 + 1');
        $count = 'return box.info.sql and box.info:sql().cache.stmt_count or box.info.sql().cache.stmt_count';
        $one->close();
        $one->close();
        self::assertSame([[2]], $two->execute()->rows);
        $before = $client->eval($count)[0];
        $two->close();
        self::assertSame($before - 1, $client->eval($count)[0]);
    }

    public function testErrorsOfTheServer(): void
    {
        $client = self::client();
        $client->replace('scratch', [1, 'a']);
        $error = self::thrown(ServerError::class, static fn () => $client->insert('scratch', [1, 'b']));
        self::assertSame(3, $error->getCode());
        self::assertStringContainsString('Duplicate key', $error->getMessage());
        self::assertCount(1, $error->stack);
        self::assertSame('ClientError', $error->stack[0]->type);
        $code = 'local a = box.error.new(1000, "inner") local b = box.error.new(1001, "outer") b:set_prev(a) b:raise()';
        $client->eval('rawset(_G, "nested", function() ' . str_replace(['box.error.new(1000, "inner")',
            'box.error.new(1001, "outer")'], ['box.error.new({code = 1000, reason = "inner"})',
            'box.error.new({code = 1001, reason = "outer"})'], $code) . ' end)');
        $error = self::thrown(ServerError::class, static fn () => $client->call('nested'));
        self::assertSame(['outer', 'inner'], array_map(static fn ($info) => $info->message, $error->stack));
        self::assertSame([1001, 1000], array_map(static fn ($info) => $info->code, $error->stack));
        self::thrown(ServerError::class, static fn () => $client->insert('scratch', ['no number', 1]));
        self::thrown(ServerError::class, static fn () => $client->select(999999, 1));
        self::thrown(EncodingFailed::class, static fn () => $client->insert('scratch', [1, static fn () => 1]));
        $client->ping();
    }

    public function testUnknownNamesAndAChangedSchema(): void
    {
        $client = self::client();
        $other = self::client();
        self::thrown(UnknownName::class, static fn () => $client->select('nowhere', 1));
        $error = self::thrown(UnknownName::class, static fn () => $client->select('items', 1, 'nothing'));
        self::assertStringContainsString('nothing', $error->getMessage());
        $other->eval('box.schema.space.create("moving"):create_index("pk") box.space.moving:replace{1, "old"}');
        self::assertSame([[1, 'old']], $client->select('moving', 1));
        // The other client changes the schema while this one hears nothing of it: the number it knows is dead.
        $other->eval('box.space.moving:drop() box.schema.space.create("other") box.space.other:create_index("pk")
            box.schema.space.create("moving", {id = 3000}):create_index("pk") box.space.moving:replace{1, "new"}
            box.space.other:drop()');
        self::assertSame([[1, 'new']], $client->select('moving', 1));
        self::assertSame(3000, $client->schema()->spaceId('moving'));
        $other->eval('box.space.moving:drop()');
        self::thrown(UnknownName::class, static fn () => $client->select('moving', 1));
    }

    public function testARenamedSpaceIsNoticedByTheSchemaVersion(): void
    {
        $client = self::client();
        $other = self::client();
        $other->eval('box.schema.space.create("current"):create_index("pk") box.space.current:replace{1, "first"}');
        self::assertSame([[1, 'first']], $client->select('current', 1));
        self::assertSame([1, 'second'], $client->replace('current', [1, 'second']));
        $other->eval('box.space.current:rename("former") box.schema.space.create("current"):create_index("pk")
            box.space.current:create_index("second") box.space.current:replace{1, "third"}');
        $client->ping();
        self::assertSame([[1, 'third']], $client->select('current', 1));
        self::assertSame([1, 'fourth'], $client->replace('current', [1, 'fourth']));
        self::assertSame([[1, 'fourth']], $client->select('current', 1, 'second'));
        self::assertSame([[1, 'second']], $client->select('former', 1));
    }

    public function testExtensionTypes(): void
    {
        $client = self::client();
        $uuid = Value\Uuid::fromString('64d22e4d-ac92-4a23-899a-e59f34af5479');
        $number = Value\Decimal::fromString('-12345678901234567890.5');
        [$text, $sum, $back] = $client->eval(
            'local u, d = ... return tostring(u), d + 1, u',
            $uuid,
            $number,
        );
        self::assertSame((string) $uuid, $text);
        self::assertSame('-12345678901234567889.5', (string) $sum);
        self::assertEquals($uuid, $back);
        [$a, $b, $c] = $client->eval('local d = require("decimal") return d.new("0.001"), d.new("1e20"), d.new("-7")');
        self::assertSame(['0.001', '100000000000000000000', '-7'], array_map(strval(...), [$a, $b, $c]));
        [$big] = $client->eval('return 18446744073709551615ULL');
        self::assertSame('18446744073709551615', (string) $big);
        self::assertSame([true], $client->eval('return ... == 18446744073709551615ULL', $big));
        $error = $client->eval('local s = box.session.settings or {}
            pcall(function() box.session.settings.error_marshaling_enabled = true end)
            return box.error.new({code = 77, reason = "as a value"})')[0];
        self::assertInstanceOf(Value\ErrorStack::class, $error);
        self::assertSame('as a value', $error->errors[0]->message);
    }

    public function testAuthentication(): void
    {
        $alice = self::client(user: 'alice', password: 'secret');
        self::assertSame(['alice'], $alice->eval('return box.session.user()'));
        self::assertSame(['guest'], self::client()->eval('return box.session.user()'));
        foreach ([['alice', 'wrong'], ['nobody-like-that', 'x']] as [$user, $password]) {
            $client = self::client(user: $user, password: $password);
            $error = self::thrown(ConnectionFailed::class, $client->ping(...));
            self::assertStringContainsString('Authentication failed', $error->getMessage());
            self::assertInstanceOf(ServerError::class, $error->getPrevious());
        }
    }

    public function testATupleOfTenMegabytes(): void
    {
        $client = self::client(requestTimeout: 20.0);
        $big = str_repeat('0123456789', 1024 * 1024);
        self::assertSame([1, $big], $client->replace('scratch', [1, $big]));
        self::assertSame([[1, $big]], $client->select('scratch', 1));
        $client->delete('scratch', 1);
    }
}
