<?php
ini_set('display_errors', '1');
echo '<h1>Start</h1>';
echo '<p>', $missing, '</p>';
echo str_repeat('<p>A paragraph that stays.</p>', 40);
