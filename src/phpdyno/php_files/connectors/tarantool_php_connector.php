<?php
// tarantool-php/client, unmodified: on its own connection, or on ours, which its Fibers share.
declare(strict_types=1);

namespace Phpdyno\Connectors;

use Phpdyno\Tarantool\Bridge\TarantoolPhp\CodecPacker;
use Phpdyno\Tarantool\Bridge\TarantoolPhp\MultiplexedConnection;
use Phpdyno\Tarantool\Options;
use Phpdyno\Tarantool\Transport\Connection as Socket;
use Tarantool\Client\Client;
use Tarantool\Client\Connection\StreamConnection;
use Tarantool\Client\Handler\DefaultHandler;
use Tarantool\Client\Packer\Packer;
use Tarantool\Client\Packer\PurePacker;
use Tarantool\Client\Schema\Criteria;
use Tarantool\Client\Schema\Operations;
use Tarantool\Client\Schema\Space;

final class TarantoolPhpConnector implements Connector
{
    private readonly Client $client;
    private readonly Space $space;

    public function __construct(array $row)
    {
        $packer = match ($row['packer']) {
            'pure' => new PurePacker(),
            'codec' => new CodecPacker(),
            'msgpack' => self::extension_packer(),
        };
        $options = ['socket_timeout' => 30.0, 'tcp_nodelay' => true];
        $connection = $row['engine'] === 'fibers'
            ? new MultiplexedConnection(new Socket(new Options($row['address'], requestTimeout: 30.0)))
            : StreamConnection::create($row['address'], $options);
        $this->client = new Client(new DefaultHandler($connection, $packer));
        $this->client->ping();
        $this->space = $this->client->getSpaceById(SPACE);
    }

    private static function extension_packer(): Packer
    {
        require_once __DIR__ . '/extension_packer.php';
        return new ExtensionPacker();
    }

    public function restore(int $key): void
    {
        $this->space->replace([$key, "tuple_$key"]);
        $this->space->delete([$key + FURTHER]);
    }

    public function operations(): array
    {
        return [...$this->plain(), ...$this->sql()];
    }

    /** @return array<string, Operation> */
    private function plain(): array
    {
        $client = $this->client;
        $space = $this->space;
        $same = static fn (mixed $answer): mixed => $answer;
        $first = static fn (array $answer): mixed => $answer[0] ?? null;
        return [
            'ping' => new Operation(
                static fn (int $key) => $client->ping(),
                static fn (int $key, $answer): bool => $answer === null,
                static fn ($answer) => null,
            ),
            'call' => new Operation(
                static fn (int $key) => $client->call('math.min', 42, $key),
                static fn (int $key, $answer): bool => $answer === [$key < 42 ? $key : 42],
                $same,
            ),
            'eval' => new Operation(
                static fn (int $key) => $client->evaluate('return ...', $key),
                static fn (int $key, $answer): bool => $answer === [$key],
                $same,
            ),
            'select' => new Operation(
                static fn (int $key) => $space->select(Criteria::key([$key])),
                static fn (int $key, $answer): bool => $answer === [[$key, "tuple_$key"]],
                $same,
            ),
            'insert' => new Operation(
                static fn (int $key) => $space->insert([null, "foobar_$key"]),
                static fn (int $key, $answer): bool => $answer[0][0] > 0 && $answer[0][1] === "foobar_$key",
                static fn ($answer) => ['new', $answer[0][1]],
            ),
            'replace' => new Operation(
                static fn (int $key) => $space->replace([$key, 'a']),
                static fn (int $key, $answer): bool => $answer === [[$key, 'a']],
                $first,
            ),
            'update' => new Operation(
                static fn (int $key) => $space->update([$key], Operations::set(1, 'a')),
                static fn (int $key, $answer): bool => $answer === [[$key, 'a']],
                $first,
            ),
            'upsert' => new Operation(
                static fn (int $key) => $space->upsert([$key, 'a'], Operations::set(1, 'b')),
                static fn (int $key, $answer): bool => $answer === null,
                static fn ($answer) => null,
            ),
            'delete' => new Operation(
                static fn (int $key) => $space->delete([$key]),
                static fn (int $key, $answer): bool => $answer === [[$key, "tuple_$key"]],
                $first,
            ),
        ];
    }

    /** @return array<string, Operation> plain and prepared */
    private function sql(): array
    {
        $client = $this->client;
        $made = [];
        foreach (SQL as $name => $sql) {
            $binds = binds_of($name);
            $query = $name === 'sql-select';
            $right = $query
                ? static fn (int $key, $answer): bool => $answer === [[$key, "tuple_$key"]]
                : static fn (int $key, $answer): bool => $answer === 1;
            $same = static fn (mixed $answer): mixed => $answer;
            $made[$name] = new Operation(
                $query
                    ? static fn (int $key) => $client->executeQuery($sql, ...$binds($key))->getData()
                    : static fn (int $key) => $client->executeUpdate($sql, ...$binds($key))->count(),
                $right,
                $same,
            );
            $statement = null;
            $given = binds_of($name, prepared: true);
            $made["$name-prepared"] = new Operation(
                static function (int $key) use (&$statement, $client, $name, $given, $query) {
                    $statement ??= $client->prepare(PREPARED[$name]);
                    return $query
                        ? $statement->executeQuery(...$given($key))->getData()
                        : $statement->executeUpdate(...$given($key))->count();
                },
                $right,
                $same,
            );
        }
        return $made;
    }
}
