<?php
// A shop with a canonical address, as behind a TLS-terminating nginx.
if (($_SERVER['HTTPS'] ?? '') !== 'on' || $_SERVER['HTTP_HOST'] !== 'shop.example') {
    header('Location: https://shop.example' . $_SERVER['REQUEST_URI'], true, 301);
    exit;
}
echo '<h1>Shop</h1><p>', $_SERVER['REQUEST_SCHEME'], ' ', $_SERVER['SERVER_PORT'], '</p>';
