"""What was full: php-fpm, nginx, the database or the generator."""
