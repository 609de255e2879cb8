#include "common/net/vlan_set.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "common/base/error.h"

static bool vlan_set_real(unsigned vlan)
{
	return vlan >= VLAN_FIRST && vlan <= VLAN_LAST;
}

void vlan_set_add(struct vlan_set *set, unsigned vlan)
{
	if (vlan_set_real(vlan))
		set->words[vlan / 64] |= UINT64_C(1) << vlan % 64;
}

void vlan_set_add_range(struct vlan_set *set, unsigned low, unsigned high)
{
	if (low < VLAN_FIRST)
		low = VLAN_FIRST;
	if (high > VLAN_LAST)
		high = VLAN_LAST;
	for (unsigned i = low / 64; low <= high && i <= high / 64; i++) {
		uint64_t word = ~UINT64_C(0);

		if (i == low / 64)
			word &= ~UINT64_C(0) << low % 64;
		if (i == high / 64)
			word &= ~UINT64_C(0) >> (63 - high % 64);
		set->words[i] |= word;
	}
}

void vlan_set_remove(struct vlan_set *set, unsigned vlan)
{
	if (vlan_set_real(vlan))
		set->words[vlan / 64] &= ~(UINT64_C(1) << vlan % 64);
}

bool vlan_set_has(const struct vlan_set *set, unsigned vlan)
{
	return vlan_set_real(vlan) && (set->words[vlan / 64] >> vlan % 64 & 1) != 0;
}

bool vlan_set_is_empty(const struct vlan_set *set)
{
	return vlan_set_next(set, VLAN_FIRST) == 0;
}

bool vlan_set_equal(const struct vlan_set *a, const struct vlan_set *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool vlan_set_within(const struct vlan_set *a, const struct vlan_set *b)
{
	for (size_t i = 0; i < VLAN_WORDS; i++) {
		if (a->words[i] & ~b->words[i])
			return false;
	}
	return true;
}

size_t vlan_set_count(const struct vlan_set *set)
{
	size_t count = 0;

	for (size_t i = 0; i < VLAN_WORDS; i++)
		count += (size_t)__builtin_popcountll(set->words[i]);
	return count;
}

struct vlan_set vlan_set_union(const struct vlan_set *a, const struct vlan_set *b)
{
	struct vlan_set set;

	for (size_t i = 0; i < VLAN_WORDS; i++)
		set.words[i] = a->words[i] | b->words[i];
	return set;
}

struct vlan_set vlan_set_intersection(const struct vlan_set *a, const struct vlan_set *b)
{
	struct vlan_set set;

	for (size_t i = 0; i < VLAN_WORDS; i++)
		set.words[i] = a->words[i] & b->words[i];
	return set;
}

struct vlan_set vlan_set_minus(const struct vlan_set *a, const struct vlan_set *b)
{
	struct vlan_set set;

	for (size_t i = 0; i < VLAN_WORDS; i++)
		set.words[i] = a->words[i] & ~b->words[i];
	return set;
}

unsigned vlan_set_next(const struct vlan_set *set, unsigned from)
{
	for (unsigned i = from / 64; i < VLAN_WORDS; i++) {
		uint64_t word = set->words[i];

		if (i == from / 64)
			word &= ~UINT64_C(0) << from % 64;
		if (word)
			return i * 64 + (unsigned)__builtin_ctzll(word);
	}
	return 0;
}

void vlan_set_text(const struct vlan_set *set, struct text *ret)
{
	const char *comma = "";

	for (unsigned low = vlan_set_next(set, VLAN_FIRST); low;) {
		unsigned high = low;

		while (vlan_set_has(set, high + 1))
			high++;
		text_addf(ret, low == high ? "%s%u" : "%s%u-%u", comma, low, high);
		comma = ",";
		low = vlan_set_next(set, high + 1);
	}
}

/* Reads one number and what follows it in blanks; 0 when there is none in 1..4094. */
static unsigned vlan_set_number(const char **at)
{
	unsigned value = 0;

	while (isspace((unsigned char)**at))
		(*at)++;
	for (; isdigit((unsigned char)**at) && value <= VLAN_LAST; (*at)++)
		value = value * 10 + (unsigned)(**at - '0');
	while (isspace((unsigned char)**at))
		(*at)++;
	return vlan_set_real(value) ? value : 0;
}

int vlan_set_parse(const char *text, struct vlan_set *ret)
{
	struct vlan_set set = {0};
	const char *at = text;

	while (isspace((unsigned char)*at))
		at++;
	if (*at == '\0' || strcmp(at, "none") == 0) {
		*ret = set;
		return 0;
	}
	for (;;) {
		unsigned low = vlan_set_number(&at);
		unsigned high = low;

		if (low && *at == '-') {
			at++;
			high = vlan_set_number(&at);
		}
		if (low == 0 || high < low)
			return E_MALFORMED;
		vlan_set_add_range(&set, low, high);
		if (*at == '\0')
			break;
		if (*at++ != ',')
			return E_MALFORMED;
	}
	*ret = set;
	return 0;
}
