#include "tests/sim/switch/switch_fault_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum kind { FLAG, SWITCH_FAULT_TABLE_NUMBER, SECONDS, VERBS, WORD };

static const char *const fdb_words[] = {
	[SWITCH_FDB_WELL] = "well",
	[SWITCH_FDB_EMPTY] = "empty",
	[SWITCH_FDB_BROKEN] = "broken",
	[SWITCH_FDB_ZERO_MAC] = "zero_mac",
	NULL,
};
static const char *const pvid_words[] = {
	[SWITCH_PVID_ALONE] = "alone",
	[SWITCH_PVID_MOVES] = "moves",
	[SWITCH_PVID_LEAVES_TAGGED] = "leaves_tagged",
	[SWITCH_PVID_IS_UNTAGGED] = "untagged",
	NULL,
};
static const char *const mark_words[] = {
	[SWITCH_MARK_ZERO] = "zero",
	[SWITCH_MARK_CHANGE] = "change",
	[SWITCH_MARK_BOTH] = "both",
	NULL,
};

static const char *const access_words[] = {
	[SWITCH_IN_ACCESS_TAKEN] = "taken",
	[SWITCH_IN_ACCESS_REFUSED] = "refused",
	[SWITCH_IN_ACCESS_LOST] = "lost",
	NULL,
};

#define AT(member) offsetof(struct switch_faults, member)

static const struct {
	const char *key;
	enum kind kind;
	size_t at;
	const char *const *words;
	uint32_t max;
	const char *help;
} switch_fault_table_rows[] = {
	{"slow", SECONDS, AT(slow_ms), NULL, 600,
	 "seconds before each request is answered, as 0.5"},
	{"refuse", VERBS, AT(refuse), NULL, 0, "these verbs are answered with an error"},
	{"lost_write", VERBS, AT(lost), NULL, 0, "these verbs are answered as done and not done"},
	{"partial", FLAG, AT(partial), NULL, 0, "half of a SET's varbinds is done, then an error"},
	{"lost_save", FLAG, AT(lost_save), NULL, 0, "the save object says yes and keeps nothing"},
	{"read_only", FLAG, AT(read_only), NULL, 0, "every SET is answered notWritable"},
	{"fdb", WORD, AT(fdb), fdb_words, 0, "well|empty|broken|zero_mac"},
	{"fdb_kept", FLAG, AT(fdb_kept), NULL, 0,
	 "a port that loses its link keeps its FDB entries"},
	{"no_create_and_go", FLAG, AT(no_create_and_go), NULL, 0,
	 "RowStatus takes createAndWait only"},
	{"fdb_id_counts", FLAG, AT(fdb_id_counts), NULL, 0,
	 "FdbId is a running number, not the VID"},
	{"portlist_short", FLAG, AT(portlist_short), NULL, 0, "PortLists without zeros at the end"},
	{"portlist_strict", FLAG, AT(portlist_strict), NULL, 0,
	 "a PortList of another length is refused"},
	{"portlist", SWITCH_FAULT_TABLE_NUMBER, AT(portlist), NULL, 512, "octets of each PortList"},
	{"in_order", FLAG, AT(in_order), NULL, 0,
	 "varbinds of a SET are done one after the other, and each result must hold"},
	{"never_alone", FLAG, AT(never_alone), NULL, 0, "a port's last VLAN is not taken from it"},
	{"pvid_member", FLAG, AT(pvid_member), NULL, 0,
	 "a PVID of a VLAN that the port is not untagged in is refused"},
	{"pvid_stays", FLAG, AT(pvid_stays), NULL, 0, "a port does not leave the VLAN of its PVID"},
	{"fixed_frames", FLAG, AT(fixed_frames), NULL, 0,
	 "frame types and the filter on ingress are not writable"},
	{"vid_max", SWITCH_FAULT_TABLE_NUMBER, AT(vid_max), NULL, 4094,
	 "the highest VLAN there may be"},
	{"index_offset", SWITCH_FAULT_TABLE_NUMBER, AT(index_offset), NULL, 2000000000,
	 "dot1qVlanStaticTable is indexed by VID plus this"},
	{"pvid", WORD, AT(pvid), pvid_words, 0,
	 "alone|moves|leaves_tagged|untagged: what setting dot1qPvid does to memberships"},
	{"time_mark", WORD, AT(time_mark), mark_words, 0,
	 "zero|change|both: index of the current tables"},
	{"sflow_powers", FLAG, AT(sflow_powers), NULL, 0,
	 "SFLOW-MIB: sampling rates are powers of two, others become the nearest"},
	{"vtp_busy", FLAG, AT(vtp_busy), NULL, 0, "Cisco: another manager holds the edit buffer"},
	{"vtp_client", FLAG, AT(vtp_client), NULL, 0, "Cisco: VTP mode client"},
	{"vtp_refuse", FLAG, AT(vtp_refuse), NULL, 0, "Cisco: applying ends in inconsistentEdit"},
	{"vtp_slow", SECONDS, AT(vtp_slow_ms), NULL, 600, "Cisco: seconds until VLANs are applied"},
	{"trunk_in_access", WORD, AT(trunk_in_access), access_words, 0,
	 "Cisco: taken|refused|lost: a trunk's VLANs written while the port does not trunk"},
	{"vm_vlan_hidden", FLAG, AT(vm_vlan_hidden), NULL, 0,
	 "Cisco: no vmVlan while the port trunks"},
	{"vm_vlan_unsigned", FLAG, AT(vm_vlan_unsigned), NULL, 0, "Cisco: vmVlan is no INTEGER"},
	{"rings_on_trunks", FLAG, AT(rings_on_trunks), NULL, 0,
	 "Cisco: 1002-1005 are on every trunk"},
	{"trunk_contended", FLAG, AT(trunk_contended), NULL, 0,
	 "Cisco: somebody else writes the trunk table all the time"},
	{"no_config_copy", FLAG, AT(no_config_copy), NULL, 0,
	 "Cisco: saved by OLD-CISCO-SYS-MIB alone"},
	{"copy_fails", FLAG, AT(copy_fails), NULL, 0, "Cisco: copying the configuration fails"},
};

