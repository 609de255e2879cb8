# Machines with a real systemd: Debian 12 made by mmdebstrap, booted by systemd-nspawn, with the packages that users install. Sourced by tests/story/site
# and site_moved after `set -euo pipefail`; `machine_begin`, then `machine_new NAME` and `machine_boot`. The functions speak of the machine in $root, whose
# nspawn is $machine.
#
# HAAS_SITE_ROOT: a root that machine_base has made is kept there and taken from there, for those who work on these stories. HAAS_SITE_KEEP=1 leaves all.
# shellcheck shell=bash disable=SC2154

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
root='' machine=''
# shellcheck source=tests/support/story.sh
. "$top/tests/support/story.sh"
wait_every=0.2
on_failure() { [ -z "$root" ] || inside journalctl -b --no-pager -n 25 2>/dev/null; }

machine_begin() { # FUNCTION...: what has to end before the folder goes
	local tool
	[ "$(id -u)" = 0 ] || skip "root: machines are made here"
	for tool in systemd-nspawn mmdebstrap; do command -v $tool >/dev/null || skip "missing: $tool (packages systemd-container, mmdebstrap)"; done
	dir=$(mktemp -d "${TMPDIR:-/var/tmp}/haas-site.XXXXXX")
	machine_ends=("$@")
	trap machine_leave EXIT
}
machine_leave() {
	local status=$? end
	trap - EXIT
	[ -z "${HAAS_SITE_KEEP:-}" ] || { echo "kept: $dir, machine $machine" && exit $status; }
	set +e
	[ -z "$machine" ] || machine_stop 60 || kill -9 "$machine"
	for end in "${machine_ends[@]}"; do "$end"; done
	rm -rf "$dir"
	exit $status
}
machine_log() { # COMMAND...: what it says matters only when it fails
	"$@" >"$dir/log" 2>&1 || { tail -n 30 "$dir/log" >&2; fail "$*"; }
}

# --- packages ---
# Paths are taken relative to the top of the sources, so another tree's objects serve this one.
machine_packages() { # SOURCES FOLDER: packages of the release build of these sources
	local targets=(bampi-agent peregrine-capture {controller,relay,storage}_samples haasctl_completion) manual
	[ ! -d "$1/portal/web" ] || targets+=(page) # a commit from before the page has none
	for manual in "$1"/docs/man/*.[18]; do targets+=("manual_${manual##*/}"); done
	export CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1
	# shellcheck disable=SC2016
	machine_log sh -c 'cd "$1" && folder=$2 && shift 2 && cmake --preset release && cmake --build --preset release --target "$@" && cd build/release && cpack -G DEB -B "$folder"' _ "$1" "$2" "${targets[@]}"
}
machine_version() { # DEB SUFFIX FOLDER: the same programs under another version, which is the suffix appended
	local tree=$dir/version
	dpkg-deb -R "$1" "$tree"
	sed -i "s/^Version: .*/&$2/; s/haas-cli (= \([^)]*\))/haas-cli (= \1$2)/" "$tree/DEBIAN/control"
	mkdir -p "$3" && dpkg-deb -b "$tree" "$3/" >"$dir/log"
	rm -rf "$tree"
}

