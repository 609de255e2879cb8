#include "bampi/control/deploy/evidence.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

static void evidence_append(struct problem *problem, const char *text)
{
	size_t used = strlen(problem->detail);

	(void)text_copy(problem->detail + used, sizeof(problem->detail) - used, text);
}

static void add_dhcp(const struct facts *facts, int64_t now_ms, struct problem *problem)
{
	const struct observation *dhcp = &facts->seen[SEEN_DHCP];
	char text[96];

	if (dhcp->at_ms == 0) {
		evidence_append(problem, "last DHCP: never");
		return;
	}
	(void)snprintf(text, sizeof(text), "last DHCP: %lld s ago (%.48s)",
		       (long long)((now_ms - dhcp->at_ms) / 1000), dhcp->detail);
	evidence_append(problem, text);
}

/* The latest of everything that is served by HTTP. */
static void add_http(const struct facts *facts, int64_t now_ms, struct problem *problem)
{
	enum seen latest = SEEN_SCRIPT;
	char text[128];

	for (int kind = SEEN_SCRIPT; kind < SEEN_COUNT; kind++)
		if (facts->seen[kind].at_ms >= facts->seen[latest].at_ms)
			latest = (enum seen)kind;
	if (facts->seen[latest].at_ms == 0) {
		evidence_append(problem, "; last HTTP: never");
		return;
	}
	(void)snprintf(text, sizeof(text), "; last HTTP: %s, %lld bytes, %lld s ago",
		       seen_words[latest], (long long)facts->seen[latest].bytes,
		       (long long)((now_ms - facts->seen[latest].at_ms) / 1000));
	evidence_append(problem, text);
}

static void add_console(const struct facts *facts, struct problem *problem)
{
	static const char head[] = "; console: ";
	size_t used = strlen(problem->detail);
	size_t room = sizeof(problem->detail) - used;
	const char *tail = facts->console;
	size_t length = strlen(tail);

	if (room <= sizeof(head) + 16) /* nothing worth reading would fit */
		return;
	evidence_append(problem, head);
	if (length == 0) {
		evidence_append(problem, "nothing");
		return;
	}
	room -= sizeof(head);
	evidence_append(problem, length > room - 1 ? tail + (length - (room - 1)) : tail);
}

void evidence_add(const struct facts *facts, int64_t now_ms, struct problem *problem)
{
	char text[224];

	if (problem->detail[0])
		evidence_append(problem, "; ");
	add_dhcp(facts, now_ms, problem);
	add_http(facts, now_ms, problem);
	(void)snprintf(text, sizeof(text), "; BMC: %.200s",
		       facts->bmc.last_problem[0] ? facts->bmc.last_problem : "no problem");
	evidence_append(problem, text);
	add_console(facts, problem);
}
