<?php
// Our own client, php/tarantool.
declare(strict_types=1);

namespace Phpdyno\Connectors;

use Phpdyno\Tarantool\Bridge\Revolt\RevoltWaiter;
use Phpdyno\Tarantool\Client;
use Phpdyno\Tarantool\Codec\ExtensionCodec;
use Phpdyno\Tarantool\Codec\PureCodec;
use Phpdyno\Tarantool\Options;

final class OwnConnector implements Connector
{
    public readonly Client $client;

    public function __construct(array $row)
    {
        $codec = $row['packer'] === 'msgpack' ? new ExtensionCodec() : new PureCodec();
        $options = new Options($row['address'], requestTimeout: 30.0, codec: $codec, codeCache: $row['code_cache'] ?? null);
        $this->client = new Client($options, $row['engine'] === 'revolt' ? new RevoltWaiter() : null);
        $this->client->connect();
    }

    public function operations(): array
    {
        return [...$this->plain(), ...$this->sql()];
    }

    public function restore(int $key): void
    {
        $this->client->replace(SPACE, [$key, "tuple_$key"]);
        $this->client->delete(SPACE, $key + FURTHER);
    }

    /** @return array<string, Operation> */
    private function plain(): array
    {
        $client = $this->client;
        $make = $client->requests();
        $same = static fn (mixed $answer): mixed => $answer;
        return [
            'ping' => new Operation(
                static fn (int $key) => $client->ping(),
                static fn (int $key, $answer): bool => $answer === null,
                static fn ($answer) => null,
                static fn (int $key) => $make->ping(),
            ),
            'call' => new Operation(
                static fn (int $key) => $client->call('math.min', 42, $key),
                static fn (int $key, $answer): bool => $answer === [$key < 42 ? $key : 42],
                $same,
                static fn (int $key) => $make->call('math.min', [42, $key]),
            ),
            'eval' => new Operation(
                static fn (int $key) => $client->eval('return ...', $key),
                static fn (int $key, $answer): bool => $answer === [$key],
                $same,
                static fn (int $key) => $make->eval('return ...', [$key]),
            ),
            'select' => new Operation(
                static fn (int $key) => $client->select(SPACE, $key),
                static fn (int $key, $answer): bool => $answer === [[$key, "tuple_$key"]],
                $same,
                static fn (int $key) => $make->select(SPACE, $key),
            ),
            'insert' => new Operation(
                static fn (int $key) => $client->insert(SPACE, [null, "foobar_$key"]),
                static fn (int $key, $answer): bool => $answer[0] > 0 && $answer[1] === "foobar_$key",
                static fn ($answer) => ['new', $answer[1]],
                static fn (int $key) => $make->insert(SPACE, [null, "foobar_$key"]),
            ),
            'replace' => new Operation(
                static fn (int $key) => $client->replace(SPACE, [$key, 'a']),
                static fn (int $key, $answer): bool => $answer === [$key, 'a'],
                $same,
                static fn (int $key) => $make->replace(SPACE, [$key, 'a']),
            ),
            'update' => new Operation(
                static fn (int $key) => $client->update(SPACE, $key, [['=', 1, 'a']]),
                static fn (int $key, $answer): bool => $answer === [$key, 'a'],
                $same,
                static fn (int $key) => $make->update(SPACE, $key, [['=', 1, 'a']]),
            ),
            'upsert' => new Operation(
                static fn (int $key) => $client->upsert(SPACE, [$key, 'a'], [['=', 1, 'b']]),
                static fn (int $key, $answer): bool => $answer === null,
                static fn ($answer) => null,
                static fn (int $key) => $make->upsert(SPACE, [$key, 'a'], [['=', 1, 'b']]),
            ),
            'delete' => new Operation(
                static fn (int $key) => $client->delete(SPACE, $key),
                static fn (int $key, $answer): bool => $answer === [$key, "tuple_$key"],
                $same,
                static fn (int $key) => $make->delete(SPACE, $key),
            ),
        ];
    }

    /** @return array<string, Operation> plain and prepared */
    private function sql(): array
    {
        $made = [];
        foreach (SQL as $name => $sql) {
            $binds = binds_of($name);
            $right = $name === 'sql-select'
                ? static fn (int $key, $answer): bool => $answer->rows === [[$key, "tuple_$key"]]
                : static fn (int $key, $answer): bool => $answer->rowCount === 1;
            $shown = $name === 'sql-select' ? static fn ($answer) => $answer->rows : static fn ($answer) => $answer->rowCount;
            $client = $this->client;
            $make = $client->requests();
            $made[$name] = new Operation(
                static fn (int $key) => $client->execute($sql, $binds($key)),
                $right,
                $shown,
                static fn (int $key) => $make->execute($sql, $binds($key)),
            );
            $statement = null;
            $given = binds_of($name, prepared: true);
            $made["$name-prepared"] = new Operation(
                static function (int $key) use (&$statement, $client, $name, $given) {
                    $statement ??= $client->prepare(PREPARED[$name]);
                    return $statement->execute($given($key));
                },
                $right,
                $shown,
            );
        }
        return $made;
    }
}
