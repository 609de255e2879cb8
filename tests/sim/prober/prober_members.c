#include "tests/sim/prober/prober_members.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define LINE_MAX_SIZE 512

/* The next word of *line, terminated in place; NULL at the end. */
static char *prober_members_word_of(char **line)
{
	char *word = *line + strspn(*line, " \t\r");
	size_t size = strcspn(word, " \t\r");

	if (size == 0)
		return NULL;
	*line = word + size + (word[size] != '\0' ? 1 : 0);
	word[size] = '\0';
	return word;
}

static int prober_members_number_of(const char *word, long max, long *ret)
{
	char *end;
	long value = strtol(word, &end, 10);

	if (end == word || *end != '\0' || value < 0 || value > max)
		return E_MALFORMED;
	*ret = value;
	return 0;
}

static int tenant_bit(struct prober_members *members, const char *name, uint64_t *bits)
{
	size_t at = 0;

	while (at < members->tenant_count && strcmp(members->tenants[at], name) != 0)
		at++;
	if (at == PROBER_TENANTS)
		return E_LIMIT;
	if (at == members->tenant_count) {
		if (name[0] == '\0' || !text_copy(members->tenants[at], PROBER_NAME, name))
			return E_MALFORMED;
		members->tenant_count++;
	}
	*bits |= (uint64_t)1 << at;
	return 0;
}

static int tenants_of(struct prober_members *members, char *word, uint64_t *ret)
{
	char *save = NULL;
	int rc = 0;

	*ret = 0;
	if (strcmp(word, "-") == 0)
		return 0;
	for (char *name = strtok_r(word, ",", &save); name && rc == 0;
	     name = strtok_r(NULL, ",", &save))
		rc = tenant_bit(members, name, ret);
	return rc;
}

static struct prober_probe *probe_of(struct prober_members *members, const char *name)
{
	for (size_t i = 0; i < members->count; i++) {
		if (strcmp(members->probes[i].name, name) == 0)
			return &members->probes[i];
	}
	if (members->count == PROBER_PROBES)
		return NULL;
	return &members->probes[members->count++];
}

static void begin_span(struct prober_probe *probe, uint64_t tenants, int64_t at_us,
		       int64_t grace_ms)
{
	if (probe->span_count > 0) {
		if (probe->spans[0].tenants == tenants)
			return;
		probe->spans[0].until_us = at_us + grace_ms * 1000;
	}
	memmove(probe->spans + 1, probe->spans, sizeof(probe->spans) - sizeof(probe->spans[0]));
	probe->spans[0] =
		(struct prober_span){.from_us = at_us, .until_us = INT64_MAX, .tenants = tenants};
	if (probe->span_count < PROBER_SPANS)
		probe->span_count++;
}

static int read_probe(struct prober_members *members, char *line, int64_t at_us)
{
	const char *name = prober_members_word_of(&line);
	const char *netns = prober_members_word_of(&line);
	const char *interface = prober_members_word_of(&line);
	char *list = prober_members_word_of(&line);
	struct prober_probe *probe;
	uint64_t tenants;
	int rc;

	if (!list || prober_members_word_of(&line))
		return E_MALFORMED;
	rc = tenants_of(members, list, &tenants);
	if (rc != 0)
		return rc;
	probe = probe_of(members, name);
	if (!probe)
		return E_LIMIT;
	if (probe->active)
		return E_MALFORMED; /* twice */
	if (!text_copy(probe->name, sizeof(probe->name), name) ||
	    !text_copy(probe->netns, sizeof(probe->netns), netns) ||
	    !text_copy(probe->interface, sizeof(probe->interface), interface))
		return E_MALFORMED;
	begin_span(probe, tenants, at_us, members->grace_ms);
	probe->active = true;
	return 0;
}

static int read_tags(struct prober_members *members, char *line)
{
	const char *word;
	long vid;

	while ((word = prober_members_word_of(&line)) != NULL) {
		if (members->tag_count == PROBER_TAGS)
			return E_LIMIT;
		if (prober_members_number_of(word, 4095, &vid) != 0)
			return E_MALFORMED;
		members->tags[members->tag_count++] = (uint16_t)vid;
	}
	return 0;
}

static int prober_members_read_line(struct prober_members *members, char *line, int64_t at_us)
{
	const char *kind = prober_members_word_of(&line);
	long grace;

	if (!kind || kind[0] == '#')
		return 0;
	if (strcmp(kind, "probe") == 0)
		return read_probe(members, line, at_us);
	if (strcmp(kind, "tags") == 0)
		return read_tags(members, line);
	if (strcmp(kind, "grace") == 0) {
		const char *word = prober_members_word_of(&line);

		if (!word || prober_members_number_of(word, 600000, &grace) != 0)
			return E_MALFORMED;
		members->grace_ms = grace;
		return 0;
	}
	return E_MALFORMED;
}

int prober_members_follow(struct prober_members *members, const char *text, int64_t at_us,
			  unsigned *ret_line)
{
	struct prober_members *next = malloc(sizeof(*next));
	int rc = next ? 0 : E_LIMIT;

	*ret_line = 0;
	if (next) {
		*next = *members;
		next->tag_count = 0;
		for (size_t i = 0; i < next->count; i++)
			next->probes[i].active = false;
	}
	while (rc == 0 && *text) {
		char line[LINE_MAX_SIZE];
		size_t size = strcspn(text, "\n");

		++*ret_line;
		if (size >= sizeof(line)) {
			rc = E_LIMIT;
			break;
		}
		memcpy(line, text, size);
		line[size] = '\0';
		text += size + (text[size] == '\n' ? 1 : 0);
		rc = prober_members_read_line(next, line, at_us);
	}
	if (rc == 0)
		*members = *next;
	free(next);
	return rc;
}

/* Whose it was then; what is older than all that is known counts as the oldest. */
static uint64_t tenants_at(const struct prober_probe *probe, int64_t at_us)
{
	uint64_t tenants = 0;

	for (size_t i = 0; i < probe->span_count; i++) {
		const struct prober_span *span = &probe->spans[i];

		if (at_us < span->until_us &&
		    (at_us >= span->from_us || i + 1 == probe->span_count))
			tenants |= span->tenants;
	}
	return tenants;
}

bool prober_may_hear(const struct prober_members *members, size_t from, int64_t sent_us, size_t to,
		     int64_t arrived_us)
{
	if (from >= members->count || to >= members->count)
		return false;
	return (tenants_at(&members->probes[from], sent_us) &
		tenants_at(&members->probes[to], arrived_us)) != 0;
}

const char *prober_tenants_text(const struct prober_members *members, size_t probe, char *ret,
				size_t room)
{
	size_t used = 0;

	(void)text_copy(ret, room, "-");
	for (size_t i = 0; i < members->tenant_count; i++) {
		if ((members->probes[probe].spans[0].tenants & ((uint64_t)1 << i)) == 0)
			continue;
		if (!text_format(ret + used, room - used, "%s%s", used > 0 ? "," : "",
				 members->tenants[i]))
			break;
		used += strlen(ret + used);
	}
	return ret;
}
