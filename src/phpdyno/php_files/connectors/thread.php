<?php
// Loaded by each thread of the extension parallel (threads.php).
declare(strict_types=1);

namespace Phpdyno\Connectors;

require_once __DIR__ . '/loading.php';

/** Connects the thread's own client. */
function open_thread(array $row): bool
{
    load_package($row['package']);
    $GLOBALS['phpdyno_operations'] = connect($row)->operations();
    return true;
}

/** @return array{list<int>, int, string} noted times, how many operations failed, and why the first did */
function perform_in_thread(string $name, array $keys, int $every): array
{
    $slot = new Slot($every);
    worker($keys, $slot)($GLOBALS['phpdyno_operations'][$name]);
    return [$slot->times, $slot->failed, $slot->why];
}
