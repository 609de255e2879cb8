# What every story in bash says, asks and waits for. The labs source it (lab/lib.sh, sim/node/lab.sh, sim/fleet/fleet_lab.sh); the caller has
# `set -euo pipefail`. Questions go to the PostgreSQL whose socket is in the folder $conninfo_host.
# shellcheck shell=bash disable=SC2154

story_started=$SECONDS

say() {
	printf '== %s (%d s)\n' "$*" $((SECONDS - story_started))
}
fail() { # WHAT: a function on_failure of the story shows why
	echo "FAILED: $*" >&2
	! declare -F on_failure >/dev/null || on_failure >&2 || true
	exit 1
}
skip() { # WHAT IS MISSING
	echo "$*"
	exit 77
}
story_needs() { # PROGRAM...: of the build folder $HAAS_BUILD; and root
	local program
	[ "$(id -u)" = 0 ] || skip "root: network namespaces and the daemons' users need it"
	for program; do
		[ -x "${HAAS_BUILD:-build/dev}/bin/$program" ] || skip "$program is not built"
	done
}

wait_for() { # SECONDS COMMAND...: true as soon as the command is, false when the time is up
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep "${wait_every:-0.1}"
	done
}

# `! COMMAND | grep -q` holds as well when COMMAND fails, or when grep's early end stops it.
prints_no() { # PATTERN COMMAND...: COMMAND succeeds, and no line that it prints matches the extended regular expression
	local printed
	printed=$("${@:2}") && ! grep -qE -- "$1" <<<"$printed"
}
no_sanitizer() { # LOG...: all can be read, and in none a sanitizer reports
	local status=0
	grep -l 'Sanitizer\|runtime error:' "$@" >&2 || status=$?
	[ $status = 1 ] || fail "a sanitizer reports in these logs, or they cannot be read: $*"
}

sql() { # SQL
	psql -qXAt -h "$conninfo_host" -U haas -d haas -v ON_ERROR_STOP=1 -c "set search_path = haas; set haas.scope = 'operator'" -c "$1"
}
says() { # SQL VALUE: a question that fails is no answer, also where VALUE is empty
	local got
	got=$(sql "$1" 2>/dev/null) && [ "$got" = "$2" ]
}
expect() { # SQL VALUE WHAT
	local got
	got=$(sql "$1")
	[ "$got" = "$2" ] || fail "$3: expected '$2', got '$got'"
}
await() { # SECONDS SQL VALUE WHAT
	wait_for "$1" says "$2" "$3" || fail "$4 after $1 s: expected '$3', got '$(sql "$2")'"
}
await_true() { # SECONDS SQL [EVERY]: false when the time is up
	local wait_every=${3:-0.1}
	wait_for "$1" says "$2" t
}
