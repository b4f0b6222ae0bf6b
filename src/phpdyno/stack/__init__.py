"""Running arms: supervision with a guardian; nginx, php-fpm, MariaDB; what their workers tell of themselves."""
