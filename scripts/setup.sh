#!/bin/sh
# make setup: everything phpdyno needs on a Debian 12 or 13 machine, idempotent.
# Leaves .venv/bin/phpdyno. Starts and stops no system service, and upgrades none. Where a php-fpm is installed already, its optional
# modules are named and not added, because Debian enables a module for every PHP on the machine; mysql, mbstring and xml are added.
# The PHP is the newest whose php-fpm is a package here, else the distribution's; PHPDYNO_PHP=8.3 names another one.
# --packages-only [PACKAGE...]  the Debian packages and nothing else: those that are missing, or (as root) those that are named
set -eu
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# An ordinary user's PATH, and that of `su`, lacks sbin; dpkg refuses to work without it.
PATH="$PATH:/usr/sbin:/sbin"
have() { command -v "$1" >/dev/null 2>&1; }
# The first letter is what is wanted (a held package has h), the second what is there.
installed() { dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^.i'; }

# ---- The system --------------------------------------------------------------------------------
# What cannot work here is said before anything is installed. The variables are for tests.
os_release=${PHPDYNO_OS_RELEASE:-/etc/os-release}
from_os_release() { sed -n "s/^$1=\"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" "$os_release" 2>/dev/null | head -n 1; }
os_id=$(from_os_release ID) os_version=$(from_os_release VERSION_ID)
os_name=$(from_os_release PRETTY_NAME)
os_name=${os_name:-this system}
[ "$(uname -s)" = Linux ] ||
    die "phpdyno measures on Linux, and this is $(uname -s); run it in a virtual machine with Debian 12 or 13"
case "$(uname -r)" in
    *[Mm]icrosoft-standard*|*WSL2*) say "hint: WSL 2 was not tried; a virtual machine with Debian 12 or 13 was" ;;
    *Microsoft) die "WSL 1 has no Linux kernel, so nothing can be measured; run: wsl --set-version ${WSL_DISTRO_NAME:-DISTRIBUTION} 2" ;;
esac
if [ "$os_id" = alpine ] || ldd --version 2>&1 | grep -qi musl; then
    die "$os_name has the C library musl, and phpdyno's parts want glibc; use Debian 12 or 13, or its Containerfile"
fi
have apt-get && have dpkg-query ||
    die "$os_name has no apt-get, which installs the servers here; install php-fpm, nginx and MariaDB by its own means and phpdyno's wheel (docs/how-to/install.md)"
# Python comes with the distribution; no package of it brings a newer one.
want_python() {
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        die "$os_name has $(python3 -V 2>&1), and phpdyno needs 3.11 or newer; Debian 12 and 13 and Ubuntu 24.04 have one"
}
if have python3; then want_python; fi
case "$os_id:$os_version" in
    debian:12|debian:13|debian:) ;;
    *) say "hint: $os_name was not tried; Debian 12 and 13 were (docs/reference/platforms.md)" ;;
esac

