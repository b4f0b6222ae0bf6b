<?php
/* The `hello` app: no framework, no database, a little real work (loop, sort, string functions), one deterministic page of about 1.7 kB. */

declare(strict_types=1);

const WORDS = ['torque', 'piston', 'gear', 'clutch', 'valve', 'crank', 'camshaft', 'flywheel', 'rotor', 'gauge', 'shaft', 'brake'];

function rows(int $count): array
{
    $rows = [];
    for ($i = 1; $i <= $count; $i++) {
        $word = WORDS[$i * 7 % count(WORDS)];
        $rows[] = ['name' => ucfirst($word) . ' ' . str_pad((string) $i, 2, '0', STR_PAD_LEFT), 'sum' => substr(md5($word . $i), 0, 10)];
    }
    usort($rows, static fn (array $a, array $b): int => strcmp($a['sum'], $b['sum']));

    return $rows;
}

function line(array $row): string
{
    return sprintf("    <tr><td>%s</td><td><code>%s</code></td></tr>\n", htmlspecialchars($row['name']), strtoupper($row['sum']));
}

header('Content-Type: text/html; charset=UTF-8');
$table = implode('', array_map('line', rows(24)));
$letters = count_chars(strtolower(strip_tags($table)), 3);

echo "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"UTF-8\"><title>Hello from phpdyno</title></head>\n<body>\n",
    "  <h1>Hello</h1>\n  <p>", ucwords(str_replace('_', ' ', 'a_small_page_with_a_little_work')), ".</p>\n",
    "  <table>\n", $table, "  </table>\n",
    '  <p>', number_format(strlen($table)), ' bytes of rows, ', strlen(trim($letters)), " different characters.</p>\n</body>\n</html>\n";
