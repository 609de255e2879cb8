#include "common/net/ssh_key_wire.h"

#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/net/wire.h"

#define SSH_KEY_RSA_MIN  128  /* bytes of a modulus: 1024 bits, the least that sshd takes */
#define SSH_KEY_RSA_MAX  2049 /* 16384 bits, the most, behind a zero that keeps it positive */
#define SSH_KEY_TEXT_MAX 64   /* of an application name of a security key, and of a curve */

/* The fields of a blob behind its type word. */
enum ssh_key_field {
	SSH_KEY_END,
	SSH_KEY_ED25519, /* 32 bytes */
	SSH_KEY_CURVE,   /* the curve's name, as the type says it */
	SSH_KEY_POINT,   /* uncompressed: 0x04, x, y */
	SSH_KEY_EXPONENT,
	SSH_KEY_MODULUS,
	SSH_KEY_APPLICATION, /* "ssh:" */
};

static const struct ssh_key_kind {
	const char *type, *curve;
	size_t point; /* bytes of its point */
	enum ssh_key_field fields[4];
} ssh_key_kinds[] = {
	{"ssh-ed25519", "", 0, {SSH_KEY_ED25519}},
	{"ssh-rsa", "", 0, {SSH_KEY_EXPONENT, SSH_KEY_MODULUS}},
	{"ecdsa-sha2-nistp256", "nistp256", 65, {SSH_KEY_CURVE, SSH_KEY_POINT}},
	{"ecdsa-sha2-nistp384", "nistp384", 97, {SSH_KEY_CURVE, SSH_KEY_POINT}},
	{"ecdsa-sha2-nistp521", "nistp521", 133, {SSH_KEY_CURVE, SSH_KEY_POINT}},
	{"sk-ssh-ed25519@openssh.com", "", 0, {SSH_KEY_ED25519, SSH_KEY_APPLICATION}},
	{"sk-ecdsa-sha2-nistp256@openssh.com",
	 "nistp256",
	 65,
	 {SSH_KEY_CURVE, SSH_KEY_POINT, SSH_KEY_APPLICATION}},
};

static bool ssh_key_is(const uint8_t *bytes, size_t size, const char *word)
{
	return bytes && size == strlen(word) && memcmp(bytes, word, size) == 0;
}

static bool ssh_key_field_fits(const struct ssh_key_kind *kind, enum ssh_key_field field,
			       const uint8_t *bytes, size_t size)
{
	switch (field) {
	case SSH_KEY_ED25519: return size == 32;
	case SSH_KEY_CURVE: return ssh_key_is(bytes, size, kind->curve);
	case SSH_KEY_POINT: return size == kind->point && bytes[0] == 4;
	case SSH_KEY_EXPONENT: return size > 0 && size <= 8 && bytes[0] < 0x80;
	case SSH_KEY_MODULUS:
		return size >= SSH_KEY_RSA_MIN && size <= SSH_KEY_RSA_MAX && bytes[0] < 0x80;
	case SSH_KEY_APPLICATION:
		return size > 0 && size <= SSH_KEY_TEXT_MAX && memchr(bytes, 0, size) == NULL;
	case SSH_KEY_END: break;
	}
	return false;
}

/* The type word inside, each field, and nothing behind them. */
static const char *ssh_key_blob_refusal(const struct ssh_key_kind *kind, const uint8_t *blob,
					size_t blob_size)
{
	struct wire_reader reader = wire_reader(blob, blob_size);
	uint32_t size = wire_u32(&reader);
	const uint8_t *bytes = wire_bytes(&reader, size);

	if (!bytes)
		return "a key that is damaged or cut";
	if (!ssh_key_is(bytes, size, kind->type))
		return "a key whose type word is not the type of the key behind it";
	for (size_t i = 0; i < COUNT_OF(kind->fields) && kind->fields[i] != SSH_KEY_END; i++) {
		size = wire_u32(&reader);
		bytes = wire_bytes(&reader, size);
		if (!bytes || !ssh_key_field_fits(kind, kind->fields[i], bytes, size))
			return "a key that is damaged or cut";
	}
	return wire_left(&reader) == 0 ? NULL : "a key that is damaged or cut";
}

/* What people give by mistake, by how it begins. */
static const char *ssh_key_file_kind(const char *line, size_t size)
{
	static const struct {
		const char *begin, *what;
	} rows[] = {
		{"-----BEGIN CERTIFICATE", "a certificate"},
		{"-----BEGIN PUBLIC KEY", "a public key in PEM (ssh-keygen -i -m PKCS8 -f FILE)"},
		{"-----BEGIN", "a private key (give the .pub file)"},
		{"---- BEGIN SSH2 PUBLIC", "a key in RFC 4716 (ssh-keygen -i -f FILE)"},
		{"PuTTY-User-Key-File", "a private key of PuTTY (give the public key)"},
		{"ssh-dss", "a DSA key, which sshd no longer takes"},
		{"ssh-dsa", "a DSA key, which sshd no longer takes"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		size_t length = strlen(rows[i].begin);

		if (size >= length && memcmp(line, rows[i].begin, length) == 0)
			return rows[i].what;
	}
	return "no public key (ssh-ed25519, ssh-rsa, ecdsa-sha2-nistp..., sk-...)";
}

static size_t ssh_key_word(const char *line, size_t size, size_t at)
{
	while (at < size && line[at] != ' ' && line[at] != '\t')
		at++;
	return at;
}

const char *ssh_key_refusal(const char *line, size_t size)
{
	uint8_t blob[SSH_KEY_LINE_MAX];
	size_t blob_size = 0;
	size_t type_end = ssh_key_word(line, size, 0);
	size_t begin = type_end;
	size_t end;

	if (size == 0)
		return "nothing";
	if (size > SSH_KEY_LINE_MAX)
		return "longer than any public key";
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)line[i];

		if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
			return ssh_key_file_kind(line, size);
	}
	while (begin < size && (line[begin] == ' ' || line[begin] == '\t'))
		begin++;
	end = ssh_key_word(line, size, begin);
	for (size_t i = 0; i < COUNT_OF(ssh_key_kinds); i++) {
		const struct ssh_key_kind *kind = &ssh_key_kinds[i];

		if (!ssh_key_is((const uint8_t *)line, type_end, kind->type))
			continue;
		if (sodium_base642bin(blob, sizeof(blob), line + begin, end - begin, NULL,
				      &blob_size, NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
			return "a key that is damaged or cut";
		return ssh_key_blob_refusal(kind, blob, blob_size);
	}
	return ssh_key_file_kind(line, size);
}
