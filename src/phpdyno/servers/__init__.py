"""Running arms: nginx, php-fpm, Apache, scripts and databases started under supervision; what their
workers tell of themselves."""
