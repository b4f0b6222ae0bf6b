<?php
// The file is sent by nginx itself, from a place that nobody can ask for.
header('Content-Type: text/plain');
header('X-Accel-Redirect: /protected/invoice.txt');
