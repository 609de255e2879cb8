#include "bampi/storage/driver/tgt_login_wire.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/storage/driver/tgt_wire.h"

#define NAME_LENGTH    223 /* RFC 7143, 4.2.7.1 */
#define ALIAS_LENGTH   255 /* RFC 7143, 13.7 */
#define LOGINS_HEADING "    I_T nexus information:"

/* --- statistics: numbers only --- */

static int login_order(const void *a, const void *b)
{
	const struct tgt_login *one = a;
	const struct tgt_login *other = b;

	if (one->target != other->target)
		return one->target < other->target ? -1 : 1;
	return (one->number > other->number) - (one->number < other->number);
}

/* "  7   0   5 ...": target, unit, session. Each login has a row for unit 0. */
static bool login_read(struct span line, struct tgt_login *ret)
{
	uint64_t numbers[3];
	struct span word;

	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		if (!span_word(&line, &word) || !span_number(&word, INT32_MAX, &numbers[i]))
			return false;
	}
	*ret = (struct tgt_login){(int64_t)numbers[0], numbers[2]};
	return numbers[1] == 0;
}

int tgt_logins_decode(struct span text, struct tgt_logins *ret)
{
	struct tgt_logins logins = {0};
	struct tgt_login login;
	struct span line;
	int rc = 0;

	while (rc == 0 && span_line(&text, &line)) {
		void *list = logins.list;

		if (!login_read(line, &login))
			continue;
		rc = logins.count < TGT_SESSIONS_MAX
			     ? tgt_wire_grow(&list, logins.count, sizeof(login))
			     : E_MALFORMED;
		logins.list = list;
		if (rc == 0)
			logins.list[logins.count++] = login;
	}
	if (rc) {
		free(logins.list);
		return rc;
	}
	if (logins.count)
		qsort(logins.list, logins.count, sizeof(*logins.list), login_order);
	*ret = logins;
	return 0;
}

/* "  5   3 ...": session, connection */
static bool connection_read(struct span line, uint32_t *ret)
{
	struct span word;
	uint64_t number;

	if (!span_word(&line, &word))
		return false;
	if (!span_word(&line, &word) || !span_number(&word, UINT32_MAX, &number))
		return false;
	*ret = (uint32_t)number;
	return true;
}

size_t tgt_connections_decode(const char *text, size_t size, uint32_t ret[], size_t room)
{
	struct span rest = {text, size};
	struct span line;
	bool begun = false;
	size_t count = 0;

	while (count < room && span_line(&rest, &line)) {
		struct span word;

		if (!begun)
			begun = span_behind(&line, "sid cid ", &word);
		else if (connection_read(line, &ret[count]))
			count++;
	}
	return count;
}

/* --- logins: what initiators say of themselves --- */

/* RFC 7143, 4.2.7.1 and RFC 3722. Capitals and '_' are let through: older initiators have them. */
static bool name_ok(const struct span *name)
{
	static const char marks[] = ".:-_";

	for (size_t i = 0; i < name->size; i++) {
		unsigned byte = (unsigned char)name->at[i];
		bool letter = (byte | 32U) >= 'a' && (byte | 32U) <= 'z';
		bool digit = byte >= '0' && byte <= '9';

		if (!letter && !digit && byte < 0x80 && (byte == 0 || !strchr(marks, (int)byte)))
			return false;
	}
	return name->size > 0 && name->size <= NAME_LENGTH;
}

static bool alias_ok(const struct span *alias)
{
	for (size_t i = 0; i < alias->size; i++) {
		unsigned byte = (unsigned char)alias->at[i];

		if (byte < ' ' || byte == 0x7f)
			return false;
	}
	return alias->size <= ALIAS_LENGTH;
}

