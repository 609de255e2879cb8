# What the stories on the virtual rack share: a site that goes away with the story, questions to the database, checks. Sourced after
# `set -euo pipefail`; then `story_begin NODES`, the story, `story_end`. LAB_KEEP=1 leaves a failed site running and says where.
# shellcheck shell=bash disable=SC2154

dir=$(mktemp -d "${TMPDIR:-/tmp}/haas-story.XXXXXX")
# shellcheck source=tests/lab/site.sh
. "$(dirname "${BASH_SOURCE[0]}")/site.sh"
# shellcheck source=tests/lab/wire.sh
. "$(dirname "${BASH_SOURCE[0]}")/wire.sh"

story_exit() {
	local status=$?
	trap - EXIT
	set +e
	if [ "$status" != 0 ] && [ "$status" != 77 ]; then
		story_show
		if [ -n "${LAB_KEEP:-}" ]; then
			echo "left running in $dir"
			exit "$status"
		fi
	fi >&2
	[ -z "${state:-}" ] || site_down
	[ -z "${story_mount:-}" ] || umount "$story_mount"
	rm -rf "$dir"
	exit "$status"
}

story_show() {
	[ -d "$dir/pg" ] || return
	echo "-- deployments"
	sql "select id, plan, node_id, state, step, attempt, problem from deployment order by id"
	echo "-- events"
	sql "select to_char(at, 'HH24:MI:SS.MS'), kind, subject, message, detail -> 'problem' from event order by id desc limit 50" | tac | cut -c1-300
	echo "-- chassis.log"
	grep -h ' set \| start ' "$dir"/rack/node/*/chassis.log | tail -n 20
	! declare -F story_show_more >/dev/null || story_show_more
	site_logs 15
	[ ! -s "$dir/rack/lab.env" ] || wire_show
}

story_begin() { # NODES [OPTION of rack up...]
	story_needs "${daemon_names[@]}" haasctl
	trap story_exit EXIT
	"${site_start:-site_up}" "$@"
	wire_start
	say "the site is up"
}

story_end() {
	daemons_end
	say ok
}

deploy() { # PLAN NODE: prints the deployment's id
	local options=(--plan "$1" --node "$2")
	case $1 in install | reinstall) options+=(--image demo) ;; esac
	haasctl deployment create "${options[@]}" >"$dir/log/create" 2>&1
	sql "select max(id) from deployment"
}
in_step() { # DEPLOYMENT STEP SECONDS
	await "$3" "select step from deployment where id = $1" "$2" "deployment $1 is in step $2"
}
# Bytes of the image are on the disk: in the middle of it, not before or after.
in_write() { # DEPLOYMENT NODE SECONDS
	wait_for "$3" is_writing "$1" "$2" || fail "deployment $1 never was in the middle of its image write"
}
is_writing() {
	says "select state from agent_task where deployment_id = $1 and kind = 'write_image' order by id desc limit 1" taken &&
		[ "$(du -k "$HAAS_DIR/node/$2/disk.raw" | cut -f1)" -gt 1024 ]
}
ends() { # DEPLOYMENT STATE SECONDS
	wait_for "$3" says "select due_at is null from deployment where id = $1" t || fail "deployment $1 does not end within $3 s"
	expect "select state from deployment where id = $1" "$2" "state of deployment $1"
}
node_is() { # NODE 'STATE DIRTY' SECONDS, as in `node_is n1 'free false' 5`
	await "$3" "select state || ' ' || dirty from node where name = '$1'" "$2" "node $1"
}
problem_of() { # DEPLOYMENT [MEMBER]
	sql "select problem ->> '${2:-message}' from deployment where id = $1"
}
is_on() { # NODE: by the process, not by what its BMC says
	is_alive "$HAAS_DIR/node/$1/pid"
}
is_off() {
	! is_on "$1"
}
pull_plug() { # NODE: its power fails, and nobody is told
	kill -9 "$(cat "$HAAS_DIR/node/$1/pid")"
}
disk_is_zero() { # NODE
	cmp -s -n "$(stat -c %s "$HAAS_DIR/node/$1/disk.raw")" "$HAAS_DIR/node/$1/disk.raw" /dev/zero
}
count_writes() { # DEPLOYMENT: images written to their end
	sql "select count(*) from agent_task where deployment_id = $1 and kind = 'write_image' and state = 'done'"
}
log_count() { # DAEMON PATTERN
	grep -c -- "$2" "$state/log/$1.log" || true
}
