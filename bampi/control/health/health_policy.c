#include "bampi/control/health/health_policy.h"

#include <fnmatch.h>
#include <string.h>

#include "common/base/text.h"

#define DAY_MS INT64_C(86400000)

/* One label while its rules are looked at. */
struct finding {
	const struct health_rule *rule; /* the worst row that is bad; else the first of the label */
	bool bad;
	bool unknown; /* what would tell is not to be had now: the label stays as it is */
	int64_t bad_ms;
	unsigned causes;
	char first[HEALTH_REASON_SIZE - 32]; /* cause */
};

struct findings {
	struct finding rows[HEALTH_LABELS_MAX];
	size_t count;
	int64_t next_ms;
};

static bool health_policy_matches(const char *pattern, const char *text)
{
	return !pattern || fnmatch(pattern, text, FNM_CASEFOLD) == 0;
}

const struct health_rule *health_rule_find(enum health_cause cause, const char *type,
					   const char *what)
{
	for (size_t i = 0; i < health_rule_count; i++) {
		const struct health_rule *rule = &health_rules[i];

		if (rule->cause == cause && health_policy_matches(rule->type, type) &&
		    health_policy_matches(rule->what, what))
			return rule;
	}
	return NULL;
}

static void at_least(int64_t *next_ms, int64_t at_ms)
{
	if (*next_ms == 0 || at_ms < *next_ms)
		*next_ms = at_ms;
}

/* One finding per label of the table, in its order. */
static void findings_init(struct findings *findings)
{
	*findings = (struct findings){0};
	for (size_t i = 0; i < health_rule_count; i++) {
		bool known = false;

		for (size_t j = 0; j < findings->count; j++)
			known |= strcmp(findings->rows[j].rule->label, health_rules[i].label) == 0;
		if (!known && findings->count < HEALTH_LABELS_MAX)
			findings->rows[findings->count++].rule = &health_rules[i];
	}
}

static struct finding *health_policy_finding_of(struct findings *findings,
						const struct health_rule *rule)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (strcmp(findings->rows[i].rule->label, rule->label) == 0)
			return &findings->rows[i];
	}
	return NULL;
}

static const struct health_memory *health_policy_memory_of(const struct health_facts *facts,
							   const char *label)
{
	static const struct health_memory none;

	for (size_t i = 0; i < facts->memory_count; i++) {
		if (strcmp(facts->memories[i].label, label) == 0)
			return &facts->memories[i];
	}
	return &none;
}

/* `text` is only needed for the first cause. */
static void health_policy_found(struct findings *findings, const struct health_rule *rule,
				int64_t since_ms, const char *text)
{
	struct finding *finding = health_policy_finding_of(findings, rule);

	if (!finding)
		return;
	if (!finding->bad || rule->severity > finding->rule->severity)
		finding->rule = rule;
	if (!finding->bad || since_ms < finding->bad_ms)
		finding->bad_ms = since_ms;
	if (finding->causes++ == 0)
		(void)text_copy(finding->first, sizeof(finding->first), text);
	finding->bad = true;
}

/* --- causes --- */

static void look_at_sensors(const struct health_facts *facts, int64_t now_ms,
			    struct findings *findings)
{
	for (size_t i = 0; i < facts->alarm_count; i++) {
		const struct health_alarm *alarm = &facts->alarms[i];
		const struct health_rule *rule =
			health_rule_find(HEALTH_SENSOR, alarm->type, alarm->state);
		char text[HEALTH_REASON_SIZE];

		if (!rule || (rule->powered && !facts->powered))
			continue;
		(void)text_format(text, sizeof(text), "sensor %.80s (%.40s) is %s", alarm->name,
				  alarm->type, alarm->state);
		health_policy_found(findings, rule, now_ms, text);
	}
}

/* A BMC's clock may be anything; where it cannot be right, we go by when we read the entry. */
static int64_t happened_ms(const struct health_event *event, int64_t now_ms)
{
	return event->bmc_ms > 0 && event->bmc_ms < now_ms + DAY_MS ? event->bmc_ms
								    : event->seen_ms;
}

/* Its end was logged after it. */
static bool health_policy_is_over(const struct health_facts *facts, size_t place,
				  const struct health_rule *rule)
{
	const struct health_event *event = &facts->events[place];

	for (size_t i = place + 1; i < facts->event_count; i++) {
		const struct health_event *later = &facts->events[i];

		if (!later->asserted && strcmp(later->sensor, event->sensor) == 0 &&
		    health_policy_matches(rule->type, later->type) &&
		    health_policy_matches(rule->what, later->event))
			return true;
	}
	return false;
}

struct health_policy_tally {
	unsigned count;
	int64_t first_ms;
	const struct health_event *last;
};

static struct health_policy_tally tally_of(const struct health_facts *facts,
					   const struct health_rule *rule, int64_t now_ms)
{
	int64_t cleared_ms = health_policy_memory_of(facts, rule->label)->cleared_ms;
	int64_t from_ms = now_ms - rule->window_s * INT64_C(1000);
	struct health_policy_tally tally = {0};

	for (size_t i = 0; i < facts->event_count; i++) {
		const struct health_event *event = &facts->events[i];
		int64_t at_ms = happened_ms(event, now_ms);

		if (!event->asserted || event->seen_ms <= cleared_ms || at_ms <= from_ms ||
		    health_rule_find(HEALTH_EVENT, event->type, event->event) != rule ||
		    health_policy_is_over(facts, i, rule))
			continue;
		if (tally.count++ == 0 || at_ms < tally.first_ms)
			tally.first_ms = at_ms;
		tally.last = event;
	}
	return tally;
}

