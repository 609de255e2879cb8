# Simulated nodes for stories: a private PostgreSQL, a rack of driver sim, simnodes as bampi-bootd, agent and OS, and as many bampid as
# a story starts. Sourced; the caller has `set -euo pipefail`. Needs $HAAS_BUILD (a build folder).
build=${HAAS_BUILD:-build/dev}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
case $build in /*) ;; *) build=$root/$build ;; esac
. "$root/tests/support/story.sh"
for program in bampid simnodes; do
	[ -x "$build/bin/$program" ] || { echo "$build/bin/$program is not built"; exit 77; }
done
lab=$(mktemp -d "${TMPDIR:-/tmp}/haas-sim.XXXXXX")
chmod 755 "$lab"
conninfo_host=$lab/pg
declare -A pids=()

on_failure() {
	say "--- deployments"; sql "select id, plan, node_id, state, step, attempt, due_at, problem from deployment order by id" || true
	sql "select id, action, state, due_at, claim_owner, claim_until, generation, problem from node_action order by id" || true
	say "--- events"; sql "select at, kind, subject, message, detail -> 'problem' ->> 'detail' from event order by id desc limit 40" || true
	for log in "$lab"/*.log; do say "--- $log"; tail -n 40 "$log"; done
}

# Every program of the lab, the database last.
lab_stop() {
	local name
	for name in "${!pids[@]}"; do
		kill -9 "${pids[$name]}" 2>/dev/null || true
		wait "${pids[$name]}" 2>/dev/null || true
	done
	"$root/tests/support/pg" stop "$lab/pg" >/dev/null 2>&1 || true
	[ -n "${LAB_KEEP:-}" ] || rm -rf "$lab"
}
trap lab_stop EXIT

# lab_start COUNT [POST_MS LOAD_MS START_MS TASK_MS]: nodes s1..sCOUNT, free, and the image demo.
lab_start() {
	local count=$1 signature digest
	"$root/tests/support/pg" start "$lab/pg" >"$lab/pg.log" 2>&1 || { cat "$lab/pg.log"; exit 1; }
	mkdir "$lab/keys" "$lab/image-keys"
	read -r signature digest < <("$build/bin/simnodes" image "$lab/image-keys" demo 1)
	sql "insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware,
		state, received_bytes, public) values ('demo', '1', pg_read_file('$lab/image-keys/image.json'), decode('$signature', 'hex'), 'k', '$digest',
		'$digest', 1024, 512, 1, '{bios,uefi}', 'ready', 512, true);
	     insert into subnet (name, prefix, boot_server) values ('sim', '10.98.0.0/16', '10.98.0.1')"
	sql "select count(*) from (select node_put(jsonb_build_object('name', 's' || i, 'nics', jsonb_build_array(jsonb_build_object('name', 'eth0', 'boot', true,
		'mac', format('52:54:00:99:%s:%s', lpad(to_hex(i >> 8), 2, '0'), lpad(to_hex(i & 255), 2, '0')))),
		'bmc', jsonb_build_object('driver', 'sim', 'address', format('10.99.%s.%s', i >> 8, i & 255))), false, 'test'),
		node_request('s' || i, 'accept', 'test', '') from generate_series(1, $count) i) x;
	     update bmc set observed_at = now();
	     insert into lease (address, mac, subnet_id, expires_at) select '10.98.1.0'::inet + x.node_id, x.mac, s.id, now() + interval '1 day'
		from nic x, subnet s" >/dev/null
	: >"$lab/faults"; : >"$lab/journal"
	"$build/bin/simnodes" run "host=$lab/pg dbname=haas user=bampi_bootd" "$lab" "$@" >"$lab/simnodes.log" 2>&1 &
	pids[simnodes]=$!
}

# bampid_start NAME: one more bampid. EXTRA_CONF adds lines.
bampid_start() {
	cat >"$lab/$1.conf" <<-CONF
		database = "host=$lab/pg dbname=haas user=bampid";
		user = ""; name = "$1"; socket = { path = "$lab/$1.sock"; };
		key_dir = "$lab/keys"; console_dir = "$lab/consoles"; image_keys = "$lab/image-keys"; sim_rack = "$lab/rack";
		claim = 2; poll = 1; bmc_patience = ${PATIENCE:-5}; backoff = ${BACKOFF:-1}; settle = 1; agent = { fresh = 5; stall = ${STALL:-8}; };
		deadline = { netboot = ${NETBOOT:-12}; agent = ${AGENT:-12}; verify = ${VERIFY:-30}; power_off = 12; };
	CONF
	"$build/bin/bampid" --config "$lab/$1.conf" >>"$lab/$1.log" 2>&1 &
	pids[$1]=$!
}
bampid_kill() { kill -9 "${pids[$1]}"; wait "${pids[$1]}" 2>/dev/null || true; unset "pids[$1]"; }

# deploy PLAN NODE: prints the deployment's id.
deploy() {
	local image=null
	case $1 in install | reinstall) image="'demo'" ;; esac
	sql "select coalesce(deployment_id::text, refused) from deployment_create('$1', array['$2'], $image, null, '{}', 'test')"
}
faults() { printf '%s\n' "$@" >"$lab/faults.new"; mv "$lab/faults.new" "$lab/faults"; sleep 0.1; }
# hurry NODE...: the deadline of the step that each is in is over, as if it had been waited for.
hurry() {
	local names="$*"
	sql "update deployment set step_deadline_at = now(), due_at = now() where due_at is not null and step_deadline_at is not null
		and node_id in (select id from node where name = any('{${names// /,}}')); notify deployment" >/dev/null
}
ended() { await_true "$1" "select count(*) = 0 from deployment where due_at is not null"; }

# What must hold whatever happened: work that is not over has a due time, free means clean, the certificates are one chain, and no task
# that destroys was begun twice in one deployment.
invariants() {
	expect "select count(*) from deployment where (state in ('queued', 'waiting', 'cancelling')) <> (due_at is not null)" 0 "a due time"
	expect "select count(*) from node where state = 'free' and dirty" 0 "free is clean"
	"$build/bin/simnodes" chain "host=$lab/pg dbname=haas user=haas" >"$lab/chain" 2>"$lab/chain.err" || fail "the certificate chain: $(cat "$lab/chain.err")"
	expect "select count(*) from certificate" "$(cat "$lab/chain")" "certificates in the chain"
	expect "select count(*) from (select from agent_task where kind = 'erase' group by deployment_id having count(*) > 1) x" 0 "erased once per deployment"
	expect "select count(*) from (select from agent_task where kind = 'write_image' and state <> 'dropped' group by deployment_id having count(*) > 1) x" 0 \
		"written once per deployment"
	expect "select count(*) from agent_task t join deployment d on d.id = t.deployment_id where d.due_at is null and t.state in ('queued', 'taken')" 0 \
		"tasks of deployments that are over"
	expect "select count(*) from deployment_step s join deployment d on d.id = s.deployment_id where d.due_at is null and s.state = 'running'" 0 \
		"running steps of deployments that are over"
}

# The hold of each step: what makes a deployment stay in it until the faults are cleared.
declare -A hold=([netboot]=no_script [agent]=no_agent [inventory]=hold:inventory [write_image]=hold:write_image [configure_os]=hold:configure_os
	[local_boot]=bmc_slow [verify]=no_callback [scrub]=hold:erase [verify_scrubbed]=hold:verify_erased [power_off]=bmc_slow)
# in_step NODE STEP: SQL that is t once the newest deployment of the node works in the step.
in_step() {
	printf "select step = '%s' and step_started_at is not null from deployment where node_id = (select id from node where name = '%s') order by id desc limit 1" "$2" "$1"
}
# Stops every bampid as systemd would; a leak or a crash is a failure.
lab_end() {
	local name
	for name in "${!pids[@]}"; do
		[ "$name" != simnodes ] || continue
		kill -TERM "${pids[$name]}"
		wait "${pids[$name]}" || fail "$name did not stop cleanly"
		unset "pids[$name]"
	done
	no_sanitizer "$lab"/*.log
	say ok
}