# ---- Installing, as root -----------------------------------------------------------------------
# dpkg asks policy-rc.d before it starts a service: 101 forbids it. The file that was there comes back.
policy=${PHPDYNO_POLICY_RC_D:-/usr/sbin/policy-rc.d} # the variable is for tests; sudo does not pass it on
saved=$policy.before-phpdyno
exists() { [ -e "$1" ] || [ -L "$1" ]; }
leftover() { exists "$saved" || grep -qs "made by phpdyno" "$policy"; }
restore_policy() {
    if exists "$saved"; then mv -fT "$saved" "$policy"; elif leftover; then rm -f "$policy"; fi
    rm -f "$policy.new-phpdyno"
}
# What looks left over may belong to a setup still at work. apt-get inherits the lock: if setup is killed, apt-get still keeps it.
lock_policy() {
    exec 9<"${policy%/*}"
    flock -w 600 9 || die "another setup has been installing packages for ten minutes"
}
# The newest of php8.2-fpm and the like that is installed, as 8.2; '' where none is.
newest_installed_php() {
    dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' 'php[0-9]*-fpm' 2>/dev/null |
        sed -n 's/^.i. *php\([0-9][0-9]*\.[0-9][0-9]*\)-fpm$/\1/p' | sort -V | tail -n 1
}
# Packages that are installed and that installing the named ones would upgrade: all where a php-fpm serves already, else those of servers.
upgrades() {
    would=$(LC_ALL=C apt-get --simulate install --no-install-recommends --no-remove "$@" </dev/null 2>/dev/null |
        sed -n 's/^Inst \([^ ]*\) \[.*/\1/p' | grep -Ev '^(cargo|rustc|libstd-rust)' || true)
    if [ -z "$(newest_installed_php)" ]; then
        would=$(printf '%s\n' "$would" | grep -E '^(php|nginx|mariadb|mysql|apache2|lib(apache2-mod|nginx-mod|php))' || true)
    fi
    printf '%s\n' "$would" | sort -u | xargs
}
units() { ls /lib/systemd/system /usr/lib/systemd/system /etc/init.d 2>/dev/null | sort -u; }
install_packages() {
    # Debian's mod_php switches itself on in an Apache that is there, and that Apache to the processes that it needs.
    case " $*" in *" libapache2-mod-php"*)
        ! installed apache2 || die "there is an Apache here, and Debian would switch mod_php on in it; if it may, install it yourself: $*" ;;
    esac
    lock_policy
    log=$(mktemp)
    trap 'restore_policy; rm -f "$log"' EXIT
    trap 'exit 130' INT TERM HUP
    restore_policy
    printf '#!/bin/sh\n# made by phpdyno, for one installation\nexit 101\n' > "$policy.new-phpdyno"; chmod 755 "$policy.new-phpdyno"
    # Renamed, not copied: it stays a symlink if it is one, and is whole at every moment.
    if exists "$policy"; then mv -fT "$policy" "$saved"; fi
    mv -fT "$policy.new-phpdyno" "$policy"
    before=$(units) failed=""
    # needrestart would restart services whose libraries changed. Nobody sees a question of dpkg's: a changed configuration file is kept.
    export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
    # Old lists name versions that the mirrors no longer have. One broken source among several must not stop the installation.
    apt-get update -qq </dev/null >"$log" 2>&1 || true
    would=$(upgrades "$@")
    [ -z "$would" ] || die "that would upgrade what is installed; if it may, do that first:  sudo apt-get install --only-upgrade $would"
    apt-get install -y -qq --no-install-recommends --no-remove -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@" \
        </dev/null >>"$log" 2>&1 || failed=yes
    # A unit that this installation brought, even half, stays off at boot as well; one that was there is not looked at.
    for unit in $(units); do
        if printf '%s\n' "$before" | grep -qxF "$unit"; then continue; fi
        case "$unit" in *@*|*.target|*.slice) ;;
            *.service|*.timer|*.socket) deb-systemd-helper disable "$unit" >/dev/null 2>&1 || true ;;
            *) update-rc.d "$unit" disable >/dev/null 2>&1 || true ;;
        esac
    done
    if [ -n "$failed" ]; then cat "$log" >&2; exit 1; fi
}

# Asked only when there is something to do: a refused sudo is written to the system's log.
as_root=""
become_root() {
    if [ "$(id -u)" = 0 ]; then return 0; fi
    have sudo || return 1
    if sudo -n true 2>/dev/null; then as_root="sudo -n"
    elif [ -t 0 ]; then as_root="sudo" # somebody is there to type the password
    else return 1; fi
}

packages_only="" updated=""
case "${1-}" in
    "") ;;
    --restore-policy) lock_policy; restore_policy; exit ;;
    --packages-only)
        packages_only=yes; shift
        if [ $# != 0 ] && [ "$(id -u)" != 0 ]; then die "only root can install packages: sudo sh scripts/setup.sh --packages-only $*"; fi
        if [ $# != 0 ]; then install_packages "$@"; exit; fi ;;
    *) die "unknown option $1; there is --packages-only" ;;
esac

# A setup that was killed could not clean up; with its policy-rc.d no package would start its service ever again.
if leftover && become_root; then
    say "removing the policy-rc.d that an interrupted setup left behind"
    $as_root sh scripts/setup.sh --restore-policy || true # the end of this script names what is still there
fi

# ---- Which PHP -------------------------------------------------------------------------------
# What the package php-fpm stands for, which another archive may have made newer; '' where apt knows none.
php_of_apt() { LC_ALL=C apt-cache depends php-fpm 2>/dev/null | sed -n 's/^ *Depends: php\([0-9.]*\)-fpm$/\1/p' | head -n 1; }
php_of_the_distribution() {
    case "$os_id:$os_version" in
        debian:12) echo 8.2 ;; debian:13) echo 8.4 ;; ubuntu:24.04) echo 8.3 ;;
        *) php_of_apt ;;
    esac
}
# Since 8.5 opcache is a part of PHP, and no package.
has_opcache_inside() { [ "$(printf '%s\n' 8.5 "$1" | sort -V | head -n 1)" = 8.5 ]; }
php=${PHPDYNO_PHP:-} of="named by PHPDYNO_PHP"
if [ -z "$php" ]; then php=$(newest_installed_php) of="the newest php-fpm that is installed"; fi
if [ -z "$php" ]; then php=$(php_of_the_distribution) of="that of $os_name"; fi
if [ -z "$php" ] && [ "$(id -u)" = 0 ]; then
    apt-get update -qq </dev/null >/dev/null 2>&1 || true
    php=$(php_of_the_distribution)
fi
case "$php" in
    [0-9]*.[0-9]*) ;;
    "") die "apt knows no package php-fpm here; run: sudo apt-get update, or name a PHP that it knows: PHPDYNO_PHP=8.4 make setup" ;;
    *) die "PHPDYNO_PHP=$php is no version; write it as in: PHPDYNO_PHP=8.4 make setup" ;;
esac
say "PHP $php, $of"

