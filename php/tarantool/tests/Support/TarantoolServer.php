<?php

declare(strict_types=1);

namespace Phpdyno\Tarantool\Tests\Support;

/**
 * A Tarantool server that a test starts, in a directory of its own; it ends with the object, or with this process.
 */
final class TarantoolServer
{
    public const VARIABLE = 'TARANTOOL_SERVER';

    /** @var resource|null */
    private $process;

    /** @var array<int, resource> */
    private array $pipes = [];

    private function __construct(private readonly string $directory, public readonly string $uri)
    {
    }

    /**
     * Tells why no server can be started; null if one can.
     */
    public static function missing(): ?string
    {
        $binary = getenv(self::VARIABLE);
        if ($binary === false || $binary === '') {
            return 'The environment variable ' . self::VARIABLE . ' does not name a Tarantool binary';
        }

        return is_executable($binary) ? null : $binary . ' is not an executable file';
    }

    /**
     * Starts a server on a unix socket, or on a free TCP port.
     */
    public static function start(bool $tcp = false): self
    {
        $directory = sys_get_temp_dir() . '/tarantool-test-' . bin2hex(random_bytes(6));
        mkdir($directory, 0777);
        chmod($directory, 0777);
        $listen = $directory . '/socket';
        if ($tcp) {
            $probe = stream_socket_server('tcp://127.0.0.1:0');
            $listen = stream_socket_get_name($probe, false);
            fclose($probe);
        }
        $server = new self($directory, ($tcp ? 'tcp://' : 'unix://') . $listen);
        $server->launch($listen);

        return $server;
    }

    /**
     * Kills the server without giving it time to answer.
     */
    public function kill(): void
    {
        if ($this->process !== null) {
            proc_terminate($this->process, 9);
            array_map(fclose(...), $this->pipes);
            proc_close($this->process);
            $this->process = null;
        }
    }

    public function __destruct()
    {
        $this->kill();
        array_map(unlink(...), glob($this->directory . '/*'));
        rmdir($this->directory);
    }

    private function launch(string $listen): void
    {
        $command = [getenv(self::VARIABLE), __DIR__ . '/server.lua', $listen];
        if (function_exists('posix_geteuid') && posix_geteuid() === 0) {
            $command[] = 'nobody';
        }
        $pipes = [];
        $this->process = proc_open(
            $command,
            [['pipe', 'r'], ['pipe', 'w'], ['file', $this->directory . '/errors', 'w']],
            $pipes,
            $this->directory,
        );
        $this->pipes = $pipes;
        stream_set_blocking($pipes[1], false);
        $said = '';
        for ($until = microtime(true) + 20; !str_contains($said, 'ready') && microtime(true) < $until;) {
            $read = [$pipes[1]];
            $write = $except = [];
            stream_select($read, $write, $except, 1);
            $said .= fread($pipes[1], 1000);
            if (feof($pipes[1])) {
                break;
            }
        }
        if (!str_contains($said, 'ready')) {
            $errors = file_get_contents($this->directory . '/errors');
            $this->kill();
            throw new \RuntimeException('The server did not start: ' . $said . $errors);
        }
    }
}
