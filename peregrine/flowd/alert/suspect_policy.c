#include "peregrine/flowd/alert/suspect_policy.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "peregrine/flowd/alert/alert_text.h"

enum {
	/* Assets that are looked at; facts beyond are left out. */
	ASSET_MAX = 256,
	/* After so long a change is half as suspect. */
	CHANGE_HALF_S = 600,
	LOGGED_HALF_S = 4 * 3600,
	AGE_SIZE = 32,
};
/* Less is no suspect. */
#define SCORE_MIN 0.02

const char *const suspect_fact_words[SUSPECT_FACT_COUNT + 1] = {
	"tenant", "pair", "flow", "located", "counted", "changed", "logged", "ill", NULL};

/* What a fact makes of its asset. */
static const char *const asset_kinds[SUSPECT_FACT_COUNT] = {"tenant", "pair",   "flow", "tenant",
							    "port",   "change", "node", "node"};

/* How much a fact of full strength says about an alert of this kind. Load has its cause in
 * traffic; errors in cables, optics and nodes; discards in both. */
/* clang-format off */
static const double suspect_policy_weights[ALERT_KIND_COUNT][SUSPECT_FACT_COUNT] = {
	/*                      tenant pair  flow  located counted changed logged ill */
	[ALERT_UTILISATION] = {0.80, 0.85, 0.90, 0.05,   0.20,   0.30,   0.05,  0.05},
	[ALERT_ERRORS]      = {0.10, 0.10, 0.10, 0.02,   0.80,   0.60,   0.50,  0.40},
	[ALERT_DISCARDS]    = {0.70, 0.75, 0.80, 0.05,   0.50,   0.30,   0.10,  0.10},
	[ALERT_IMBALANCE]   = {0.50, 0.70, 0.85, 0.03,   0.30,   0.50,   0.02,  0.02},
	[ALERT_SHARE]       = {0.60, 0.85, 0.90, 0.03,   0.10,   0.20,   0.05,  0.05},
	[ALERT_GAP]         = {0.02, 0.02, 0.02, 0.02,   0.40,   0.50,   0.02,  0.02},
	[ALERT_SILENT]      = {0.02, 0.02, 0.02, 0.02,   0.40,   0.60,   0.02,  0.02},
};
/* clang-format on */

static double suspect_policy_faded(int64_t age_s, int64_t half_s)
{
	return age_s <= 0 ? 1 : exp2(-(double)age_s / (double)half_s);
}

/* Traffic that is there and was there before explains less than what has come. */
static double strength_of(const struct candidate *c)
{
	switch (c->fact) {
	case FACT_TENANT:
	case FACT_PAIR:
	case FACT_FLOW:
		if (isnan(c->before))
			return 0.8 * c->share;
		return fmin(1, 0.6 * c->share + 0.4 * fmax(0, c->share - c->before));
	case FACT_LOCATED: return 1;
	case FACT_COUNTED: return fmin(1, 0.3 + (c->errors + c->discards) / 100);
	case FACT_CHANGED:
		return suspect_policy_faded(c->age_s, CHANGE_HALF_S) * (c->here ? 1 : 0.5);
	case FACT_LOGGED:
		return suspect_policy_faded(c->age_s, LOGGED_HALF_S) * (c->asserted ? 1 : 0.3);
	case FACT_ILL: return c->asserted ? 1 : 0.6;
	case SUSPECT_FACT_COUNT: break;
	}
	return 0;
}

/* "3 min before", of when the alert began. */
static void age_text(int64_t age_s, char ret[AGE_SIZE])
{
	const char *way = age_s < 0 ? "after" : "before";

	age_s = age_s < 0 ? -age_s : age_s;
	if (age_s < 120)
		(void)text_format(ret, AGE_SIZE, "%" PRId64 " s %s", age_s, way);
	else if (age_s < 7200)
		(void)text_format(ret, AGE_SIZE, "%" PRId64 " min %s", age_s / 60, way);
	else
		(void)text_format(ret, AGE_SIZE, "%" PRId64 " h %s", age_s / 3600, way);
}

