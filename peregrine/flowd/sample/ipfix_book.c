#include "peregrine/flowd/sample/ipfix_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash_table.h"
#include "common/base/sorted.h"

#include "peregrine/flowd/sample/agent_directory.h"

LEAKS_LEFT_TO_SANITIZER

/* Ahead by more than this, or back, is a new beginning; as in source_book.c. */
#define IPFIX_BOOK_GAP_LIMIT  (1U << 20)
#define IPFIX_BOOK_LATE_LIMIT 1024U

struct sampler {
	uint32_t id, rate;
};

struct ipfix_domain {
	uint64_t key; /* agent << 48 | version << 32 | domain */
	uint64_t heard;
	struct ipfix_kept **templates; /* sorted by id */
	uint16_t count, room;
	struct sampler samplers[IPFIX_SAMPLERS];
	uint8_t sampler_count;
	uint32_t rate;    /* of all; 0 = never told */
	uint32_t next;    /* sequence number */
	int64_t heard_ms; /* by its clock: its first message; 0 = none yet */
	bool follows;     /* `next` is known */
	UT_hash_handle hh;
};

struct ipfix_book {
	struct ipfix_domain *domains;
	uint32_t *next_of_agent;   /* the last sequence number of any of its domains */
	uint64_t clock;            /* of `heard`: calls */
	struct total_book *totals; /* NULL = no exporter tells any */
	struct ipfix_book_counts counts;
};

int ipfix_book_new(struct ipfix_book **ret)
{
	struct ipfix_book *book = calloc(1, sizeof(*book));

	if (book)
		book->next_of_agent = calloc(AGENT_LIMIT + 1, sizeof(*book->next_of_agent));
	if (!book || !book->next_of_agent) {
		ipfix_book_free(book);
		return -ENOMEM;
	}
	*ret = book;
	return 0;
}

static size_t ipfix_book_size_of(uint16_t count)
{
	return sizeof(struct ipfix_kept) + count * sizeof(struct ipfix_field);
}

static void drop_template(struct ipfix_book *book, struct ipfix_domain *domain, size_t at)
{
	book->counts.templates--;
	book->counts.bytes -= ipfix_book_size_of(domain->templates[at]->count);
	free(domain->templates[at]);
	memmove(&domain->templates[at], &domain->templates[at + 1],
		(domain->count - at - 1) * sizeof(struct ipfix_kept *));
	domain->count--;
}

static void drop_domain(struct ipfix_book *book, struct ipfix_domain *domain)
{
	while (domain->count)
		drop_template(book, domain, domain->count - 1U);
	free(domain->templates);
	HASH_DEL(book->domains, domain);
	free(domain);
	book->counts.domains--;
}

void ipfix_book_free(struct ipfix_book *book)
{
	struct ipfix_domain *domain;
	struct ipfix_domain *next;

	if (!book)
		return;
	HASH_ITER(hh, book->domains, domain, next)
	drop_domain(book, domain);
	total_book_free(book->totals);
	free(book->next_of_agent);
	free(book);
}

/* Too many of one agent, or of all: the one that was heard of longest ago goes. */
static void ipfix_book_make_room(struct ipfix_book *book, uint16_t agent)
{
	struct ipfix_domain *oldest = NULL;
	struct ipfix_domain *own = NULL;
	size_t owned = 0;

	for (struct ipfix_domain *domain = book->domains; domain; domain = domain->hh.next) {
		if (!oldest || domain->heard < oldest->heard)
			oldest = domain;
		if (domain->key >> 48 != agent)
			continue;
		owned++;
		if (!own || domain->heard < own->heard)
			own = domain;
	}
	if (owned < IPFIX_AGENT_DOMAINS)
		own = book->counts.domains >= IPFIX_DOMAINS ? oldest : NULL;
	if (own) {
		book->counts.evicted++;
		drop_domain(book, own);
	}
}

struct ipfix_domain *ipfix_book_domain(struct ipfix_book *book, uint16_t agent, uint16_t version,
				       uint32_t domain)
{
	uint64_t key = (uint64_t)agent << 48 | (uint64_t)version << 32 | domain;
	struct ipfix_domain *found = NULL;

	HASH_FIND(hh, book->domains, &key, sizeof(key), found);
	if (!found) {
		ipfix_book_make_room(book, agent);
		found = calloc(1, sizeof(*found));
		if (!found)
			return NULL;
		found->key = key;
		HASH_ADD(hh, book->domains, key, sizeof(found->key), found);
		book->counts.domains++;
	}
	found->heard = ++book->clock;
	return found;
}

/* --- templates --- */

/* Where it is, or where it would be. */
static size_t ipfix_book_place_of(const struct ipfix_domain *domain, uint16_t id)
{
	return SORTED_FIRST(i, 0, domain->count, domain->templates[i]->id < id);
}

