#include "trainer_image/comm/terms.h"

#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/comm/collective.h"
#include "trainer_image/comm/terms_wire.h"

enum { TERMS_DIGEST_SIZE = 32 };

static bool terms_printable(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

void terms_add(struct terms *terms, const char *name, const char *format, ...)
{
	struct term term = {0};
	va_list arguments;
	size_t at = 0;

	va_start(arguments, format);
	int length = vsnprintf(term.value, sizeof(term.value), format, arguments);
	va_end(arguments);
	while (at < terms->count && strcmp(terms->term[at].name, name) < 0)
		at++;
	bool twice = at < terms->count && strcmp(terms->term[at].name, name) == 0;
	if (length < 0 || (size_t)length >= sizeof(term.value) || name[0] == '\0' || twice ||
	    terms->count == TERMS_MAX || !text_copy(term.name, sizeof(term.name), name) ||
	    !terms_printable(name) || !terms_printable(term.value)) {
		terms->bad = true;
		return;
	}
	memmove(&terms->term[at + 1], &terms->term[at], (terms->count - at) * sizeof(term));
	terms->term[at] = term;
	terms->count++;
}

/* Below 0: `here` comes first, as its name does; NULL comes last. */
static int terms_order(const struct term *here, const struct term *there)
{
	if (!here || !there)
		return here ? -1 : 1;
	return strcmp(here->name, there->name);
}

/* The nth difference. */
static bool terms_differ_nth(const struct terms *mine, const struct terms *theirs, size_t nth,
			     struct term_difference *ret)
{
	size_t i = 0;
	size_t k = 0;

	while (i < mine->count || k < theirs->count) {
		const struct term *here = i < mine->count ? &mine->term[i] : NULL;
		const struct term *there = k < theirs->count ? &theirs->term[k] : NULL;
		int order = terms_order(here, there);

		i += order <= 0 ? 1 : 0;
		k += order >= 0 ? 1 : 0;
		if (order == 0 && strcmp(here->value, there->value) == 0)
			continue;
		if (nth-- > 0)
			continue;
		*ret = (struct term_difference){
			.name = order <= 0 ? here->name : there->name,
			.mine = order <= 0 ? here->value : NULL,
			.theirs = order >= 0 ? there->value : NULL,
		};
		return true;
	}
	return false;
}

bool terms_differ(const struct terms *mine, const struct terms *theirs, struct term_difference *ret)
{
	return terms_differ_nth(mine, theirs, 0, ret);
}

/* --- over ranks --- */

/* The lowest rank of the largest set that agrees. */
static int terms_most(const uint8_t *digests, int ranks)
{
	int best = 0;
	int best_count = 0;

	for (int i = 0; i < ranks; i++) {
		int count = 0;

		for (int k = 0; k < ranks; k++)
			count += memcmp(digests + (size_t)i * TERMS_DIGEST_SIZE,
					digests + (size_t)k * TERMS_DIGEST_SIZE,
					TERMS_DIGEST_SIZE) == 0;
		if (count > best_count) {
			best = i;
			best_count = count;
		}
	}
	return best;
}

static bool terms_same(const uint8_t *digests, int rank, int other)
{
	return memcmp(digests + (size_t)rank * TERMS_DIGEST_SIZE,
		      digests + (size_t)other * TERMS_DIGEST_SIZE, TERMS_DIGEST_SIZE) == 0;
}

static int terms_of(const uint8_t *all, int rank, struct terms *ret, struct problem *problem)
{
	struct wire_reader reader =
		wire_reader(all + (size_t)rank * TERMS_SIZE_MAX, TERMS_SIZE_MAX);

	if (terms_decode(&reader, ret) < 0)
		return problem_set(problem, E_PROTOCOL, "rank %d sends no terms of a job", rank);
	return 0;
}

/* "rank 2: seed is 8 and not 7, plan is .. and not .."; the first one also as the message. */
static void terms_tell(const struct terms *there, int rank, const struct terms *most, int other,
		       struct text *detail, struct problem *problem)
{
	struct term_difference is;

	text_addf(detail, "%srank %d: ", detail->size > 0 ? "; " : "", rank);
	for (size_t nth = 0; terms_differ_nth(there, most, nth, &is); nth++) {
		if (!problem_is_set(problem))
			(void)problem_set(problem, E_CONFLICT, "rank %d differs from rank %d in %s",
					  rank, other, is.name);
		text_addf(detail, "%s%s is %s and not %s", nth > 0 ? ", " : "", is.name,
			  is.mine ? is.mine : "unknown", is.theirs ? is.theirs : "unknown");
	}
}

static int terms_compare(const uint8_t *all, const uint8_t *digests, int ranks,
			 struct problem *problem)
{
	int most = terms_most(digests, ranks);
	struct problem found = {0};
	struct text detail = {0};
	struct terms reference;
	struct terms there;
	int rc = terms_of(all, most, &reference, problem);

	for (int rank = 0; rc == 0 && rank < ranks; rank++) {
		if (terms_same(digests, rank, most))
			continue;
		rc = terms_of(all, rank, &there, problem);
		if (rc == 0)
			terms_tell(&there, rank, &reference, most, &detail, &found);
	}
	/* Terms are the same and their digests are not: a rank does not keep the rules. */
	if (rc == 0 && !problem_is_set(&found))
		(void)problem_set(&found, E_PROTOCOL,
				  "ranks send digests that are not their terms'");
	if (rc == 0) {
		problem_detail(&found, "%s", text_get(&detail));
		problem_hint(&found, "give each rank the same job file, model, set and program");
		*problem = found;
		rc = found.code;
	}
	text_done(&detail);
	return rc;
}

int terms_agree(struct transport *transport, const struct terms *terms, struct problem *problem)
{
	struct collective_group group = collective_all(transport);
	uint8_t digests[COMM_RANKS_MAX * TERMS_DIGEST_SIZE];
	uint8_t digest[TERMS_DIGEST_SIZE];
	uint8_t mine[TERMS_SIZE_MAX] = {0};
	struct wire_writer writer = wire_writer(mine, sizeof(mine));
	bool same = true;
	int rc;

	if (terms->bad)
		return problem_set(problem, -EINVAL, "the terms of this rank are none");
	terms_encode(terms, &writer);
	(void)crypto_generichash(digest, sizeof(digest), mine, sizeof(mine), NULL, 0);
	rc = collective_gather(transport, &group, digest, sizeof(digest), digests);
	for (int rank = 1; rc == 0 && rank < transport->ranks; rank++)
		same = same && terms_same(digests, rank, 0);
	if (rc == 0 && same)
		return 0;
	CLEANUP(freep) uint8_t *all = malloc((size_t)transport->ranks * TERMS_SIZE_MAX);

	if (rc == 0 && !all)
		return problem_set(problem, -ENOMEM, "no memory for the terms of all ranks");
	if (rc == 0)
		rc = collective_gather(transport, &group, mine, sizeof(mine), all);
	if (rc < 0)
		return problem_set(problem, rc, "cannot compare terms with rank %d: %s",
				   transport->blamed, error_text(rc));
	return terms_compare(all, digests, transport->ranks, problem);
}
