"""`phpdyno watch`: running php-fpm pools observed without a request, a tracer or a change; what
limits them, and how many workers fit."""
