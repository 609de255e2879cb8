/* haasctl ca: the site's CA. It needs no server, and its key need not be on the controller. */
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/net/ipv4.h"

#include "portal/cli/listing.h"
#include "portal/cli/site_ca.h"

#define CA_CLI_DAYS_MAX  3650
#define CA_CLI_YEARS_MAX 50
#define CA_CLI_SOON_DAYS 30

static int ca_cli_end(const struct command_input *input, int rc, const struct problem *problem)
{
	if (rc == 0) {
		haasctl_say_done(input, input->command->done, NULL, NULL);
		return EXIT_OK;
	}
	return haasctl_told(problem);
}

/* False, and told: it is no number from 1 to `max`. */
static bool ca_cli_number(const struct command_input *input, const char *option, int usual, int max,
			  int *ret)
{
	const char *text = command_option(input, option);
	char *end = NULL;
	long value = text ? strtol(text, &end, 10) : usual;

	*ret = (int)value;
	if (value >= 1 && value <= max && (!end || (*end == '\0' && end != text)))
		return true;
	(void)haasctl_usage("%s: 1 to %d, not %s", option, max, text);
	return false;
}

static int ca_cli_create(void *context, const struct command_input *input)
{
	const char *site = command_option(input, "--site");
	struct problem problem = {0};
	int years;

	(void)context;
	if (!site)
		return haasctl_usage("ca create needs --site NAME");
	if (!ca_cli_number(input, "--years", SITE_CA_YEARS, CA_CLI_YEARS_MAX, &years))
		return EXIT_USAGE;
	int status =
		ca_cli_end(input, site_ca_create(input->words[0], site, years, &problem), &problem);
	if (status == EXIT_OK)
		fprintf(stderr,
			"%s/ca.crt belongs on controllers, relays and in the ramdisk.\n"
			"Keep %s/ca.key elsewhere: who has it is any controller of the site.\n",
			input->words[0], input->words[0]);
	return status;
}

static int ca_cli_role(const struct command_input *input, enum site_ca_role *ret)
{
	const char *given = command_option(input, "--role");

	for (int i = 0; given && i < SITE_CA_ROLES; i++) {
		if (strcmp(given, site_ca_roles[i]) == 0) {
			*ret = (enum site_ca_role)i;
			return EXIT_OK;
		}
	}
	return haasctl_usage("ca issue needs --role controller, --role relay or --role portal");
}

/* Nodes and relays verify an address, people the name of a portal. */
static int ca_cli_reach(const struct site_ca_request *request)
{
	const struct {
		const char *option;
		const char *const *words;
	} rows[] = {{"--address", request->addresses}, {"--shared-address", request->shared}};
	const bool portal = request->role == SITE_CA_PORTAL;
	uint32_t address;

	if (portal && (!request->names || !*request->names))
		return haasctl_usage("ca issue needs --name, as people reach the portal");
	if (!portal && request->names && *request->names)
		return haasctl_usage("--name is of --role portal: nodes and relays verify an "
				     "address");
	if (!portal && (!request->addresses || !*request->addresses))
		return haasctl_usage("ca issue needs --address, as nodes and relays reach it");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		for (const char *const *each = rows[i].words; each && *each; each++) {
			if (ipv4_parse(*each, &address))
				return haasctl_usage("%s %s is no IPv4 address", rows[i].option,
						     *each);
		}
	}
	return EXIT_OK;
}

