# A site whose nodes start only what its key has signed: keys, signed image, machines whose firmware knows the keys. Sourced after
# story.sh; then `secure_boot_begin NODES`. Made once, in build/site, like what every site needs.
# shellcheck shell=bash disable=SC2154

secure_boot_shared() {
	signed=$shared/signed
	site_shared
	exec 8>"$shared/lock"
	flock 8
	[ -s "$signed/keys/db.key" ] || quietly "$shared/keys.log" "$top/bampi/agent/ramdisk/secure_boot_keys" "$signed/keys" story
	"$lab/firmware_vars" "$signed/keys" "$signed/vars.fd"
	quietly "$shared/signed.log" "$top/bampi/agent/ramdisk/build" --agent "$agent" --image-key "$shared/image.key.pub" --task-key "$shared/task.key.pub" \
		--secure-boot "$signed/keys" --out "$signed/boot"
	exec 8>&-
}

on_folders() {
	cp "$signed"/boot/* "$state/boot/"
	chmod 0644 "$state"/boot/*
}

secure_boot_begin() { # NODES
	mkdir -p "$shared"
	secure_boot_shared
	story_begin "$1" --secure-boot "$signed/vars.fd"
}

# The firmware's own words, on the console.
firmware_refuses() { # NODE
	serial "$1" | tr -d '\r' | grep -aE 'BdsDxe: failed to (load|start) .*(Access Denied|Security Violation)' >/dev/null
}
