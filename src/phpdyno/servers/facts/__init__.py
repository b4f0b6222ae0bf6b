"""What running servers show of themselves: facts for proofs, CPU time, memory, php-fpm's status."""
