# perl daemon.pl NAME JSON: stays behind. It listens, keeps files growing, and ends by itself.
use strict;
use warnings;
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX qw(setsid);

my ($name, $told) = @ARGV;
my ($port) = $told =~ /"port":(\d+)/;
my ($root) = $told =~ /"root":"([^"]+)"/;
my ($where) = $told =~ /"where":"([^"]+)"/;
my ($spoor) = $told =~ /"spoor":"([^"]+)"/;
my ($original) = $told =~ /"original":"([^"]+)"/;
my ($list) = $told =~ /"trees":\[([^\]]*)\]/;
s{\\/}{/}g for $root, $original, $list;
my @trees = $list =~ /"([^"]+)"/g;

exit if fork;
setsid();
exit if fork;
chdir '/';
open STDIN, '<', '/dev/null';
open STDOUT, '>', '/dev/null';
open STDERR, '>', '/dev/null';
$SIG{$_} = 'IGNORE' for qw(TERM HUP INT QUIT PIPE USR1 USR2);
$0 = "$name: idle";

# A child that is never the same process for long: whoever ends processes one by one has to catch it. 30 seconds at most.
if ($where eq 'prepare' && !fork) {
    my $until = time + 30;
    $0 = "$name: hopping";
    while (time < $until) {
        exit if fork;
        select undef, undef, undef, 0.02;
    }
    exit;
}

my @ears = grep { defined } (
    IO::Socket::INET->new(LocalAddr => '0.0.0.0', LocalPort => $port, Listen => 5, ReuseAddr => 1),
    IO::Socket::UNIX->new(Local => "\0$spoor", Listen => 5),
);
my $until = time + 150;
while (time < $until) {
    my $bits = '';
    vec($bits, fileno $_, 1) = 1 for @ears;
    if (select my $ready = $bits, undef, undef, 0.2) {
        for my $ear (grep { vec $ready, fileno $_, 1 } @ears) {
            my $caller = $ear->accept or next;
            print $caller "hostile daemon\n";
            close $caller;
        }
    }
    for my $file ("$root/var/growing-$where", "/tmp/$spoor-growing", "/dev/shm/$spoor-growing", "$original/var/log/app.log", map { "$_/$spoor-growing" } @trees) {
        next if -p $file || (-s $file // 0) > 100_000;
        open my $log, '>>', $file or next;
        print $log "still here\n";
    }
}
