# perl flip.pl NAME ROOT DECOY ORIGINAL: stays behind for 30 seconds at most and changes what names in the app's tree lead to.
use strict;
use warnings;
use POSIX qw(setsid);

my ($name, $root, $decoy, $original) = @ARGV;
exit if fork;
setsid();
exit if fork;
open STDIN, '<', '/dev/null';
open STDOUT, '>', '/dev/null';
open STDERR, '>', '/dev/null';
$SIG{$_} = 'IGNORE' for qw(TERM HUP INT QUIT PIPE);
$0 = "$name: idle";
chdir $root;
mkdir 'var/flip';
mkdir 'var/flip/real';
my $until = time + 30;
for (my $turn = 0; time < $until; ++$turn) {
    my ($file, $folder) = $turn % 2 ? ("$decoy/secret.txt", $decoy) : ("$original/aim.json", 'real');
    symlink $file, 'var/flip/new';
    rename 'var/flip/new', 'var/flip/file';
    symlink $file, 'public/new';
    rename 'public/new', 'public/flipped.txt';
    symlink $folder, 'var/flip/new';
    rename 'var/flip/new', 'var/flip/folder';
    link "$decoy/secret.txt", 'var/flip/hard';
    unlink 'var/flip/hard';
    rename 'var/flip/real', 'var/flip/unreal';
    symlink $decoy, 'var/flip/real';
    select undef, undef, undef, 0.005;
    unlink 'var/flip/real';
    rename 'var/flip/unreal', 'var/flip/real';
    select undef, undef, undef, 0.005;
}
