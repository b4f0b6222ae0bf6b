#!/bin/sh
# make setup: everything phpdyno needs on a Debian 12 machine, idempotent.
# Leaves .venv/bin/phpdyno. Starts, stops and alters no system service.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# ---- Debian packages -------------------------------------------------------------------------
have() { PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1; }
installed() { dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'; }

missing=""
need() { missing="$missing $*"; }
have nginx || need nginx
have mariadbd || need mariadb-server-core
have mariadb-install-db || need mariadb-server-core
have mariadb || need mariadb-client-core
for package in php8.2-fpm php8.2-cli php8.2-opcache php8.2-mysql php8.2-mbstring php8.2-xml php8.2-gd php8.2-curl; do
    installed "$package" || need "$package"
done
have cc || need gcc libc6-dev
python3 -c 'import venv, ensurepip' 2>/dev/null || need python3-venv
have cargo || need cargo-web rustc-web
missing=$(printf '%s\n' $missing | sort -u | tr '\n' ' ')

as_root=""
if [ "$(id -u)" != 0 ] && have sudo && sudo -n true 2>/dev/null; then as_root="sudo -n"; fi

# dpkg asks policy-rc.d before it starts a service: 101 forbids it. The file that was there comes back.
policy=/usr/sbin/policy-rc.d
install_packages() {
    $as_root sh -eu -c '
        policy=$1; shift
        restore() {
            if [ -e "$policy.before-phpdyno" ]; then mv -f "$policy.before-phpdyno" "$policy"
            elif grep -qs "made by phpdyno" "$policy"; then rm -f "$policy"; fi
        }
        trap restore EXIT
        trap "exit 130" INT TERM HUP
        restore
        if [ -e "$policy" ]; then cp -p "$policy" "$policy.before-phpdyno"; fi
        printf "#!/bin/sh\n# made by phpdyno, for one installation\nexit 101\n" > "$policy.new"
        chmod 755 "$policy.new"
        mv -f "$policy.new" "$policy"
        units() { ls /lib/systemd/system /usr/lib/systemd/system /etc/init.d 2>/dev/null | sort -u; }
        before=$(units)
        export DEBIAN_FRONTEND=noninteractive
        if [ -z "$(ls /var/lib/apt/lists/*Packages* 2>/dev/null)" ] || ! apt-get install -s -qq "$@" >/dev/null 2>&1; then
            apt-get update -qq
        fi
        log=$(mktemp)
        apt-get install -y -qq --no-install-recommends --no-upgrade "$@" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; exit 1; }
        rm -f "$log"
        # A unit that this installation brought stays off at boot as well; one that was there is not looked at.
        for unit in $(units); do
            printf "%s\n" "$before" | grep -qxF "$unit" && continue
            case "$unit" in
                *@*|*.target|*.slice) ;;
                *.service|*.timer|*.socket)
                    if command -v deb-systemd-helper >/dev/null; then deb-systemd-helper disable "$unit" >/dev/null 2>&1 || true; fi ;;
                *) update-rc.d "$unit" disable >/dev/null 2>&1 || true ;;
            esac
        done
    ' install_packages "$policy" "$@"
}

if [ -n "$(printf '%s' "$missing" | tr -d ' ')" ]; then
    have apt-get || die "these Debian packages are missing and there is no apt-get here: $missing"
    if [ "$(id -u)" != 0 ] && [ -z "$as_root" ]; then
        die "some packages are missing; install them with:  sudo apt-get install --no-install-recommends $missing"
    fi
    say "installing $missing(no service is started)"
    # shellcheck disable=SC2086
    install_packages $missing || die "apt-get could not install: $missing"
fi

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
sources=$(find crates src/phpdyno/_native.pyi pyproject.toml Cargo.toml Cargo.lock -type f ! -path '*/target/*' | sort | xargs sha256sum | sha256sum | cut -d' ' -f1)
if [ "$(cat "$core" 2>/dev/null || true)" != "$sources" ] || ! .venv/bin/python -c 'import phpdyno._native' 2>/dev/null; then
    say "building the native core"
    # Through pip and not `maturin develop`, which wants a newer pip than Debian 12 has.
    PATH="$PWD/.venv/bin:$PATH" MATURIN_PEP517_ARGS="--locked" \
        .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
    sources=$(find crates src/phpdyno/_native.pyi pyproject.toml Cargo.toml Cargo.lock -type f ! -path '*/target/*' | sort | xargs sha256sum | sha256sum | cut -d' ' -f1)
    printf '%s\n' "$sources" > "$core"
fi
say "ready: .venv/bin/phpdyno"
