"""php-fpm masters and pools that run on this host and are not ours: found and read, never
changed."""
