// links: common_net
/* user 13: --ssh-key took any file, a private key too. What a public key is, and what else is told
 * to be. */
#include <string.h>

#include "common/base/macros.h"
#include "common/net/ssh_key_wire.h"

#include "tests/support/cmocka.h"

#define ED25519 "AAAAC3NzaC1lZDI1NTE5AAAAIIfUnAOGU+EcyFKSt/vofZXlxnQ7YqbBgHzv+PCDK2h5"

/* Made by ssh-keygen; the last two by hand, as OpenSSH's PROTOCOL.u2f has them. */
static const char *const good[] = {
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIfUnAOGU+EcyFKSt/vofZXlxnQ7YqbBgH"
	"zv+PCDK2h5 t",
	"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQDP2g8HesOOnAJRxjsZmHidUrkyY4M6wN"
	"u22zeRpO/J9ZHZgTcUB8hXPkOHgBP12uWXBNInpl1x4dzMIwshyT9Yqg8QswkX+t7Uj7AX"
	"/Pefa5ku3pFvARHrfOxxDW1kcuQD6tex/woD7QRBfn6ST/xvyJ0qpmxEOdIL53iTyucW8a"
	"65RGiX2SD/Ds5Xj1gEqwyXujaeugqi910VLavcO8PsGYcBqIvc+CEdIFU3esv7oGasTS5B"
	"DH9bsKyvIw6jL3SfsIptDq2QtVPyf9qV9uKHHGSjk7tH6HFpWjVJBfrk3UsXbJdu+6WBnQ"
	"7zomVK2QrDc2Px9qGSpcNQp0wpF5Fd t",
	"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAA"
	"BBBEKGR5FQK2ZEq8fgYivHC2FeowbmoPyVWCHrGoitmxUlcjSiDaBYvezlX0oOCDyr0XOT"
	"8JzyOyeR3z1cuDdHZm4= t",
	"ecdsa-sha2-nistp384 AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAA"
	"BhBAUJAaDnCeCQw127lb+1/pzYWUiwr7DtzvlXrwX2NDxeeAbro+n/OTsaSeKu4Gd3U16V"
	"gZQrx8tzHPvCzRkXxBUzxhH2lTbVSO+FZYifKFyeNYWkb4SngHQqkffJBo/ChA== t",
	"ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAA"
	"CFBAGyW+wNmVKZGJfJVopRZn/yQYLoEdlNWXBvfI5CTgki4qY0lDb1GChsNY5vLDtCvUfq"
	"c3x7KZoSJpZX7epEcKDP+gDM5tS5Dnt8pQYzllH3V8z0SQNvV+MGNMWVmHMkAssF9SA8CR"
	"2r8w8LoOwAvlontri4+MdE1Idh1hR/kr1L22D6aA== t",
	"sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAA"
	"AIIfUnAOGU+EcyFKSt/vofZXlxnQ7YqbBgHzv+PCDK2h5AAAABHNzaDo= t",
	"sk-ecdsa-sha2-nistp256@openssh.com AAAAInNrLWVjZHNhLXNoYTItbmlzdHAyNTZ"
	"Ab3BlbnNzaC5jb20AAAAIbmlzdHAyNTYAAABBBEKGR5FQK2ZEq8fgYivHC2FeowbmoPyVW"
	"CHrGoitmxUlcjSiDaBYvezlX0oOCDyr0XOT8JzyOyeR3z1cuDdHZm4AAAAEc3NoOg==",
};

static void keys(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		char cut[1024];

		if (ssh_key_refusal(good[i], strlen(good[i])))
			fail_msg("%s: %s", good[i], ssh_key_refusal(good[i], strlen(good[i])));
		/* at no place may it be cut */
		for (size_t size = 0; size < strcspn(strchr(good[i], ' ') + 1, " ") +
						     (size_t)(strchr(good[i], ' ') + 1 - good[i]);
		     size++) {
			memcpy(cut, good[i], size);
			assert_non_null(ssh_key_refusal(cut, size));
		}
	}
}

static void others(void **state)
{
	static const struct {
		const char *line, *what;
	} rows[] = {
		{"", "nothing"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----", "a private key (give the .pub file)"},
		{"-----BEGIN RSA PRIVATE KEY-----", "a private key (give the .pub file)"},
		{"-----BEGIN CERTIFICATE-----", "a certificate"},
		{"PuTTY-User-Key-File-3: ssh-ed25519",
		 "a private key of PuTTY (give the public key)"},
		{"ssh-dss AAAA", "a DSA key, which sshd no longer takes"},
		{"root:x:0:0:root:/root:/bin/bash", "no public key"},
		{"no-pty ssh-ed25519 " ED25519, "no public key"},
		{"ssh-ed25519", "a key that is damaged or cut"},
		{"ssh-ed25519 ", "a key that is damaged or cut"},
		{"ssh-ed25519 AAAA", "a key that is damaged or cut"},
		{"ssh-ed25519 *", "a key that is damaged or cut"},
		{"ssh-rsa " ED25519, "a key whose type word is not the type of the key behind it"},
		{"ssh-ed25519 " ED25519 "=", "a key that is damaged or cut"},
		{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIfUnAOGU+EcyFKSt/vofZXlxnQ7YqbBgHzv+PCDK2g=",
		 "a key that is damaged or cut"},
		{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIfUnAOGU+EcyFKSt/vofZXlxnQ7YqbBgHzv+PCDK2h5eA==",
		 "a key that is damaged or cut"},
		{"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAQH9/f39/f39/f39/f39/f39/f39/f39/f39/f39/f39/f39/f39/f39/f39/f39/f39/f39/f39/f39/f39/f38=",
		 "a key that is damaged or cut"},
		{"ssh-ed25519 " ED25519 " a\nssh-ed25519 " ED25519, "no public key"},
		{"ssh-ed25519 " ED25519 " \033[31mred", "no public key"},
		{"\x7f"
		 "ELF",
		 "no public key"},
	};
	char longer[SSH_KEY_LINE_MAX + 2];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *what = ssh_key_refusal(rows[i].line, strlen(rows[i].line));

		if (!what || strncmp(what, rows[i].what, strlen(rows[i].what)) != 0)
			fail_msg("%s: %s", rows[i].line, what ? what : "taken");
	}
	memset(longer, 'x', sizeof(longer));
	memcpy(longer, "ssh-ed25519 " ED25519 " ", strlen("ssh-ed25519 " ED25519 " "));
	assert_null(ssh_key_refusal(longer, SSH_KEY_LINE_MAX));
	assert_string_equal(ssh_key_refusal(longer, SSH_KEY_LINE_MAX + 1),
			    "longer than any public key");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys),
		cmocka_unit_test(others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
