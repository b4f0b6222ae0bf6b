<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Fake;

/**
 * A server in a process of its own that does what a script says, and ends after 20 s whatever happens.
 */
final class FakeServer
{
    public readonly string $uri;

    private int $process = 0;

    /**
     * Starts a server.
     *
     * @param callable(FakePeer, int): void $script called with each connection and its number from 1
     */
    public function __construct(callable $script)
    {
        $path = sys_get_temp_dir() . '/fake-' . bin2hex(random_bytes(6));
        $this->uri = 'unix://' . $path;
        $socket = stream_socket_server($this->uri);
        $this->process = pcntl_fork();
        if ($this->process === 0) {
            pcntl_async_signals(true);
            pcntl_signal(SIGALRM, SIG_DFL);
            pcntl_alarm(20);
            try {
                for ($number = 1; $stream = @stream_socket_accept($socket, 20); ++$number) {
                    $script(new FakePeer($stream), $number);
                    fclose($stream);
                }
            } catch (\Throwable $error) {
                fwrite(STDERR, 'Fake server: ' . $error . "\n");
            }
            posix_kill(posix_getpid(), SIGKILL);
        }
        fclose($socket);
    }

    public function __destruct()
    {
        posix_kill($this->process, SIGKILL);
        pcntl_waitpid($this->process, $status);
        @unlink(substr($this->uri, 7));
    }
}
