#!/bin/sh
# make setup: everything phpdyno needs on a Debian 12 machine, idempotent.
# Leaves .venv/bin/phpdyno. Starts and stops no system service, and upgrades none. Where php8.2-fpm is installed already, its optional
# modules are named and not added, because Debian enables a module for every PHP on the machine; mysql, mbstring and xml are added.
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
# Packages that are installed and that installing the named ones would upgrade: all where php8.2-fpm serves already, else those of servers.
upgrades() {
    would=$(LC_ALL=C apt-get --simulate install --no-install-recommends --no-remove "$@" </dev/null 2>/dev/null |
        sed -n 's/^Inst \([^ ]*\) \[.*/\1/p' | grep -Ev '^(cargo|rustc|libstd-rust)' || true)
    if ! installed php8.2-fpm; then
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

# ---- Debian packages -------------------------------------------------------------------------
missing=""
# Never one that is installed: apt-get would upgrade it.
need() { for package; do installed "$package" || missing="$missing $package"; done; }
have nginx || need nginx
{ have mariadbd && have mariadb-install-db; } || need mariadb-server-core
have mariadb || need mariadb-client-core
# The last three are what mediawiki needs.
optional="php8.2-gd php8.2-curl php8.2-sqlite3 php8.2-intl php8.2-apcu" unasked=""
if installed php8.2-fpm; then
    for package in $optional; do installed "$package" || unasked="$unasked $package"; done
else
    need $optional
fi
need php8.2-fpm php8.2-cli php8.2-opcache php8.2-mysql php8.2-mbstring php8.2-xml
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

if [ -n "$missing" ]; then
    have apt-get || die "these Debian packages are missing and there is no apt-get here: $missing"
    become_root || die "packages are missing; install them, starting no service, with:  sudo sh scripts/setup.sh --packages-only $missing"
    say "installing $missing (no service is started)"
    $as_root sh scripts/setup.sh --packages-only $missing || die "apt-get could not install: $missing"
    updated=yes
    rust_is_new_enough ||
        die "Rust $rust_needed is needed, $(command -v cargo || echo cargo) is $(rust_here); bookworm-security has a newer cargo-web"
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
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "Python 3.11 or newer is needed; python3 is $(python3 -V)"
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