static int ca_cli_issue(void *context, const struct command_input *input)
{
	struct site_ca_request request = {
		.ca = command_option(input, "--ca"),
		.name = input->words[0],
		.addresses = command_options(input, "--address"),
		.shared = command_options(input, "--shared-address"),
		.names = command_options(input, "--name"),
		.out = command_option(input, "--out"),
		.new_key = command_option(input, "--new-key") != NULL,
	};
	struct problem problem = {0};
	int status;

	(void)context;
	if (!request.ca)
		return haasctl_usage("ca issue needs --ca FOLDER (haasctl ca create makes one)");
	if (!request.out)
		request.out = ".";
	status = ca_cli_role(input, &request.role);
	if (status == EXIT_OK)
		status = ca_cli_reach(&request);
	if (status != EXIT_OK)
		return status;
	if (!ca_cli_number(input, "--days", SITE_CA_DAYS, CA_CLI_DAYS_MAX, &request.days))
		return EXIT_USAGE;
	return ca_cli_end(input, site_ca_issue(&request, &problem), &problem);
}

static int ca_cli_trust(void *context, const struct command_input *input)
{
	struct problem problem = {0};

	(void)context;
	return ca_cli_end(input, site_ca_trust(input->words[0], input->words[1], &problem),
			  &problem);
}

/* --- show --- */

static void ca_cli_part(const X509 *certificate, int nid, char ret[128])
{
	ret[0] = '\0';
	(void)X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), nid, ret, 128);
}

static void ca_cli_words(const char *const words[], struct text *ret)
{
	for (; *words; words++)
		text_addf(ret, "%s%s", ret->size ? "," : "", *words);
}

static void ca_cli_state(X509 *certificate, const STACK_OF(X509) * bundle, struct text *ret)
{
	const char *fault = bundle ? site_ca_fault(certificate, bundle) : NULL;
	int days = site_ca_days_left(certificate);

	if (days < 0)
		text_addf(ret, "ended %d days ago", -days);
	else if (fault)
		text_add(ret, fault);
	else if (days < CA_CLI_SOON_DAYS)
		text_addf(ret, "ends in %d days", days);
	else
		text_add(ret, "good");
}

static void ca_cli_fingerprint(const X509 *certificate, char ret[2 * EVP_MAX_MD_SIZE + 1])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned size = 0;

	(void)X509_digest(certificate, EVP_sha256(), digest, &size);
	ret[0] = '\0';
	for (unsigned i = 0; i < size; i++)
		(void)text_format(ret + (size_t)2 * i, 3, "%02x", digest[i]);
}

/* True: it may be used. */
static bool ca_cli_row(struct listing *listing, const char *path, X509 *certificate,
		       const STACK_OF(X509) * bundle)
{
	CLEANUP(text_done) struct text addresses = {0};
	CLEANUP(text_done) struct text names = {0};
	struct site_ca_reach reach;
	CLEANUP(text_done) struct text state = {0};
	char fingerprint[2 * EVP_MAX_MD_SIZE + 1];
	char site[128];
	char role[128];
	char name[128];
	char ends[24] = "";
	struct tm tm;

	ca_cli_part(certificate, NID_organizationName, site);
	ca_cli_part(certificate, NID_organizationalUnitName, role);
	ca_cli_part(certificate, NID_commonName, name);
	(void)site_ca_reach(certificate, &reach);
	ca_cli_words(reach.addresses, &addresses);
	ca_cli_words(reach.names, &names);
	ca_cli_state(certificate, bundle, &state);
	ca_cli_fingerprint(certificate, fingerprint);
	if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) != 1 ||
	    strftime(ends, sizeof(ends), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		ends[0] = '\0';
	json_t *row =
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "file", path, "site",
			  site, "role", X509_check_ca(certificate) == 1 ? "ca" : role, "name", name,
			  "addresses", text_get(&addresses), "names", text_get(&names), "ends_at",
			  ends, "state", text_get(&state), "fingerprint", fingerprint);
	listing_row(listing, row);
	json_decref(row);
	return strcmp(text_get(&state), "good") == 0 ||
	       strncmp(text_get(&state), "ends in", 7) == 0;
}