static bool switch_fault_table_read_number(const char *text, size_t size, uint32_t scale,
					   uint32_t max, uint32_t *ret)
{
	char copy[16];
	char *end;
	double value;

	if (size == 0 || size >= sizeof(copy))
		return false;
	memcpy(copy, text, size);
	copy[size] = '\0';
	value = strtod(copy, &end);
	if (*end != '\0' || !(value >= 0) || value > (double)max)
		return false;
	*ret = (uint32_t)(value * scale);
	return true;
}

static bool switch_fault_table_read_verbs(const char *text, size_t size, uint32_t *ret)
{
	const char *end = text + size;
	uint32_t bits = 0;

	if (size == 3 && memcmp(text, "all", 3) == 0) {
		*ret = (1U << SWITCH_VERBS) - 1;
		return true;
	}
	while (text < end) {
		const char *stop = memchr(text, ',', (size_t)(end - text));
		size_t length = (size_t)((stop ? stop : end) - text);
		bool known = false;

		for (unsigned verb = 0; verb < SWITCH_VERBS; verb++) {
			if (strlen(switch_verb_words[verb]) == length &&
			    memcmp(switch_verb_words[verb], text, length) == 0) {
				bits |= 1U << verb;
				known = true;
			}
		}
		if (!known)
			return false;
		text = stop ? stop + 1 : end;
	}
	*ret = bits;
	return true;
}

static bool switch_fault_table_read_word(const char *const *words, const char *text, size_t size,
					 uint32_t *ret)
{
	for (uint32_t i = 0; words[i]; i++) {
		if (strlen(words[i]) == size && memcmp(words[i], text, size) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static bool switch_fault_table_read_pair(const char *text, size_t size, struct switch_faults *ret)
{
	const char *equals = memchr(text, '=', size);
	size_t key = equals ? (size_t)(equals - text) : size;
	const char *value = equals ? equals + 1 : "1";
	size_t length = equals ? size - key - 1 : 1;

	for (size_t i = 0; i < COUNT_OF(switch_fault_table_rows); i++) {
		void *at = (char *)ret + switch_fault_table_rows[i].at;
		uint32_t number = 0;
		bool good = false;

		if (strlen(switch_fault_table_rows[i].key) != key ||
		    memcmp(switch_fault_table_rows[i].key, text, key) != 0)
			continue;
		switch (switch_fault_table_rows[i].kind) {
		case FLAG:
			good = switch_fault_table_read_number(value, length, 1, 1, &number);
			*(bool *)at = number != 0;
			return good;
		case SWITCH_FAULT_TABLE_NUMBER:
			good = switch_fault_table_read_number(
				value, length, 1, switch_fault_table_rows[i].max, &number);
			break;
		case SECONDS:
			good = switch_fault_table_read_number(
				value, length, 1000, switch_fault_table_rows[i].max, &number);
			break;
		case VERBS: good = switch_fault_table_read_verbs(value, length, &number); break;
		case WORD:
			good = switch_fault_table_read_word(switch_fault_table_rows[i].words, value,
							    length, &number);
			break;
		}
		if (good)
			memcpy(at, &number, sizeof(number));
		return good;
	}
	return false;
}

static_assert(sizeof(enum switch_fdb_fault) == 4 && sizeof(enum switch_pvid_manner) == 4 &&
		      sizeof(enum switch_time_mark) == 4 && sizeof(enum switch_in_access) == 4,
	      "words are stored as four bytes");

int switch_faults_add(const char *text, struct switch_faults *faults)
{
	while (*text) {
		size_t size = strcspn(text, " ");

		if (size > 0 && !switch_fault_table_read_pair(text, size, faults))
			return E_MALFORMED;
		text += size + (text[size] == ' ');
	}
	return 0;
}

int switch_faults_read(const char *text, struct switch_faults *ret, char wrong[64])
{
	struct switch_faults faults = {0};
	int rc = 0;

	while (*text) {
		size_t size;

		text += strspn(text, " \t\r\n");
		size = strcspn(text, " \t\r\n");
		if (size == 4 && memcmp(text, "none", 4) == 0) {
			faults = (struct switch_faults){0};
		} else if (size > 0 && !switch_fault_table_read_pair(text, size, &faults)) {
			size_t copied = size < 63 ? size : 63;

			memcpy(wrong, text, copied);
			wrong[copied] = '\0';
			rc = E_MALFORMED;
		}
		text += size;
	}
	*ret = faults;
	return rc;
}

void switch_faults_help(FILE *out)
{
	for (size_t i = 0; i < COUNT_OF(switch_fault_table_rows); i++)
		(void)fprintf(out, "  %-18s %s\n", switch_fault_table_rows[i].key,
			      switch_fault_table_rows[i].help);
	(void)fprintf(out, "verbs:");
	for (size_t i = 0; i < SWITCH_VERBS; i++)
		(void)fprintf(out, " %s", switch_verb_words[i]);
	(void)fprintf(out, " (or all, or several with commas)\n");
}
