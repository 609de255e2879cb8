# What benches in shell share: the packages and the release build of this tree, and rows against a limit. Not a bench itself. The caller has `set -euo pipefail`.
# shellcheck shell=bash

# release_usage FIRST,LAST [--help|WORD]: prints these lines of the bench's head and ends, 0 when that was asked for, else 2.
release_usage() {
	sed -n "${1}p" "$0" | sed 's/^# \{0,1\}//'
	[ "${2:-}" = --help ] && exit 0
	exit 2
}

# release_build TARGET...: packages, build; sets HAAS_BUILD. A failure shows the end of its log.
release_build() {
	local top log
	top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
	[ "$(id -u)" = 0 ] || { echo "${0##*/}: run me as root (packages, network namespaces, OS users)" >&2; exit 1; }
	echo "${0##*/}: building" >&2
	"$top/tests/support/install" >&2
	log=$(mktemp "${TMPDIR:-/tmp}/haas-release.XXXXXX")
	(cd "$top" && cmake --preset release && cmake --build --preset release -j 2 --target "$@") >"$log" 2>&1 || { tail -n 30 "$log" >&2; rm -f "$log"; exit 1; }
	rm -f "$log"
	export HAAS_BUILD=$top/build/release
}

# release_row FILE WHAT OURS LIMIT UNIT [MORE]: prints a line of the bench and keeps it in FILE for the last one. ratio = OURS / LIMIT.
release_row() {
	awk -v bench="${0##*/}" -v what="$2" -v ours="$3" -v limit="$4" -v words="unit=$5${6:+ $6}" -v file="$1" 'BEGIN {
		figures = sprintf("ours=%s limit=%s ratio=%.2f %s", ours, limit, ours / limit, words)
		print "bench " bench "_" what " " figures
		printf "%.6f bench %s %s what=%s\n", ours / limit, bench, figures, what >> file
	}'
}
# release_worst FILE: the last line of the bench, the worst of the rows.
release_worst() { sort -g "$1" | tail -n 1 | cut -d' ' -f2-; }