static int ca_cli_show(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("file"),  COLUMN("site"),      COLUMN("role"),
		COLUMN("name"),  COLUMN("addresses"), COLUMN("ends_at"),
		COLUMN("state"), WIDE("names"),       WIDE("fingerprint")};
	const char *ca = command_option(input, "--ca");
	STACK_OF(X509) *bundle = NULL;
	struct problem problem = {0};
	struct listing *listing = NULL;
	bool good = true;
	int rc = ca ? site_ca_read(ca, &bundle, &problem) : 0;

	(void)context;
	if (rc)
		return ca_cli_end(input, rc, &problem);
	int status = listing_new(input, columns, COUNT_OF(columns), &listing);
	for (size_t i = 0; status == EXIT_OK && i < input->word_count; i++) {
		STACK_OF(X509) *all = NULL;

		rc = site_ca_read(input->words[i], &all, &problem);
		if (rc) {
			status = listing_end(listing, ca_cli_end(input, rc, &problem));
			sk_X509_pop_free(bundle, X509_free);
			return status;
		}
		for (int j = 0; j < sk_X509_num(all); j++)
			good &= ca_cli_row(listing, input->words[i], sk_X509_value(all, j), bundle);
		sk_X509_pop_free(all, X509_free);
	}
	sk_X509_pop_free(bundle, X509_free);
	if (status != EXIT_OK)
		return status;
	status = listing_end(listing, EXIT_OK);
	return good ? status : EXIT_FAILED;
}

static const struct option_row ca_cli_create_options[] = {
	{"--site", 0, OPTION_VALUE, "NAME", "whose CA it is; another site has another"},
	{"--years", 0, OPTION_VALUE, "N", "how long it is believed (default 20)"},
};
static const struct option_row ca_cli_issue_options[] = {
	{"--ca", 0, OPTION_VALUE, "FOLDER", "the folder of haasctl ca create"},
	{"--role", 0, OPTION_VALUE, "controller|relay|portal", "what its holder is"},
	{"--address", 0, OPTION_REPEAT, "ADDRESS", "as nodes and relays reach it; may be repeated"},
	{"--shared-address", 0, OPTION_REPEAT, "ADDRESS", "that both controllers have, by VRRP"},
	{"--name", 0, OPTION_REPEAT, "HOST", "of a portal: as people reach it; may be repeated"},
	{"--days", 0, OPTION_VALUE, "N", "how long it is good (default 397)"},
	{"--out", 0, OPTION_VALUE, "FOLDER", "where NAME.crt and NAME.key go (default .)"},
	{"--new-key", 0, OPTION_FLAG, NULL, "not for the NAME.key that is there"},
};
static const struct option_row ca_cli_show_options[] = {
	{"--ca", 0, OPTION_VALUE, "FILE", "the certificates of CAs that are believed"},
};
static const struct command ca_cli_commands[] = {
	{"ca", "create", "FOLDER", "make the CA of a site: ca.key (secret) and ca.crt",
	 OPTIONS(ca_cli_create_options), 1, 1, ca_cli_create,
	 .example = "ca create /root/ca --site north", .done = "CA {1}/ca.crt made"},
	{"ca", "issue", "NAME", "make or renew a certificate of a controller, relay or portal",
	 OPTIONS(ca_cli_issue_options), 1, 1, ca_cli_issue,
	 .example = "ca issue c1 --ca /root/ca --role controller --address 10.2.0.1",
	 .done = "certificate {1}.crt issued"},
	{"ca", "trust", "BUNDLE CERTIFICATE", "add a CA to those that are believed", NO_OPTIONS, 2,
	 2, ca_cli_trust, .example = "ca trust /etc/haas/tls/ca.crt /root/ca2/ca.crt",
	 .done = "{2} is believed by {1}"},
	{"ca", "show", "FILE...", "what certificates say; exit 1 unless all are good",
	 OPTIONS(ca_cli_show_options), 1, 100, ca_cli_show,
	 .example = "ca show c1.crt --ca /etc/haas/tls/ca.crt"},
};
const struct command_group ca_group = {ca_cli_commands, COUNT_OF(ca_cli_commands)};