static void look_at_events(const struct health_facts *facts, int64_t now_ms,
			   struct findings *findings)
{
	for (size_t i = 0; i < health_rule_count; i++) {
		const struct health_rule *rule = &health_rules[i];
		struct health_policy_tally tally = {0};
		char text[HEALTH_REASON_SIZE];

		if (rule->cause == HEALTH_EVENT)
			tally = tally_of(facts, rule, now_ms);
		if (tally.count == 0)
			continue;
		at_least(&findings->next_ms, tally.first_ms + rule->window_s * INT64_C(1000) + 1);
		if (tally.count < rule->count)
			continue;
		(void)text_format(text, sizeof(text), "event log: %.60s%s%.80s: %.96s",
				  tally.last->type, tally.last->sensor[0] ? " " : "",
				  tally.last->sensor, tally.last->event);
		health_policy_found(findings, rule, tally.first_ms, text);
		if (health_policy_finding_of(findings, rule))
			health_policy_finding_of(findings, rule)->causes += tally.count - 1;
	}
}

static void look_at_rest(const struct health_facts *facts, int64_t now_ms,
			 struct findings *findings)
{
	const struct health_rule *silent = health_rule_find(HEALTH_SILENT, "", "");
	const struct health_rule *drive = health_rule_find(HEALTH_DRIVE, "", "");
	char text[HEALTH_REASON_SIZE];

	if (silent && facts->bmc_failing_ms != 0) {
		(void)text_format(text, sizeof(text), "the BMC cannot be used: %.200s",
				  facts->bmc_problem[0] ? facts->bmc_problem : "no answer");
		health_policy_found(findings, silent, facts->bmc_failing_ms, text);
	}
	for (size_t i = 0; drive && i < facts->drive_count; i++) {
		(void)text_format(text, sizeof(text), "drive %.60s was not erased: %.180s",
				  facts->drives[i].name, facts->drives[i].reason);
		health_policy_found(findings, drive, now_ms, text);
	}
}

/* --- from findings to labels --- */

static void health_policy_keep(struct health_verdict *verdict, const struct health_memory *memory)
{
	if (memory->bad_ms || memory->good_ms)
		verdict->memories[verdict->memory_count++] = *memory;
}

static void raise_label(const struct finding *finding, const struct health_memory *memory,
			struct health_verdict *verdict)
{
	struct health_label *label = &verdict->labels[verdict->label_count++];

	*label = (struct health_label){.severity = finding->rule->severity,
				       .effects = finding->rule->effects,
				       .hint = finding->rule->hint,
				       .since_ms = memory->raised_ms};
	(void)text_copy(label->label, sizeof(label->label), finding->rule->label);
	if (finding->causes > 1)
		(void)text_format(label->reason, sizeof(label->reason), "%s, and %u more",
				  finding->first, finding->causes - 1);
	else
		(void)text_copy(label->reason, sizeof(label->reason), finding->first);
}

static void judge_bad(const struct finding *finding, struct health_memory *memory, int64_t now_ms,
		      struct health_verdict *verdict)
{
	int64_t hold_ms = finding->rule->hold_s * INT64_C(1000);

	memory->good_ms = 0;
	if (!memory->raised_ms) {
		if (!memory->bad_ms || finding->bad_ms < memory->bad_ms)
			memory->bad_ms = finding->bad_ms;
		if (now_ms - memory->bad_ms < hold_ms) {
			at_least(&verdict->next_ms, memory->bad_ms + hold_ms);
			health_policy_keep(verdict, memory);
			return;
		}
		memory->raised_ms = memory->bad_ms;
	}
	memory->bad_ms = 0;
	raise_label(finding, memory, verdict);
}

static void judge_good(const struct finding *finding, struct health_memory *memory, int64_t now_ms,
		       struct health_verdict *verdict)
{
	int64_t clear_ms = finding->rule->clear_s * INT64_C(1000);

	memory->bad_ms = 0;
	if (!memory->raised_ms)
		return;
	if (finding->rule->clear_s != HEALTH_BY_HAND && !finding->unknown) {
		if (!memory->good_ms)
			memory->good_ms = now_ms;
		if (now_ms - memory->good_ms >= clear_ms)
			return;
		at_least(&verdict->next_ms, memory->good_ms + clear_ms);
	}
	raise_label(finding, memory, verdict);
	health_policy_keep(verdict, memory);
}

void health_decide(const struct health_facts *facts, int64_t now_ms, struct health_verdict *ret)
{
	struct findings findings;

	findings_init(&findings);
	look_at_sensors(facts, now_ms, &findings);
	look_at_events(facts, now_ms, &findings);
	look_at_rest(facts, now_ms, &findings);
	*ret = (struct health_verdict){.next_ms = findings.next_ms};
	for (size_t i = 0; i < findings.count; i++) {
		struct finding *finding = &findings.rows[i];
		struct health_memory memory = *health_policy_memory_of(facts, finding->rule->label);

		(void)text_copy(memory.label, sizeof(memory.label), finding->rule->label);
		finding->unknown = finding->rule->cause == HEALTH_SENSOR &&
				   finding->rule->powered && !facts->powered;
		if (finding->bad)
			judge_bad(finding, &memory, now_ms, ret);
		else
			judge_good(finding, &memory, now_ms, ret);
	}
}