const struct ipfix_kept *ipfix_domain_template(const struct ipfix_domain *domain, uint16_t id)
{
	size_t at = ipfix_book_place_of(domain, id);

	return at < domain->count && domain->templates[at]->id == id ? domain->templates[at] : NULL;
}

static bool ipfix_book_withdraw(struct ipfix_book *book, struct ipfix_domain *domain, uint16_t id,
				bool options)
{
	for (size_t at = domain->count; at-- > 0;)
		if (domain->templates[at]->id == id ||
		    (id < IPFIX_TEMPLATE_FIRST && domain->templates[at]->options == options))
			drop_template(book, domain, at);
	return true;
}

static bool ipfix_book_grow(struct ipfix_domain *domain)
{
	uint16_t room = domain->room ? (uint16_t)(domain->room * 2) : 8;
	struct ipfix_kept **templates;

	if (domain->count < domain->room)
		return true;
	templates = realloc(domain->templates, room * sizeof(struct ipfix_kept *));
	if (!templates)
		return false;
	domain->templates = templates;
	domain->room = room;
	return true;
}

static bool ipfix_book_is_same(const struct ipfix_kept *kept, const struct ipfix_template *template)
{
	if (kept->count != template->count || kept->options != template->options)
		return false;
	for (uint16_t i = 0; i < kept->count; i++)
		if (kept->fields[i].use != template->fields[i].use ||
		    kept->fields[i].length != template->fields[i].length)
			return false;
	return true;
}

bool ipfix_domain_learn(struct ipfix_book *book, struct ipfix_domain *domain,
			const struct ipfix_template *template)
{
	size_t at = ipfix_book_place_of(domain, template->id);
	struct ipfix_kept *kept;

	if (template->count == 0)
		return ipfix_book_withdraw(book, domain, template->id, template->options);
	if (at < domain->count && domain->templates[at]->id == template->id) {
		if (ipfix_book_is_same(domain->templates[at], template))
			return true;
		drop_template(book, domain, at);
	}
	if (domain->count == IPFIX_DOMAIN_TEMPLATES ||
	    book->counts.bytes + ipfix_book_size_of(template->count) > IPFIX_BOOK_BYTES) {
		book->counts.refused++;
		return false;
	}
	kept = malloc(ipfix_book_size_of(template->count));
	if (!kept || !ipfix_book_grow(domain)) {
		free(kept);
		return false;
	}
	*kept = (struct ipfix_kept){.id = template->id,
				    .count = template->count,
				    .options = template->options,
				    .shortest = template->shortest};
	memcpy(kept->fields, template->fields, template->count * sizeof(struct ipfix_field));
	memmove(&domain->templates[at + 1], &domain->templates[at],
		(domain->count - at) * sizeof(struct ipfix_kept *));
	domain->templates[at] = kept;
	domain->count++;
	book->counts.templates++;
	book->counts.bytes += ipfix_book_size_of(kept->count);
	return true;
}

/* --- sampling --- */

/* The nearest whole number: of 2 in 3 packets each stands for 2. */
static uint64_t rate_of_part(uint64_t taken, uint64_t all)
{
	return taken > 0 && taken <= all && all <= UINT32_MAX ? (all + taken / 2) / taken : 0;
}

static uint64_t rate_of_interval(const struct ipfix_record *record)
{
	return record->numbers[IPFIX_INTERVAL];
}

static uint64_t rate_of_count(const struct ipfix_record *record)
{
	uint64_t taken = record->numbers[IPFIX_SAMPLED];
	uint64_t space = record->numbers[IPFIX_SPACE];

	return taken <= UINT32_MAX && space <= UINT32_MAX ? rate_of_part(taken, taken + space) : 0;
}

static uint64_t rate_of_random(const struct ipfix_record *record)
{
	return rate_of_part(record->numbers[IPFIX_SIZE], record->numbers[IPFIX_POPULATION]);
}

static uint64_t rate_of_chance(const struct ipfix_record *record)
{
	return record->numbers[IPFIX_PROBABILITY];
}

#define IPFIX_BOOK_BIT(use) (UINT64_C(1) << (use))

/* In how many ways a rate is told. Some templates have fields for several of them: then the method
 * says which one counts. */
static const struct rate_form {
	uint64_t needs;
	enum ipfix_method method;
	uint64_t (*rate)(const struct ipfix_record *record);
} ipfix_book_forms[] = {
	{IPFIX_BOOK_BIT(IPFIX_INTERVAL), IPFIX_METHOD_UNTOLD, rate_of_interval},
	{IPFIX_BOOK_BIT(IPFIX_SAMPLED) | IPFIX_BOOK_BIT(IPFIX_SPACE), IPFIX_METHOD_COUNT,
	 rate_of_count},
	{IPFIX_BOOK_BIT(IPFIX_SIZE) | IPFIX_BOOK_BIT(IPFIX_POPULATION), IPFIX_METHOD_RANDOM,
	 rate_of_random},
	{IPFIX_BOOK_BIT(IPFIX_PROBABILITY), IPFIX_METHOD_CHANCE, rate_of_chance},
};

