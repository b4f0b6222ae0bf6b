<?php
// What a user's script may return: a callable, or named ones with their weights; anything else is refused in words.
declare(strict_types=1);

namespace Phpdyno;

const WANTED = "let it return a callable, or an array of named callables: ['parse' => fn () => ..., 'render' => fn () => ...]";

final class Refused extends \Exception
{
}

/** What the file returned as [name => [callable, weight]]. */
function operations_of(mixed $returned): array
{
    if (\is_callable($returned)) {
        $returned = ['main' => $returned];
    }
    if (!\is_array($returned) || $returned === []) {
        throw new Refused('it returns ' . kind_of($returned) . '; ' . WANTED);
    }
    $operations = [];
    foreach ($returned as $name => $entry) {
        if (!\is_string($name) || !\preg_match('~^[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,63}$~D', $name)) {
            throw new Refused('it returns an array with the key ' . \json_encode($name) . ', which names no operation; ' . WANTED);
        }
        $operations[$name] = operation_of($name, $entry);
    }
    return $operations;
}

function operation_of(string $name, mixed $entry): array
{
    $weight = 1;
    if (\is_array($entry) && \array_key_exists('run', $entry)) {
        foreach (\array_diff(\array_keys($entry), ['run', 'weight']) as $unknown) {
            throw new Refused("the operation $name has the unknown key $unknown; known: run, weight");
        }
        $weight = $entry['weight'] ?? 1;
        $entry = $entry['run'];
    }
    if (!\is_callable($entry)) {
        throw new Refused("the operation $name is " . kind_of($entry) . '; ' . WANTED);
    }
    if ((!\is_int($weight) && !\is_float($weight)) || !($weight > 0) || \is_infinite((float) $weight)) {
        throw new Refused("the weight of the operation $name is not a number above 0");
    }
    return [\Closure::fromCallable($entry), (float) $weight];
}

/** The type of a value in words. */
function kind_of(mixed $value): string
{
    return match (true) {
        $value === 1 => '1, as a file without a return does',
        $value === [] => 'an empty array',
        default => \get_debug_type($value),
    };
}

function refusal(mixed $answer): string
{
    return 'it returns ' . \get_debug_type($answer) . '; let it return a string, which is compared between arms, or null';
}
