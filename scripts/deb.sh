#!/bin/sh
# make deb: a Debian package of phpdyno and the Python libraries that it needs, into dist/.
# Usage: scripts/deb.sh WHEEL [DIRECTORY]
# It holds no virtual environment and needs no network when it is installed: everything lies in /usr/lib/phpdyno, and /usr/bin/phpdyno
# runs the distribution's python3. Some of the libraries are compiled for one version of Python, so the package is for that of the PYTHON
# that builds it: build on Debian 12 for Debian 12, on Debian 13 for Debian 13.
set -eu
umask 022

die() { printf 'deb.sh: %s\n' "$*" >&2; exit 1; }
[ $# -ge 1 ] && [ -f "$1" ] || die "there is no wheel '${1-}'; next: make wheel"
wheel=$(realpath "$1")
out=$(realpath -m "${2:-dist}")
cd "$(dirname "$0")/.."
command -v dpkg-deb >/dev/null || die "dpkg-deb is missing; next: build on Debian"
python=${PYTHON:-.venv/bin/python}
python=$(command -v "$python") || die "there is no Python with phpdyno's libraries; next: make setup"

version=$("$python" -c 'import phpdyno; print(phpdyno.__version__)')
series=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
next=$("$python" -c 'import sys; print("%d.%d" % (sys.version_info[0], sys.version_info[1] + 1))')
arch=$(dpkg --print-architecture)
case $(basename "$wheel") in phpdyno-"$version"-*) ;; *) die "$(basename "$wheel") is not of version $version; next: make wheel" ;; esac
# A wheel's name ends in manylinux_2_34_x86_64: so new a glibc is wanted. Libraries that pip chooses for this machine may want no newer one.
glibc=$(basename "$wheel" | sed -n 's/.*manylinux_\([0-9]*\)_\([0-9]*\)_.*/\1.\2/p')
[ -n "$glibc" ] || die "$(basename "$wheel") does not say which glibc it needs; next: make wheel"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
root=$work/root home=$work/root/usr/lib/phpdyno
mkdir -p "$home/scripts" "$home/php/tarantool" "$root/usr/bin" "$root/usr/share/doc/phpdyno" "$root/DEBIAN"

"$python" -m tools.packaging.locked >"$work/runtime.lock"
"$python" -m pip install -q --disable-pip-version-check --no-compile --no-deps --only-binary :all: --require-hashes \
    --target "$home/python" -r "$work/runtime.lock"
"$python" -m pip install -q --disable-pip-version-check --no-compile --no-deps --no-index --upgrade --target "$home/python" "$wheel"
# Programs and tests of the libraries, of which nothing is run.
rm -rf "$home/python/bin" "$home/python/share" "$home/python/include"
find "$home/python" -depth -type d \( -name tests -o -name __pycache__ \) -exec rm -rf {} +
find "$home/python" -name '*.so*' -type f -exec chmod 644 {} +
cp -R php/tarantool/src "$home/php/tarantool/"
cp scripts/setup.sh "$home/scripts/"
chmod 644 "$home/scripts/setup.sh"

cat >"$root/usr/bin/phpdyno" <<'END'
#!/usr/bin/python3 -I
"""phpdyno, with the libraries of its own package."""

import sys

sys.path.insert(0, "/usr/lib/phpdyno/python")

from phpdyno.cli import main  # noqa: E402

main()
END
chmod 755 "$root/usr/bin/phpdyno"

{
    printf 'phpdyno\n\n'
    cat LICENSE
    printf '\nThe libraries in /usr/lib/phpdyno/python have licences of their own, which stand in their *.dist-info directories.\n'
} >"$root/usr/share/doc/phpdyno/copyright"
printf 'phpdyno (%s+py%s) unstable; urgency=medium\n\n  * See CHANGELOG.md in the source.\n\n -- The phpdyno authors <phpdyno@example.org>  %s\n' \
    "$version" "$series" "$(date -R -u -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}")" |
    gzip -9n >"$root/usr/share/doc/phpdyno/changelog.gz"

mkdir -p "$root/usr/share/lintian/overrides"
# What other people's wheels bring, as they built it.
cat >"$root/usr/share/lintian/overrides/phpdyno" <<'END'
phpdyno: embedded-library *
phpdyno: custom-library-search-path *
phpdyno: unstripped-binary-or-object *
phpdyno: python-module-in-wrong-location *
phpdyno: library-not-linked-against-libc *
END

cat >"$root/DEBIAN/control" <<END
Package: phpdyno
Version: $version+py$series
Architecture: $arch
Maintainer: The phpdyno authors <phpdyno@example.org>
Installed-Size: $(du -sk "$root" | cut -f1)
Depends: python3 (>= $series), python3 (<< $next), libc6 (>= $glibc), nginx-light | nginx, php-fpm, php-cli
Recommends: mariadb-server-core, mariadb-client-core, php-mysql, php-mbstring, php-xml, strace, git
Suggests: apache2-bin, linux-perf, valgrind
Section: utils
Priority: optional
Description: dynamometer for PHP: one honest verdict per change
 phpdyno runs a PHP application on real nginx, php-fpm and MariaDB that it
 starts itself, tries each change against the control at the same time, proves
 that the change was at work in the running worker, and says what it saved, with
 a confidence interval.
 .
 The Python libraries that it needs are a part of this package.
END

# Compiled by the Python that runs it, and gone with the package.
cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ]; then python3 -m compileall -q -j 0 /usr/lib/phpdyno/python >/dev/null || true; fi
END
cat >"$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
find /usr/lib/phpdyno/python -depth -type d -name __pycache__ -exec rm -rf {} +
END
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"

mkdir -p "$out"
deb=$out/phpdyno_${version}+py${series}_$arch.deb
dpkg-deb --root-owner-group -Zxz -z4 --threads-max=1 --build "$root" "$deb" >/dev/null
printf 'deb.sh: %s (%s MiB; for python3 %s, glibc %s or newer)\n' "$deb" "$(($(stat -c %s "$deb") >> 20))" "$series" "$glibc"