# --- the machine ---
machine_base() { # what its machines have from Debian, in $dir/base: PostgreSQL, what makes boot files, the target of a storage
	local kept=${HAAS_SITE_ROOT:-}
	if [ -d "${kept:-/none}" ]; then cp -a "$kept" "$dir/base" && return; fi
	machine_log mmdebstrap --variant=minbase --include="systemd,systemd-sysv,dbus,iproute2,procps,postgresql-15,ca-certificates,tgt,busybox-static,cpio,binutils,kmod,ipxe" bookworm "$dir/base"
	rm -rf "$dir/base/var/lib/postgresql/15" "$dir/base/etc/postgresql/15" # our own cluster is the only one
	[ -z "$kept" ] || cp -a "$dir/base" "$kept"
}
machine_new() { # NAME: another machine, of this name
	root=$dir/$1
	cp -a "$dir/base" "$root"
	echo "127.0.1.1 $1" >>"$root/etc/hosts" && echo "$1" >"$root/etc/hostname"
	mkdir -p "$root/packages" "$root/media/key" "$root/var/backups" "$root/etc/systemd/system/multi-user.target.wants"
	chroot "$root" useradd ann
}
machine_install() { # DEB...: before its first boot
	cp "$@" "$root/packages/"
	# shellcheck disable=SC2016
	machine_log systemd-nspawn -q -D "$root" --register=no --keep-unit --console=pipe sh -c 'cd /packages && apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"' _ "${@/#*\//.\/}"
	[ ! -e "$root/run/haas/portald/socket" ] || fail "a daemon was started by the installation"
}
machine_dpkg() { # WORD...: of dpkg on the running machine
	machine_log inside env DEBIAN_FRONTEND=noninteractive dpkg --force-confold "$@"
}
gone() { ! kill -0 "$machine" 2>/dev/null; }
# A process of the machine's init shows us its namespaces; what is run there has its view of the world.
init_pid() { pgrep -P "$machine" -x systemd | head -n 1; }
inside() { nsenter -t "$(init_pid)" -m -u -i -n -p -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C "$@"; }
booted() { [ -n "$(init_pid)" ] && grep -qE 'running|degraded' <<<"$(inside systemctl is-system-running 2>/dev/null || true)"; }
machine_boot() { # OPTION...: of nspawn, about its network
	systemd-nspawn -q -D "$root" --boot "${@:---private-network}" --register=no --keep-unit --console=pipe >"$dir/console" 2>&1 </dev/null &
	machine=$!
	wait_for 120 booted || { tail -n 30 "$dir/console"; fail "the machine does not boot"; }
}
machine_stop() { # SECONDS: it is switched off in order
	kill "$machine" 2>/dev/null
	wait_for "$1" gone && machine=''
}
machine_cut() { # its power is cut
	kill -9 "$(init_pid)" && wait_for 60 gone || fail "the power is not cut"
	machine=''
}

# --- its units ---
daemons="portald portal-outward bampi-bootd bampid peregrined peregrine-flowd peregrine-captured"
# shellcheck disable=SC2086
up() { [ "$(inside systemctl is-active haas-db haas-schema $daemons | grep -cx active)" = 9 ]; }
answers() { inside haasctl node list >/dev/null 2>&1; }
works() { # WHEN: all units are up, and haasctl is answered
	wait_for 180 up && wait_for 60 answers || { inside systemctl --no-pager --failed; fail "not up $1: $(inside haasctl node list 2>&1)"; }
}
cell() { tr -d '\r' | tail -n 1; } # the last line of what `haasctl -o csv` prints

# --- docs/site.md, as far as a lab can ---
# A block "```conf FILE" is that file, a block "```sh story" is run. Nobody is asked, and the clock and the disks are the test machine's.
page() { # MARK: the blocks of docs/site.md with this mark, one after the other
	python3 - "$1" "$top/docs/site.md" <<'END'
import re, sys
for mark, body in re.findall(r"^```(.*)\n((?:.*\n)*?)```$", open(sys.argv[2]).read(), re.M):
    if mark == sys.argv[1]:
        print(body, end="")
END
}
run_page() { # [FOLDER]: runs the lines there; a line that tells what is wrong (site check, status) may end with 1: a site without boot files has something to say
	local line status
	while read -r line; do
		status=0
		line=${line/#haasctl site init/haasctl site init --yes --accept clock --accept disks}
		line=${line/#apt /DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends -o Dpkg::Options::=--force-confold }
		inside sh -c "cd ${1:-/root} && $line" >"$dir/said" 2>&1 </dev/null || status=$?
		case $line in "haasctl site check" | "haasctl status" | *"&& haasctl site check") [ $status -le 1 ] ;; *) [ $status = 0 ] ;; esac || { cat "$dir/said"; fail "docs/site.md: $line: $status"; }
	done
}
machine_page() { # MARK VERSION: runs these blocks in the folder with that version's packages
	run_page "/packages/$2" < <(page "sh $1")
}
