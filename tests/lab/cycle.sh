# The body of story_install_{bios,uefi} and story_https_{bios,uefi}: nothing is taken from the product's word that can be looked at.
# shellcheck shell=bash disable=SC2154

cycle_limit=${cycle_limit:-120} # seconds until the next thing must have happened

# With bampid stopped nothing is posted after the image: the disk stays as write_image left it until we have read it.
written_disk_is_the_image() { # DEPLOYMENT
	local reported wanted
	daemon_signal bampid STOP
	wait_for "$cycle_limit" says "select state from agent_task where deployment_id = $1 and kind = 'write_image'" 'done' || fail "the image is not written"
	expect "select count(*) from agent_task where deployment_id = $1 and kind = 'configure_os'" 0 "bampid was stopped in time"
	reported=$(sql "select result ->> 'digest' from agent_task where deployment_id = $1 and kind = 'write_image'")
	wanted=$(member "$(cat "$manifest")" digest)
	[ "$reported" = "$wanted" ] || fail "the agent reports digest $reported, the image's is $wanted"
	[ "$(node_digest n1 "$(member "$(cat "$manifest")" size_bytes)")" = "$wanted" ] || fail "the disk does not hold the image"
	daemon_signal bampid CONT
}

disk_file() { node_file n1 "$1"; } # PATH

installed_os_is_ours() {
	local nonce
	nonce=$(sql "select nonce from boot_intent")
	expect "select detail from boot_observation where kind = 'callback'" "$(node_mac n1)" "the MAC of the callback"
	[ "$(log_count bampi-bootd "node n1: the installed system is up (mac=$(node_mac n1))")" -ge 1 ] || fail "bampi-bootd has not logged a callback"
	[ "$(disk_file /etc/haas/callback)" = "http://$HAAS_GATEWAY:8080/callback/$nonce" ] || fail "the callback on the disk: $(disk_file /etc/haas/callback)"
	[ "$(disk_file /etc/hostname)" = web-7 ] || fail "the host name on the disk: $(disk_file /etc/hostname)"
	[ "$(disk_file /root/.ssh/authorized_keys)" = "$ssh_key" ] || fail "the keys on the disk: $(disk_file /root/.ssh/authorized_keys)"
	[ "$(disk_file /etc/haas/user-data)" = "$user_data" ] || fail "the user data on the disk: $(disk_file /etc/haas/user-data)"
	rack_exec ping -c 1 -w 30 192.168.77.231 >/dev/null || fail "the OS does not have its static address: $(disk_file /etc/network/interfaces)"
	wait_for 60 login_line || fail "the console does not show the login line of web-7"
}

login_line() {
	serial n1 | tr -d '\r' | grep '^web-7 login:' >/dev/null
}

# What the node was told, from the BMC's own log.
chassis_order() {
	chassis_log n1 | sed -nE 's/^[0-9.]+ (set|start) /\1 /p' | tr '\n' ';'
}

# With `site_https`: the agent's words, for bampi-bootd refuses it by HTTP.
agent_came_by_https() {
	serial n1 | grep -a "works for https://$HAAS_GATEWAY:8443" >/dev/null || fail "the agent was not told https"
	prints_no 'works for http:' serial n1 || fail "an agent went by http"
	[ "$(curl -sS --unix-socket "$state/run/bampi-bootd.metrics" http://bootd/metrics | sed -n 's/^haas_http_connections_total{outcome="failed_handshake"} //p')" = 0 ] ||
		fail "a handshake failed"
}

cycle() { # FIRMWARE
	local deployment wanted option=()
	[ "$1" = bios ] || option=(--uefi)
	story_begin 1 "${option[@]}"
	is_off n1 || fail "n1 is on before anybody asked"

	ssh_key='ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKGgoaKjpKWmp6ipqqusra6vsLGys7S1tre4ubq7vL2+ story'
	user_data=$'#!/bin/sh\necho user data ran >/dev/console'
	python3 - "$ssh_key" "$user_data" "$(node_mac n1)" >"$dir/request" <<-'END'
		import json, sys
		print(json.dumps({"plan": "install", "nodes": ["n1"], "image": "demo", "params": {"hostname": "web-7", "ssh_keys": [sys.argv[1]],
		      "user_data": sys.argv[2], "addresses": [{"mac": sys.argv[3], "address": "192.168.77.231/24", "gateway": "192.168.77.1"}]}}))
	END
	curl -sS --fail-with-body --unix-socket "$state/run/portald.sock" -H 'Content-Type: application/json' -H 'Idempotency-Key: cycle-1' \
		-d @"$dir/request" http://portald/api/v1/deployments >"$dir/reply" || fail "the install is refused: $(cat "$dir/reply")"
	deployment=$(sql "select max(id) from deployment")

	await "$cycle_limit" "select count(*) from agent_task where kind = 'write_image' and state = 'taken'" 1 "an image is being written"
	written_disk_is_the_image "$deployment"
	say "the disk holds the image, byte by byte"
	ends "$deployment" 'done' "$cycle_limit"
	node_is n1 'active true' 1
	say "the installed OS has called"
	installed_os_is_ours
	# What ipmi_sim calls "default" is IPMI's "boot from the default hard disk".
	wanted='set boot pxe;set power 1;start device=pxe;set boot default;set reset 1;start device=default;'
	[ "$(chassis_order)" = "$wanted" ] || fail "the BMC was told something else: $(chassis_order)"

	deployment=$(deploy release n1)
	ends "$deployment" 'done' "$cycle_limit"
	node_is n1 'free false' 1
	is_off n1 || fail "n1 is on after its release"
	disk_is_zero n1 || fail "the disk of n1 still holds something"
	[ -z "${site_https:-}" ] || agent_came_by_https
	haasctl certificate verify
	expect "select node || ' ' || deployment_id from certificate" "n1 $deployment" "the certificate"
	wire_is_a_switch
	story_end
}
