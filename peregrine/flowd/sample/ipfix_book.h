/* What exporters of NetFlow 9 and IPFIX have said of themselves: their templates, how densely they
 * sample, which number comes next. UDP may bring records before their template, and a template anew
 * at any time: the newest counts.
 *
 * Bounded: domains of one agent and in all, templates of one domain, bytes. A domain beyond takes
 * the place of its agent's oldest. So one switch does not cost another its templates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/flowd/sample/ipfix_wire.h"
#include "peregrine/flowd/sample/total_book.h"

enum {
	IPFIX_AGENT_DOMAINS = 16,
	IPFIX_DOMAINS = 4096,
	IPFIX_DOMAIN_TEMPLATES = 512, /* Open vSwitch announces 89 */
	IPFIX_SAMPLERS = 16,
	IPFIX_BOOK_BYTES = 64 << 20,
	IPFIX_RATE_LIMIT = 1 << 24, /* 1 in more is no sampling */
};

struct ipfix_book;
struct ipfix_domain;

struct ipfix_kept {
	uint16_t id, count;
	bool options;
	uint32_t shortest;
	struct ipfix_field fields[];
};

MUST_USE int ipfix_book_new(struct ipfix_book **ret);
void ipfix_book_free(struct ipfix_book *book);

/* The exporter's domain, made when it is new. NULL: no memory. Borrowed until the next call. */
struct ipfix_domain *ipfix_book_domain(struct ipfix_book *book, uint16_t agent, uint16_t version,
				       uint32_t domain);
/* Keeps, replaces or withdraws. False: no room (counted) or no memory. */
bool ipfix_domain_learn(struct ipfix_book *book, struct ipfix_domain *domain,
			const struct ipfix_template *template);
/* NULL: not known (yet). Borrowed until the domain learns again. */
const struct ipfix_kept *ipfix_domain_template(const struct ipfix_domain *domain, uint16_t id);

/* A record of options: how densely it samples, if it says so. */
void ipfix_domain_options(struct ipfix_domain *domain, const struct ipfix_record *record);
/* 1 in so many packets of this record was looked at, so far as anybody said: itself, its sampler,
 * or its domain. 1 = all, or the exporter has scaled already, which does not show. */
uint32_t ipfix_domain_rate(const struct ipfix_domain *domain, const struct ipfix_record *record);

/* Totals of flows of all exporters, made when the first one tells any; NULL: no memory. */
struct total_book *ipfix_book_totals(struct ipfix_book *book, uint64_t seed);
/* Since when the domain is heard, by its own clock. */
int64_t ipfix_domain_heard_ms(struct ipfix_domain *domain, const struct ipfix_message *message);
/* A message of the domain that was sent later came already. */
bool ipfix_domain_is_late(const struct ipfix_domain *domain, const struct ipfix_message *message);

struct ipfix_follow {
	uint64_t missing; /* messages (9) or records (10) that never came */
	bool restarted;
};
#define IPFIX_UNCOUNTED UINT32_MAX
/* How a message follows the last one of its domain; `records`: of data in it, IPFIX_UNCOUNTED: not
 * all of it could be read, so what should come next is not known. */
struct ipfix_follow ipfix_domain_follow(struct ipfix_book *book, struct ipfix_domain *domain,
					const struct ipfix_message *message, uint32_t records);

struct ipfix_book_counts {
	uint64_t domains, templates, bytes; /* now */
	uint64_t refused;                   /* templates without room */
	uint64_t evicted;                   /* domains */
};
struct ipfix_book_counts ipfix_book_counts(const struct ipfix_book *book);
