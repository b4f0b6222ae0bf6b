<?php
// Answers the same bytes each time, unless something was reached that does not belong to the app.
declare(strict_types=1);

require __DIR__ . '/../attempts.php';

$reached = Hostile\on_request(__DIR__ . '/..');
if ($reached) {
    http_response_code(500);
}
echo '<html><body>', str_repeat('<p>A paragraph that stays.</p>', 40), '</body></html>', "\n";
