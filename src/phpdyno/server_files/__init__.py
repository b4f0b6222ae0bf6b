"""An arm as text: php.ini, php-fpm pool, nginx, Apache. Pure; used by the servers and by a
bundle."""