/* Each figure names the seconds that it is of: the alert's own value is of others. */
static void traffic_reason(const struct candidate *c, char ret[SUSPECT_REASON])
{
	char figure[ALERT_NUMBER_SIZE];
	char link[64] = "";
	char before[64] = "";
	double earlier = c->share > 0 ? c->percent * c->before / c->share : 0;

	if (c->percent > 0)
		(void)text_format(link, sizeof(link), ", %s %% of the link",
				  alert_number_text(c->percent, figure));
	if (!isnan(c->before) && c->percent > 0)
		(void)text_format(before, sizeof(before), "; %s %% of the link in the %d s before",
				  alert_number_text(earlier, figure), SUSPECT_BEFORE_S);
	else if (!isnan(c->before))
		(void)text_format(before, sizeof(before), "; %.0f %% of as much in the %d s before",
				  c->before * 100, SUSPECT_BEFORE_S);
	(void)text_format(ret, SUSPECT_REASON, "%.0f %% of the traffic there%s (mean of %d s)%s",
			  c->share * 100, link, SUSPECT_NOW_S, before);
}

static void suspect_policy_reason_of(const struct candidate *c, char ret[SUSPECT_REASON])
{
	char age[AGE_SIZE];

	age_text(c->age_s, age);
	switch (c->fact) {
	case FACT_TENANT:
	case FACT_PAIR:
	case FACT_FLOW: traffic_reason(c, ret); break;
	case FACT_LOCATED:
		(void)text_format(ret, SUSPECT_REASON, "is there too: %s", c->text);
		break;
	case FACT_COUNTED:
		(void)text_format(ret, SUSPECT_REASON, "counted %.1f errors/s and %.1f discards/s",
				  c->errors, c->discards);
		break;
	case FACT_CHANGED: (void)text_format(ret, SUSPECT_REASON, "%s: %s", age, c->text); break;
	case FACT_LOGGED:
		(void)text_format(ret, SUSPECT_REASON, "its BMC logged %s: %s", age, c->text);
		break;
	case FACT_ILL: (void)text_format(ret, SUSPECT_REASON, "its health: %s", c->text); break;
	case SUSPECT_FACT_COUNT: break;
	}
}

static struct suspect *asset_of(struct suspect assets[], size_t *count, const struct candidate *c)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp(assets[i].name, c->name) == 0 &&
		    strcmp(assets[i].kind, asset_kinds[c->fact]) == 0)
			return &assets[i];
	if (*count == ASSET_MAX)
		return NULL;
	assets[*count] =
		(struct suspect){.kind = asset_kinds[c->fact], .name = c->name, .drill = ""};
	return &assets[(*count)++];
}

static void add_fact(struct suspect *asset, const struct candidate *c, double score)
{
	char reason[SUSPECT_REASON] = "";
	size_t used = strlen(asset->reasons);

	asset->score = 1 - (1 - asset->score) * (1 - score);
	if (c->drill[0])
		asset->drill = c->drill;
	suspect_policy_reason_of(c, reason);
	(void)text_format(asset->reasons + used, sizeof(asset->reasons) - used, "%s%s",
			  used ? "; " : "", reason);
}

static int by_score(const void *a, const void *b)
{
	const struct suspect *x = a;
	const struct suspect *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return strcmp(x->name, y->name);
}

size_t suspect_rank(enum alert_kind kind, const struct candidate candidates[], size_t count,
		    struct suspect ret[SUSPECT_MAX])
{
	CLEANUP(freep) struct suspect *assets = calloc(ASSET_MAX, sizeof(*assets));
	size_t used = 0;
	size_t kept = 0;

	for (size_t i = 0; assets && i < count; i++) {
		const struct candidate *c = &candidates[i];
		struct suspect *asset = asset_of(assets, &used, c);

		if (asset)
			add_fact(asset, c, suspect_policy_weights[kind][c->fact] * strength_of(c));
	}
	if (used > 0)
		qsort(assets, used, sizeof(*assets), by_score);
	while (kept < used && kept < SUSPECT_MAX && assets[kept].score >= SCORE_MIN) {
		ret[kept] = assets[kept];
		kept++;
	}
	return kept;
}