static void address_read(const struct span *word, char ret[STORAGE_ADDRESS_SIZE])
{
	unsigned char room[sizeof(struct in6_addr)];
	struct span bare;
	char text[STORAGE_ADDRESS_SIZE];

	/* a socket for both */
	if (!span_behind(word, "::ffff:", &bare) || !memchr(bare.at, '.', bare.size))
		bare = *word;
	if (span_copy(&bare, text, sizeof(text)) &&
	    (inet_pton(AF_INET, text, room) == 1 || inet_pton(AF_INET6, text, room) == 1))
		(void)text_copy(ret, STORAGE_ADDRESS_SIZE, text);
}

/* The four lines of one login. tgtd cuts them off after 1023 bytes; names and aliases that are
 * within their limits never come near that. */
static bool session_read(struct span *rest, struct storage_session *ret)
{
	static const char *const heads[] = {
		"        I_T nexus: ",
		"            Initiator: ",
		"            Connection: ",
		"                IP Address: ",
	};
	struct span words[COUNT_OF(heads)];
	struct span line;
	struct span name;
	struct span alias;
	uint64_t connection;

	*ret = (struct storage_session){0};
	for (size_t i = 0; i < COUNT_OF(heads); i++) {
		if (!span_line(rest, &line) || !span_behind(&line, heads[i], &words[i]))
			return false;
	}
	name = (struct span){words[1].at, 0};
	while (name.size < words[1].size && name.at[name.size] != ' ')
		name.size++;
	ret->odd = !span_behind(&(struct span){name.at + name.size, words[1].size - name.size},
				" alias: ", &alias) ||
		   !name_ok(&name) || !alias_ok(&alias);
	if (!span_number(&words[0], UINT16_MAX, &ret->number) ||
	    !span_number(&words[2], UINT32_MAX, &connection) ||
	    memchr(words[3].at, ' ', words[3].size))
		return false;
	address_read(&words[3], ret->address);
	return true;
}

static int session_order(const void *a, const void *b)
{
	const struct storage_session *one = a;
	const struct storage_session *other = b;

	return (one->number > other->number) - (one->number < other->number);
}

static int session_add(struct storage_target *target, const struct storage_session *session)
{
	void *sessions = target->sessions;
	int rc = tgt_wire_grow(&sessions, target->session_count, sizeof(*session));

	target->sessions = sessions;
	if (rc == 0)
		target->sessions[target->session_count++] = *session;
	return rc;
}

/* False in *ret_clean: there is something else than logins. */
static int sessions_of_list(struct storage_target *target, struct span text, bool *ret_clean)
{
	struct storage_session session;
	struct span line;
	int rc = 0;

	*ret_clean = true;
	while (span_line(&text, &line) && !span_is(&line, LOGINS_HEADING)) {
	}
	while (rc == 0 && text.size > 0 && *ret_clean) {
		*ret_clean = session_read(&text, &session);
		if (*ret_clean)
			rc = session_add(target, &session);
	}
	if (target->session_count)
		qsort(target->sessions, target->session_count, sizeof(*target->sessions),
		      session_order);
	return rc;
}

/* The logins of one target among those of the statistics. */
static size_t logins_of(const struct tgt_logins *logins, int64_t id, const struct tgt_login **ret)
{
	size_t low = 0;
	size_t high = logins->count;
	size_t count = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (logins->list[middle].target < id)
			low = middle + 1;
		else
			high = middle;
	}
	*ret = logins->list ? &logins->list[low] : NULL;
	while (low + count < logins->count && logins->list[low + count].target == id)
		count++;
	return count;
}

int tgt_sessions_decode(struct span text, const struct tgt_logins *logins,
			struct storage_target *target, bool *ret_moved)
{
	const struct tgt_login *numbered;
	size_t count = logins_of(logins, target->id, &numbered);
	bool clean;
	bool same;
	int rc = sessions_of_list(target, text, &clean);

	same = clean && target->session_count == count;
	for (size_t i = 0; same && i < count; i++)
		same = target->sessions[i].number == numbered[i].number;
	if (rc || same)
		return rc;
	*ret_moved |= clean;
	target->session_count = 0;
	free(target->sessions);
	target->sessions = NULL;
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = session_add(target, &(struct storage_session){.number = numbered[i].number,
								   .odd = true});
	return rc;
}
