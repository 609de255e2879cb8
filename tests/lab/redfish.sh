# BMCs that speak Redfish, for stories on the rack: redfish_sim beside ipmi_sim, powering the same nodes. Sourced after story.sh.
# shellcheck shell=bash disable=SC2154

redfish_port=8443

# The BMCs' certificate, self-signed as theirs are. Before story_begin, so that bampid's configuration may name it.
redfish_certificate() {
	command -v openssl >/dev/null || skip "openssl is missing"
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=bmc -addext subjectAltName=IP:127.0.1.1,IP:127.0.1.2 -keyout "$dir/bmc.key" \
		-out "$dir/bmc.crt" 2>/dev/null
	cat "$dir/bmc.crt" "$dir/bmc.key" >"$dir/bmc.pem"
	chmod 0644 "$dir/bmc.crt"
	redfish_pin=sha256//$(openssl x509 -in "$dir/bmc.crt" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64)
}

# Of every node of the rack.
redfish_start() { # [VENDOR]
	local d operands=()
	[ -x "$bin/redfish_sim" ] || skip "$bin/redfish_sim is not built"
	for d in $(rack_nodes); do
		# shellcheck disable=SC1091
		operands+=("${d##*/}=$(. "$d/node.env" && echo "$BMC_ADDRESS")=$d")
	done
	setsid ip netns exec "$HAAS_NS" "$bin/redfish_sim" --port $redfish_port --certificate "$dir/bmc.pem" --vendor "${1:-generic}" \
		--chassis "$lab/bmc/chassis" "${operands[@]}" >"$dir/log/redfish_sim" 2>&1 </dev/null &
	disown # it ends with the namespace
	wait_for 60 grep -q ready "$dir/log/redfish_sim" || fail "redfish_sim does not start: $(cat "$dir/log/redfish_sim")"
}

# The rack's sheet, with the other driver.
redfish_sheet() { # FINGERPRINT, or nothing
	awk -F, -v OFS=, -v port=$redfish_port -v pin="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; print $0, "bmc_tls", "bmc_fingerprint"; next }
		{ $column["bmc_driver"] = "redfish"; $column["bmc_port"] = port; print $0, "verify", pin }' "$dir/rack/inventory.csv"
}

redfish_url() { # NODE PATH
	# shellcheck disable=SC1091
	(. "$HAAS_DIR/node/$1/node.env" && echo "https://$BMC_ADDRESS:$redfish_port$2")
}
redfish_state() { # NODE MEMBER: what the BMC itself has seen
	member "$(rack_exec curl -sS -k "$(redfish_url "$1" /sim/state)")" "$2"
}
redfish_fault() { # NODE "WORDS [HOLD_MS [PATH]]"
	rack_exec curl -sS -k --fail -X PUT -d "$2" "$(redfish_url "$1" /sim/faults)"
}
redfish_has_sessions() { # NODE N
	[ "$(redfish_state "$1" sessions)" = "$2" ]
}
