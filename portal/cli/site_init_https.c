/* The CA of the site lies where the other keys are made; this controller gets a certificate of it. Each
 * step looks whether it is done: a key that was made when we were killed is used. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/file.h"
#include "common/io/process.h"
#include "common/net/ipv4.h"

#include "portal/cli/site_ca.h"
#include "portal/cli/site_init_act.h"

#define SITE_INIT_HTTPS_ADDRESSES 64
#define SITE_INIT_HTTPS_FILE      ((size_t)64 << 10)

struct site_init_https_list {
	char texts[SITE_INIT_HTTPS_ADDRESSES][16];
	const char *words[SITE_INIT_HTTPS_ADDRESSES + 1];
};

struct site_init_https {
	char keys[PATH_MAX]; /* the folder of keys */
	char ca[PATH_MAX];   /* the folder of the CA */
	char name[64];       /* of this controller */
	struct site_init_https_list own, shared;
};

static void site_init_https_address(struct site_init_https_list *list, const char *address)
{
	size_t count = 0;

	for (; list->words[count]; count++) {
		if (strcmp(list->words[count], address) == 0)
			return;
	}
	if (count == SITE_INIT_HTTPS_ADDRESSES)
		return;
	(void)text_copy(list->texts[count], sizeof(list->texts[count]), address);
	list->words[count] = list->texts[count];
}

/* As nodes and relays reach it. Of two controllers each has an address, and they share those of the subnets. */
static void site_init_https_addresses(const struct site_plan *plan, struct site_init_https *https)
{
	const bool two = plan->controllers == 2;
	char own[IPV4_TEXT_SIZE];

	if (two)
		site_init_https_address(&https->own, ipv4_text(plan->server_address, own));
	for (char **each = plan->subnets; each && *each; each++) {
		struct problem problem = {0};
		struct site_subnet subnet;

		if (site_subnet_parse(*each, &subnet, &problem) == 0)
			site_init_https_address(two ? &https->shared : &https->own, subnet.server);
	}
}

static int site_init_https_create(const struct site_act *act, const struct site_init_https *https,
				  struct problem *problem)
{
	char certificate[PATH_MAX];

	if (!text_format(certificate, sizeof(certificate), "%s/ca.crt", https->ca))
		return problem_set(problem, -ENAMETOOLONG, "the path of keys is too long");
	if (access(certificate, F_OK) == 0)
		return site_ca_of(https->ca, act->plan->site, problem);
	/* A second CA of one site would be a surprise: the first is where a person took it. */
	if (site_act_there(act, SITE_TLS_CA)) {
		(void)problem_set(problem, E_CONFLICT, "the site has a CA, and it is not in %s",
				  https->ca);
		problem_hint(problem,
			     "bring the folder ca back for this; or haasctl ca issue where it is");
		return E_CONFLICT;
	}
	return site_ca_create(https->ca, act->plan->site, SITE_CA_YEARS, problem);
}

static int site_init_https_trust(const struct site_act *act, const struct site_init_https *https,
				 struct problem *problem)
{
	char certificate[PATH_MAX];
	char bundle[PATH_MAX];

	if (!site_act_path(act, SITE_TLS_CA, bundle) ||
	    !text_format(certificate, sizeof(certificate), "%s/ca.crt", https->ca))
		return problem_set(problem, -ENAMETOOLONG, "the path of keys is too long");
	return site_ca_trust(bundle, certificate, problem);
}

/* Moves a file of the folder of keys to its place on the machine. */
static int site_init_https_put(const struct site_act *act, const struct site_init_https *https,
			       const char *ending, const char *path, mode_t mode,
			       struct problem *problem)
{
	CLEANUP(freep) char *text = NULL;
	char from[PATH_MAX];
	char to[PATH_MAX];
	size_t size = 0;
	int rc;

	if (!text_format(from, sizeof(from), "%s/%s.%s", https->keys, https->name, ending) ||
	    !site_act_path(act, path, to))
		return problem_set(problem, -ENAMETOOLONG, "the path of keys is too long");
	rc = file_read(from, SITE_INIT_HTTPS_FILE, &text, &size);
	if (rc == 0)
		rc = file_write_atomic(to, text, size, mode);
	if (text)
		explicit_bzero(text, size);
	if (rc == 0)
		(void)unlink(from);
	return rc ? problem_set(problem, rc, "cannot write %s: %s", path, error_text(rc)) : 0;
}

static int site_init_https_make(const struct site_act *act, struct site_init_https *https,
				struct problem *problem)
{
	struct site_ca_request request = {.ca = https->ca,
					  .name = https->name,
					  .role = SITE_CA_CONTROLLER,
					  .addresses = https->own.words,
					  .shared = https->shared.words,
					  .days = SITE_CA_DAYS,
					  .out = https->keys};
	char folder[PATH_MAX];
	int rc = site_init_https_create(act, https, problem);

	if (rc == 0)
		rc = site_init_https_trust(act, https, problem);
	if (rc == 0)
		rc = site_ca_issue(&request, problem);
	if (rc)
		return rc;
	if (!site_act_path(act, SITE_TLS_KEY, folder))
		return problem_set(problem, -ENAMETOOLONG, "the path of keys is too long");
	*strrchr(folder, '/') = '\0';
	rc = file_make_folder(folder, 0700);
	if (rc)
		return problem_set(problem, rc, "cannot make %s: %s", folder, error_text(rc));
	rc = site_init_https_put(act, https, "key", SITE_TLS_KEY, 0600, problem);
	/* The certificate last: it says that all is there. */
	return rc ? rc
		  : site_init_https_put(act, https, "crt", SITE_TLS_CERTIFICATE, 0644, problem);
}

bool site_act_https(struct site_act *act)
{
	static const char done[] = "certificate made; move the folder ca off this machine";
	struct site_init_https https = {0};
	struct problem problem = {0};
	char tls[PATH_MAX];
	int rc;

	if (act->plan->https == SITE_HTTPS_OFF)
		return site_act_say(act, "https", SITE_ACT_ALREADY,
				    "it is off: nodes boot by plain HTTP", "");
	if (site_act_there(act, SITE_TLS_CERTIFICATE) && site_act_there(act, SITE_TLS_KEY))
		return site_act_say(act, "https", SITE_ACT_ALREADY, "the certificate is there", "");
	if (act->dry_run)
		return site_act_end(act, "https", done);
	if (!text_format(https.keys, sizeof(https.keys), "%s%s", act->root, act->plan->keys) ||
	    !text_format(https.ca, sizeof(https.ca), "%s/ca", https.keys) ||
	    !site_act_path(act, "/etc/haas/tls", tls))
		rc = problem_set(&problem, -ENAMETOOLONG, "the path of keys is too long");
	else
		rc = file_make_folder(https.keys, 0700);
	if (rc == 0)
		rc = file_make_folder(tls, 0755);
	process_host_name(https.name, sizeof(https.name));
	https.name[strcspn(https.name, ".")] = '\0';
	site_init_https_addresses(act->plan, &https);
	if (rc == 0)
		rc = site_init_https_make(act, &https, &problem);
	else if (!problem_is_set(&problem))
		(void)problem_set(&problem, rc, "cannot make a folder: %s", error_text(rc));
	return rc ? site_act_fail(act, "https", &problem) : site_act_end(act, "https", done);
}
