"""An arm as text: php.ini, php-fpm pool, nginx, Apache. Pure; used by the stack, and by a bundle later."""
