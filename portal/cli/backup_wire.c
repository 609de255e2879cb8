#include "portal/cli/backup_wire.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/net/wire.h"

#define BACKUP_MAGIC    "HAASBKUP"
#define BACKUP_END      "HAASEND1"
#define BACKUP_MARK     8
#define BACKUP_WORD     "haas-backup-key-1"
#define BACKUP_TIME_MAX INT64_C(253402300799) /* the end of the year 9999 */

static_assert(BACKUP_HEADER_SIZE == BACKUP_MARK + 2 + 4 + 8 + BACKUP_MAKER_SIZE +
					    2 * BACKUP_ID_SIZE + BACKUP_SEALED_SIZE +
					    BACKUP_STREAM_SIZE,
	      "the header's fields fill it");
static_assert(crypto_sign_PUBLICKEYBYTES == crypto_sign_SEEDBYTES &&
		      crypto_box_SECRETKEYBYTES == crypto_box_PUBLICKEYBYTES,
	      "both halves of a pair have one size");

static const char *const backup_key_words[] = {
	[BACKUP_KEY_BACKUP] = "backup",
	[BACKUP_KEY_RESTORE] = "restore",
};

void backup_header_encode(const struct backup_header *header, uint8_t ret[BACKUP_HEADER_SIZE])
{
	struct wire_writer out = wire_writer(ret, BACKUP_HEADER_SIZE);
	size_t maker = strnlen(header->maker, BACKUP_MAKER_SIZE);

	wire_put_bytes(&out, BACKUP_MAGIC, BACKUP_MARK);
	wire_put_u16(&out, BACKUP_FORMAT);
	wire_put_u32(&out, header->schema);
	wire_put_u64(&out, (uint64_t)header->made_s);
	wire_put_bytes(&out, header->maker, maker);
	wire_put_zeros(&out, BACKUP_MAKER_SIZE - maker);
	wire_put_bytes(&out, header->seal_id, sizeof(header->seal_id));
	wire_put_bytes(&out, header->sign_id, sizeof(header->sign_id));
	wire_put_bytes(&out, header->sealed, sizeof(header->sealed));
	wire_put_bytes(&out, header->stream, sizeof(header->stream));
}

/* A name of letters, digits, dots and dashes, with zeros behind it: it goes to terminals and SQL. */
static bool backup_wire_is_maker(const char maker[BACKUP_MAKER_SIZE + 1])
{
	size_t length = strnlen(maker, BACKUP_MAKER_SIZE);

	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)maker[i]) && !strchr("._-", maker[i]))
			return false;
	}
	for (size_t i = length; i < BACKUP_MAKER_SIZE; i++) {
		if (maker[i] != '\0')
			return false;
	}
	return length > 0;
}

int backup_header_decode(const void *data, size_t size, struct backup_header *ret)
{
	struct wire_reader in = wire_reader(data, size);
	struct backup_header header = {0};
	const uint8_t *magic = wire_bytes(&in, BACKUP_MARK);

	if (!magic || memcmp(magic, BACKUP_MAGIC, BACKUP_MARK) != 0)
		return E_MALFORMED;
	if (wire_u16(&in) != BACKUP_FORMAT)
		return in.bad ? E_MALFORMED : E_UNSUPPORTED;
	header.schema = wire_u32(&in);
	uint64_t made = wire_u64(&in);
	wire_copy(&in, header.maker, BACKUP_MAKER_SIZE);
	wire_copy(&in, header.seal_id, sizeof(header.seal_id));
	wire_copy(&in, header.sign_id, sizeof(header.sign_id));
	wire_copy(&in, header.sealed, sizeof(header.sealed));
	wire_copy(&in, header.stream, sizeof(header.stream));
	if (in.bad || header.schema > INT32_MAX || made > (uint64_t)BACKUP_TIME_MAX ||
	    !backup_wire_is_maker(header.maker))
		return E_MALFORMED;
	header.made_s = (int64_t)made;
	*ret = header;
	return 0;
}

void backup_trailer_encode(const uint8_t signature[crypto_sign_BYTES],
			   uint8_t ret[BACKUP_TRAILER_SIZE])
{
	struct wire_writer out = wire_writer(ret, BACKUP_TRAILER_SIZE);

	wire_put_bytes(&out, BACKUP_END, BACKUP_MARK);
	wire_put_bytes(&out, signature, crypto_sign_BYTES);
}

int backup_trailer_decode(const void *data, size_t size, uint8_t ret[crypto_sign_BYTES])
{
	struct wire_reader in = wire_reader(data, size);
	const uint8_t *mark = wire_bytes(&in, BACKUP_MARK);
	const uint8_t *signature = wire_bytes(&in, crypto_sign_BYTES);

	if (!mark || !signature || wire_left(&in) > 0 || memcmp(mark, BACKUP_END, BACKUP_MARK) != 0)
		return E_MALFORMED;
	memcpy(ret, signature, crypto_sign_BYTES);
	return 0;
}

void backup_key_encode(const struct backup_key *key, char ret[BACKUP_KEY_TEXT_SIZE])
{
	char seal[2 * sizeof(key->seal) + 1];
	char sign[2 * sizeof(key->sign) + 1];

	hex_encode(key->seal, sizeof(key->seal), seal);
	hex_encode(key->sign, sizeof(key->sign), sign);
	text_format(ret, BACKUP_KEY_TEXT_SIZE, BACKUP_WORD " %s %s %s\n",
		    backup_key_words[key->half], seal, sign);
	sodium_memzero(seal, sizeof(seal));
	sodium_memzero(sign, sizeof(sign));
}

/* Takes `word` and the blank behind it off the text; false when something else stands there. */
static bool backup_wire_takes(const char **text, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*text, word, length) != 0 || (*text)[length] != ' ')
		return false;
	*text += length + 1;
	return true;
}

/* Takes 32 bytes in hex off the text, and the character behind them. */
static bool backup_wire_takes_key(const char **text, char end, uint8_t ret[32])
{
	char hex[65];
	bool good = strnlen(*text, 65) == 65 && (*text)[64] == end;

	if (good) {
		memcpy(hex, *text, 64);
		hex[64] = '\0';
		good = hex_decode(hex, ret, 32) == 0;
		sodium_memzero(hex, sizeof(hex));
		*text += 65;
	}
	return good;
}

int backup_key_decode(const char *text, struct backup_key *ret)
{
	struct backup_key key = {0};
	bool good = backup_wire_takes(&text, BACKUP_WORD);

	if (good && backup_wire_takes(&text, backup_key_words[BACKUP_KEY_BACKUP]))
		key.half = BACKUP_KEY_BACKUP;
	else if (good && backup_wire_takes(&text, backup_key_words[BACKUP_KEY_RESTORE]))
		key.half = BACKUP_KEY_RESTORE;
	else
		good = false;
	good = good && backup_wire_takes_key(&text, ' ', key.seal) &&
	       backup_wire_takes_key(&text, '\n', key.sign) && *text == '\0';
	if (good)
		*ret = key;
	sodium_memzero(&key, sizeof(key));
	return good ? 0 : E_MALFORMED;
}
