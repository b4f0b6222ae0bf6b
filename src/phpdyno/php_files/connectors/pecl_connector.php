<?php
// The C extension tarantool: TCP only, no SQL.
declare(strict_types=1);

namespace Phpdyno\Connectors;

final class PeclConnector implements Connector
{
    private readonly \Tarantool $client;

    public function __construct(array $row)
    {
        $place = \parse_url($row['address']);
        if (($place['scheme'] ?? '') !== 'tcp') {
            throw new \RuntimeException('it speaks TCP only');
        }
        $this->client = new \Tarantool($place['host'], $place['port']);
        $this->client->connect();
        $this->client->ping();
    }

    public function restore(int $key): void
    {
        $this->client->replace(SPACE, [$key, "tuple_$key"]);
        $this->client->delete(SPACE, $key + FURTHER);
    }

    public function operations(): array
    {
        $client = $this->client;
        $same = static fn (mixed $answer): mixed => $answer;
        $first = static fn (array $answer): mixed => $answer[0] ?? null;
        return [
            'ping' => new Operation(
                static fn (int $key) => $client->ping(),
                static fn (int $key, $answer): bool => $answer === true,
                static fn ($answer) => null,
            ),
            'call' => new Operation(
                static fn (int $key) => $client->call('math.min', [42, $key], ['call_16' => false]),
                static fn (int $key, $answer): bool => $answer === [$key < 42 ? $key : 42],
                $same,
            ),
            'eval' => new Operation(
                static fn (int $key) => $client->evaluate('return ...', [$key]),
                static fn (int $key, $answer): bool => $answer === [$key],
                $same,
            ),
            'select' => new Operation(
                static fn (int $key) => $client->select(SPACE, $key),
                static fn (int $key, $answer): bool => $answer === [[$key, "tuple_$key"]],
                $same,
            ),
            'insert' => new Operation(
                static fn (int $key) => $client->insert(SPACE, [null, "foobar_$key"]),
                static fn (int $key, $answer): bool => $answer[0][0] > 0 && $answer[0][1] === "foobar_$key",
                static fn ($answer) => ['new', $answer[0][1]],
            ),
            'replace' => new Operation(
                static fn (int $key) => $client->replace(SPACE, [$key, 'a']),
                static fn (int $key, $answer): bool => $answer === [[$key, 'a']],
                $first,
            ),
            'update' => new Operation(
                static fn (int $key) => $client->update(SPACE, $key, [['field' => 1, 'op' => '=', 'arg' => 'a']]),
                static fn (int $key, $answer): bool => $answer === [[$key, 'a']],
                $first,
            ),
            'upsert' => new Operation(
                static fn (int $key) => $client->upsert(SPACE, [$key, 'a'], [['field' => 1, 'op' => '=', 'arg' => 'b']]),
                static fn (int $key, $answer): bool => $answer === [],
                static fn ($answer) => null,
            ),
            'delete' => new Operation(
                static fn (int $key) => $client->delete(SPACE, $key),
                static fn (int $key, $answer): bool => $answer === [[$key, "tuple_$key"]],
                $first,
            ),
        ];
    }
}