/* 0 = the record does not say in this form, or says nonsense. */
static uint32_t rate_by(const struct ipfix_record *record, const struct rate_form *form)
{
	uint64_t rate = (record->has & form->needs) == form->needs ? form->rate(record) : 0;

	return rate <= IPFIX_RATE_LIMIT ? (uint32_t)rate : 0;
}

/* 0 = the record does not say, or says nonsense. */
static uint32_t rate_in(const struct ipfix_record *record)
{
	uint64_t method = record->numbers[IPFIX_METHOD];
	uint32_t rate = 0;

	for (size_t i = 0; method && !rate && i < COUNT_OF(ipfix_book_forms); i++)
		if (ipfix_book_forms[i].method == method)
			rate = rate_by(record, &ipfix_book_forms[i]);
	for (size_t i = 0; !rate && i < COUNT_OF(ipfix_book_forms); i++)
		rate = rate_by(record, &ipfix_book_forms[i]);
	return rate;
}

void ipfix_domain_options(struct ipfix_domain *domain, const struct ipfix_record *record)
{
	uint32_t rate = rate_in(record);
	uint32_t id = (uint32_t)record->numbers[IPFIX_SAMPLER];
	size_t at = 0;

	if (rate == 0)
		return;
	if (!IPFIX_HAS(record, IPFIX_SAMPLER)) {
		domain->rate = rate;
		return;
	}
	while (at < domain->sampler_count && domain->samplers[at].id != id)
		at++;
	if (at == IPFIX_SAMPLERS)
		at = id % IPFIX_SAMPLERS;
	else if (at == domain->sampler_count)
		domain->sampler_count++;
	domain->samplers[at] = (struct sampler){.id = id, .rate = rate};
}

uint32_t ipfix_domain_rate(const struct ipfix_domain *domain, const struct ipfix_record *record)
{
	uint32_t rate = rate_in(record);

	if (rate)
		return rate;
	for (size_t i = 0; IPFIX_HAS(record, IPFIX_SAMPLER) && i < domain->sampler_count; i++)
		if (domain->samplers[i].id == record->numbers[IPFIX_SAMPLER])
			return domain->samplers[i].rate;
	/* One sampler alone is everybody's, also where records do not name it. */
	if (domain->sampler_count == 1 && !domain->rate)
		return domain->samplers[0].rate;
	return domain->rate ? domain->rate : 1;
}

/* --- totals --- */

struct total_book *ipfix_book_totals(struct ipfix_book *book, uint64_t seed)
{
	if (!book->totals && total_book_new(seed, &book->totals))
		return NULL;
	return book->totals;
}

int64_t ipfix_domain_heard_ms(struct ipfix_domain *domain, const struct ipfix_message *message)
{
	if (!domain->heard_ms)
		domain->heard_ms = (int64_t)message->export_s * 1000;
	return domain->heard_ms;
}

/* --- what is missing --- */

bool ipfix_domain_is_late(const struct ipfix_domain *domain, const struct ipfix_message *message)
{
	uint32_t behind = domain->next - message->sequence;

	return domain->follows && behind > 0 && behind <= IPFIX_BOOK_LATE_LIMIT;
}

struct ipfix_follow ipfix_domain_follow(struct ipfix_book *book, struct ipfix_domain *domain,
					const struct ipfix_message *message, uint32_t records)
{
	uint32_t step = message->version == NETFLOW_9 ? 1 : records;
	uint32_t *of_agent = &book->next_of_agent[domain->key >> 48];
	uint32_t ahead = message->sequence - domain->next;
	struct ipfix_follow follow = {0};

	/* Each domain counts for itself (RFC 7011, 3.1), but Open vSwitch through all of them. */
	if (!domain->follows || ahead == 0 || message->sequence == *of_agent) {
		domain->next = message->sequence + step;
	} else if (ahead <= IPFIX_BOOK_GAP_LIMIT) {
		follow.missing = ahead;
		domain->next = message->sequence + step;
	} else if (domain->next - message->sequence > IPFIX_BOOK_LATE_LIMIT) {
		follow.restarted = true;
		domain->next = message->sequence + step;
	} /* else it is late, and was counted as missing */
	domain->follows = message->version == NETFLOW_9 || records != IPFIX_UNCOUNTED;
	*of_agent = domain->next;
	return follow;
}

struct ipfix_book_counts ipfix_book_counts(const struct ipfix_book *book)
{
	return book->counts;
}