# ---- Debian packages -------------------------------------------------------------------------
missing=""
# Never one that is installed: apt-get would upgrade it.
need() { for package; do installed "$package" || missing="$missing $package"; done; }
have nginx || need nginx
{ have mariadbd && have mariadb-install-db; } || need mariadb-server-core
have mariadb || need mariadb-client-core
# The last three are what mediawiki needs.
optional="php$php-gd php$php-curl php$php-sqlite3 php$php-intl php$php-apcu" unasked=""
if installed "php$php-fpm"; then
    for package in $optional; do installed "$package" || unasked="$unasked $package"; done
else
    need $optional
fi
need "php$php-fpm" "php$php-cli" "php$php-mysql" "php$php-mbstring" "php$php-xml"
has_opcache_inside "$php" || need "php$php-opcache"
have cc || need gcc libc6-dev
have strace || need strace # syscalls per request
have git || need git       # source=REF
python3 -c 'import venv, ensurepip' 2>/dev/null || need python3-venv

rust_needed=$(sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' Cargo.toml)
rust_here() { for tool in cargo rustc; do "$tool" --version 2>/dev/null || echo "$tool 0"; done | cut -d' ' -f2 | sort -V | head -n 1; }
rust_is_new_enough() { printf '%s\n' "$rust_needed" "$(rust_here)" | sort -V -C; }
if ! rust_is_new_enough; then
    rivals=""
    for package in cargo cargo-mozilla rustc rustc-mozilla rustup; do if installed "$package"; then rivals="$rivals $package"; fi; done
    [ -z "$rivals" ] || die "Rust is $(rust_here), not $rust_needed; cargo-web has it but conflicts with packages to remove first:$rivals"
    missing="$missing cargo-web rustc-web" # even if installed: then it is the upgrade that is missing
fi
missing=$(printf '%s\n' $missing | sort -u | xargs)
case "$os_id:$os_version" in
    debian:12) rust_from="bookworm-security has a newer cargo-web" ;;
    debian:13) rust_from="trixie-security has a newer cargo-web" ;;
    *) rust_from="rustup.rs has a newer one, and phpdyno's wheel needs none (docs/how-to/install.md)" ;;
esac

if [ -n "$missing" ]; then
    become_root || die "packages are missing; install them, starting no service, with:  sudo sh scripts/setup.sh --packages-only $missing"
    say "installing $missing (no service is started)"
    $as_root sh scripts/setup.sh --packages-only $missing || die "apt-get could not install: $missing"
    updated=yes
    want_python # it may have come with the packages
    rust_is_new_enough ||
        die "Rust $rust_needed is needed, $(command -v cargo || echo cargo) is $(rust_here); $rust_from"
fi

# The demo downloads WordPress as a Debian package. Not a reason to fail: everything else works without.
knows_wordpress() { LC_ALL=C apt-cache policy wordpress 2>/dev/null | grep -q '^ *Candidate: [^(]'; }
if have apt-cache && ! knows_wordpress; then
    if [ -z "$updated" ] && [ "$(id -u)" = 0 ]; then
        say "updating apt's lists"
        apt-get update -qq </dev/null >/dev/null 2>&1 || true
    fi
    knows_wordpress || say "hint: apt knows no package wordpress, which make demo downloads; run: sudo apt-get update"
fi
if [ -n "$unasked" ]; then
    say "hint: not added to the PHP that is here, since every PHP would load them; to add them:  sudo sh scripts/setup.sh --packages-only$unasked"
fi
if leftover; then say "hint: an interrupted setup left $policy, which forbids services; run: sudo sh scripts/setup.sh --restore-policy"; fi
if [ -n "$packages_only" ]; then say "the packages are there"; exit; fi

# ---- Python environment ----------------------------------------------------------------------
if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    say "creating .venv"
    rm -rf .venv
    python3 -m venv .venv
fi
stamp=.venv/requirements.sha256
want=$(sha256sum requirements.lock | cut -d' ' -f1)
if [ "$(cat "$stamp" 2>/dev/null || true)" != "$want" ]; then
    say "installing the Python libraries"
    .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
    printf '%s\n' "$want" > "$stamp"
fi

# ---- Native core -----------------------------------------------------------------------------
# Built again only when a source changed: cargo itself takes care of the pieces.
core=.venv/native.sha256
sources_digest() {
    find crates src/phpdyno/_native.pyi pyproject.toml Cargo.toml Cargo.lock -type f ! -path '*/target/*' | sort |
        xargs sha256sum | sha256sum | cut -d' ' -f1
}
if [ "$(cat "$core" 2>/dev/null || true)" != "$(sources_digest)" ] || ! .venv/bin/python -c 'import phpdyno._native' 2>/dev/null; then
    say "building the native core"
    # Through pip and not `maturin develop`, which wants a newer pip than Debian 12 has.
    PATH="$PWD/.venv/bin:$PATH" MATURIN_PEP517_ARGS="--locked" \
        .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
    sources_digest > "$core"
fi
say "ready: .venv/bin/phpdyno"
