<?php
// Attempts that want the C library: php native.php ROOT WHERE prints one JSON object a line.
declare(strict_types=1);

require __DIR__ . '/attempts.php';

use Hostile\Attempts;

$aim = Hostile\aim($argv[1]);
$attempts = new Attempts($argv[2]);
$pid = $aim['pid'];
$seen = static fn (string $done): ?string => Hostile\decoy_seen($aim) ? $done : null;
$c = null;
$attempts->make('ffi', 'FFI::cdef', static function () use (&$c): ?string {
    if (!extension_loaded('ffi')) {
        throw new Hostile\Skipped('no FFI here');
    }
    $c = FFI::cdef('
        int kill(int pid, int signal); long ptrace(int request, int pid, void *address, void *data);
        int setpriority(int which, int who, int priority); int sched_setaffinity(int pid, unsigned long size, void *mask);
        int mq_open(const char *name, int flags, ...); int shmget(int key, unsigned long size, int flags);
        int semget(int key, int count, int flags); int msgget(int key, int flags);
        int unshare(int flags); int setns(int fd, int kind); int open(const char *path, int flags, ...); int close(int fd);
        int mount(const char *from, const char *to, const char *kind, unsigned long flags, const void *data);
        int chroot(const char *path); int setuid(unsigned int uid); int setgid(unsigned int gid); int sethostname(const char *name, unsigned long n);
        int mknod(const char *path, unsigned int mode, unsigned long device); int swapoff(const char *path);
        int prlimit(int pid, int resource, const void *new, void *old); int acct(const char *path);');
    return null;
});
if ($c === null) {
    foreach ($attempts->made as $entry) {
        echo json_encode($entry), "\n";
    }
    exit;
}

foreach ([23 => 'SIGURG', 18 => 'SIGCONT'] as $number => $signal) {
    $attempts->make("kill $signal", "process $pid", static fn () => $c->kill($pid, $number) === 0 ? $seen('delivered') : null);
}
$attempts->force('signal everybody', 'kill(-1, SIGURG)', static fn () => $c->kill(-1, 23));
$attempts->make('ptrace', "PTRACE_SEIZE $pid", static fn () => $c->ptrace(0x4206, $pid, null, null) === 0 ? $seen('attached') : null);
$attempts->make('setpriority', "process $pid", static fn () => $c->setpriority(0, $pid, 19) === 0 ? $seen('slower now') : null);
$attempts->make('sched_setaffinity', "process $pid", static function () use ($c, $pid, $seen): ?string {
    $mask = FFI::new('unsigned long[16]');
    $mask[0] = 1;
    return $c->sched_setaffinity($pid, 128, FFI::addr($mask)) === 0 ? $seen('moved') : null;
});
$attempts->make('prlimit', "process $pid", static function () use ($c, $pid, $seen): ?string {
    $limits = FFI::new('unsigned long[2]');
    return $c->prlimit($pid, 7, null, FFI::addr($limits)) === 0 ? $seen("open files: {$limits[0]}") : null;
});

$attempts->make('POSIX message queue', $aim['mq'], static fn () => $c->mq_open($aim['mq'], 0) >= 0 ? 'opened' : null);
$attempts->make('POSIX shared memory', '/dev/shm', static fn () => Hostile\secret_in(Hostile\content("/dev/shm{$aim['mq']}")));
$attempts->make('shared memory', "key {$aim['shm_key']}", static fn () => $c->shmget($aim['shm_key'], 0, 0) >= 0 ? 'found' : null);
$attempts->make('semaphores', "key {$aim['sem_key']}", static fn () => $c->semget($aim['sem_key'], 0, 0) >= 0 ? 'found' : null);
$attempts->make('message queue', "key {$aim['msg_key']}", static fn () => $c->msgget($aim['msg_key'], 0) >= 0 ? 'found' : null);
$attempts->make('read shared memory', 'shmop_open', static function () use ($aim): ?string {
    if (!function_exists('shmop_open')) {
        throw new Hostile\Skipped('no shmop here');
    }
    $segment = @shmop_open($aim['shm_key'], 'a', 0, 0);
    return $segment ? Hostile\secret_in(shmop_read($segment, 0, 64)) : null;
});
$attempts->make('list System V objects', '/proc/sysvipc', static function () use ($aim): ?string {
    foreach (['shm', 'sem', 'msg'] as $kind) {
        if (preg_match("/^\s*{$aim["{$kind}_key"]}\s/m", (string) Hostile\content("/proc/sysvipc/$kind", 1 << 20))) {
            return "/proc/sysvipc/$kind";
        }
    }
    return null;
});

foreach (['mount' => 0x20000, 'network' => 0x40000000, 'process' => 0x20000000, 'IPC' => 0x08000000, 'cgroup' => 0x02000000] as $kind => $flag) {
    $attempts->make("unshare($kind)", (string) $flag, static fn () => $c->unshare($flag) === 0 ? 'done' : null);
}
$attempts->make('mount()', '/mnt', static fn () => $c->mount('none', '/mnt', 'tmpfs', 0, null) === 0 ? 'done' : null);
$attempts->make('remount()', '/', static fn () => $c->mount('', '/', '', 32 | 4096, null) === 0 ? 'done' : null);
$attempts->make('chroot()', '/', static fn () => $c->chroot('/') === 0 ? 'done' : null);
$attempts->make('sethostname()', 'its own name', static fn () => $c->sethostname($name = (string) gethostname(), strlen($name)) === 0 ? 'done' : null);
$attempts->make('mknod()', 'character device 1 1', static fn () => $c->mknod("{$argv[1]}/var/native-device-{$argv[2]}", 0020666, 257) === 0 ? 'made' : null);
$attempts->make('setuid(0)', 'setuid', static fn () => $c->setuid(0) === 0 ? 'root' : null);
$attempts->make('setgid(0)', 'setgid', static fn () => $c->setgid(0) === 0 ? 'group root' : null);
// Last: whoever has entered another user namespace may do there what would be a finding here.
$attempts->make('setns', '/proc/*/ns/*', static function () use ($c): ?string {
    foreach (glob('/proc/[0-9]*/ns/{mnt,net,pid,ipc,uts,user}', GLOB_BRACE) ?: [] as $file) {
        $number = $c->open($file, 0);
        $entered = $number >= 0 && $c->setns($number, 0) === 0;
        if ($number >= 0) {
            $c->close($number);
        }
        if ($entered) {
            return $file;
        }
    }
    return null;
});

foreach ($attempts->made as $entry) {
    echo json_encode($entry, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE), "\n";
}
