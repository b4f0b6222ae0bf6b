<?php
// What every process and thread of the lab has: the operations, the engines, our own client's classes, and how a row's client is connected.
declare(strict_types=1);

namespace Phpdyno\Connectors;

require_once __DIR__ . '/connector.php';
require_once __DIR__ . '/engines.php';

/** Our own client's classes, whose engines drive other clients too. */
function load_package(string $folder): void
{
    \spl_autoload_register(static function (string $class) use ($folder): void {
        if (\str_starts_with($class, 'Phpdyno\\Tarantool\\')) {
            $file = $folder . '/' . \strtr(\substr($class, 18), '\\', '/') . '.php';
            if (\is_file($file)) {
                require $file;
            }
        }
    });
}

function connect(array $row): Connector
{
    foreach ($row['autoload'] as $file) {
        require_once $file;
    }
    require_once __DIR__ . "/{$row['connector']}_connector.php";
    $class = __NAMESPACE__ . '\\' . \str_replace('_', '', \ucwords($row['connector'], '_')) . 'Connector';
    return new $class($row);
}
