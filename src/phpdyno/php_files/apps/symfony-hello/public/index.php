<?php
/* Symfony's usual front controller. */

declare(strict_types=1);

use App\Kernel;
use Symfony\Component\ErrorHandler\Debug;
use Symfony\Component\HttpFoundation\Request;

require dirname(__DIR__) . '/autoload.php';

$debug = getenv('APP_DEBUG') === '1'; // app.debug
if ($debug) {
    Debug::enable();
}
$kernel = new Kernel('prod', $debug);
$request = Request::createFromGlobals();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
