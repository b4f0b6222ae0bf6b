<?php
// An app behind a proxy that looks at the proxy's word only.
if (($_SERVER['HTTP_X_FORWARDED_PROTO'] ?? '') !== 'https') {
    header('Location: https://' . $_SERVER['HTTP_HOST'] . $_SERVER['REQUEST_URI'], true, 302);
    exit;
}
echo '<h1>Shop</h1>';
