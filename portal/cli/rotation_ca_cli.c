/* haasctl rotation ca, ca-end: the CA of the site is exchanged for another, without a node that refuses its controller. Each step looks at
 * the files whether it is done, so the command is run again after whatever stopped it. */
#include <errno.h>
#include <limits.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/json_text.h"
#include "common/io/run_program.h"

#include "portal/cli/haasctl.h"
#include "portal/cli/site_ca.h"
#include "portal/cli/site_change.h"

#define ROTATION_CA_RELOAD_MS 30000
#define ROTATION_CA_BOOT      "/var/lib/haas/boot"

/* Who shows a certificate to nodes, to a controller, to people. Each reads it again by a reload. */
static const struct {
	const char *program;
	enum site_ca_role role;
	bool of_any; /* it may be of a CA that is none of the site's, and stays then */
} rotation_ca_rows[] = {{"bampi-bootd", SITE_CA_CONTROLLER, false},
			{"bampi-relay", SITE_CA_RELAY, false},
			{"portald", SITE_CA_PORTAL, true}};

/* What nodes believe, recorded by the scripts that make it: the agent's ramdisk, our iPXE. */
static const struct {
	const char *record;
	const char *file; /* where it is, there is a record; NULL: Debian's iPXE knows no CA */
} rotation_ca_boot_files[] = {{ROTATION_CA_BOOT "/agent.img.ca.crt", ROTATION_CA_BOOT "/agent.img"},
			      {ROTATION_CA_BOOT "/ipxe-ca.crt", NULL}};

struct rotation_ca {
	const struct command_input *input;
	const char *folder; /* of the new CA */
	char root[PATH_MAX - 256];
	char bundle[PATH_MAX];
	STACK_OF(X509) * next; /* the certificate of the new CA */
	struct problem problem;
};

static void rotation_ca_stack_freep(STACK_OF(X509) * *stack)
{
	sk_X509_pop_free(*stack, X509_free);
}

static void rotation_ca_done(struct rotation_ca *rotation)
{
	sk_X509_pop_free(rotation->next, X509_free);
}

static int rotation_ca_open(struct rotation_ca *rotation, struct haasctl *haasctl,
			    const struct command_input *input)
{
	const char *root = command_option(input, "--root");

	rotation->input = input;
	rotation->folder = input->words[0];
	if (!text_copy(rotation->root, sizeof(rotation->root), root ? root : "") ||
	    !text_format(rotation->bundle, sizeof(rotation->bundle), "%s%s", rotation->root,
			 SITE_TLS_CA))
		return haasctl_cannot("use", root, -ENAMETOOLONG);
	return haasctl_use_here(haasctl, input);
}

static bool rotation_ca_certificate(const struct rotation_ca *rotation, size_t row,
				    char ret[PATH_MAX])
{
	return text_format(ret, PATH_MAX, "%s/etc/haas/tls/%s.crt", rotation->root,
			   rotation_ca_rows[row].program);
}

/* --- the new CA --- */

static int rotation_ca_read_next(struct rotation_ca *rotation)
{
	char path[PATH_MAX];

	if (!text_format(path, sizeof(path), "%s/ca.crt", rotation->folder))
		return problem_set(&rotation->problem, -ENAMETOOLONG, "the path %s is too long",
				   rotation->folder);
	return site_ca_read(path, &rotation->next, &rotation->problem);
}

/* Of the same site as the present one. */
static int rotation_ca_create(struct rotation_ca *rotation)
{
	CLEANUP(rotation_ca_stack_freep) STACK_OF(X509) *present = NULL;
	char certificate[PATH_MAX];
	char site[128] = "";
	int rc = site_ca_read(rotation->bundle, &present, &rotation->problem);

	if (rc)
		return rc;
	if (!text_format(certificate, sizeof(certificate), "%s/ca.crt", rotation->folder))
		return problem_set(&rotation->problem, -ENAMETOOLONG, "the path %s is too long",
				   rotation->folder);
	(void)X509_NAME_get_text_by_NID(X509_get_subject_name(sk_X509_value(present, 0)),
					NID_organizationName, site, sizeof(site));
	if (access(certificate, F_OK) != 0)
		rc = site_ca_check_unused(rotation->folder, present, &rotation->problem);
	if (rc == 0 && access(certificate, F_OK) != 0)
		rc = site_ca_create(rotation->folder, site, SITE_CA_YEARS, &rotation->problem);
	return rc ? rc : rotation_ca_read_next(rotation);
}

static bool rotation_ca_is_of(X509 *certificate, const STACK_OF(X509) * cas)
{
	return site_ca_fault(certificate, cas) == NULL;
}

/* False, and told: a boot file believes the old one alone, and would refuse the new certificate. */
static bool rotation_ca_boot_knows(const struct rotation_ca *rotation)
{
	bool knows = true;

	for (size_t i = 0; i < COUNT_OF(rotation_ca_boot_files); i++) {
		CLEANUP(rotation_ca_stack_freep) STACK_OF(X509) *known = NULL;
		struct problem problem = {0};
		const char *file = rotation_ca_boot_files[i].file;
		char path[PATH_MAX];
		char made[PATH_MAX];

		if (!text_format(path, sizeof(path), "%s%s", rotation->root,
				 rotation_ca_boot_files[i].record) ||
		    !text_format(made, sizeof(made), "%s%s", rotation->root, file ? file : "") ||
		    (access(path, F_OK) != 0 && (!file || access(made, F_OK) != 0)))
			continue;
		if (site_ca_read(path, &known, &problem) == 0 &&
		    rotation_ca_is_of(sk_X509_value(rotation->next, 0), known))
			continue;
		fprintf(stderr, "%s does not know the new CA yet\n", path);
		knows = false;
	}
	return knows;
}

/* --- certificates of this machine --- */

static void rotation_ca_reload(const char *program)
{
	const char *const argv[] = {"/usr/bin/systemctl", "reload", program, NULL};
	struct problem problem = {0};

	if (access("/run/systemd/system", F_OK) == 0 &&
	    run_program(&(struct run_program){.argv = argv, .deadline_ms = ROTATION_CA_RELOAD_MS},
			&problem) < 0)
		haasctl_problem(&problem);
}

/* Its certificate, if that is of a CA of the site; else *ret stays NULL. */
static int rotation_ca_read_own(struct rotation_ca *rotation, size_t row, STACK_OF(X509) * *ret)
{
	CLEANUP(rotation_ca_stack_freep) STACK_OF(X509) *own = NULL;
	CLEANUP(rotation_ca_stack_freep) STACK_OF(X509) *present = NULL;
	char path[PATH_MAX];
	int rc;

	if (!rotation_ca_certificate(rotation, row, path))
		return problem_set(&rotation->problem, -ENAMETOOLONG, "the path of %s is too long",
				   rotation_ca_rows[row].program);
	if (access(path, F_OK) != 0)
		return 0;
	rc = site_ca_read(path, &own, &rotation->problem);
	if (rc == 0 && rotation_ca_rows[row].of_any)
		rc = site_ca_read(rotation->bundle, &present, &rotation->problem);
	if (rc == 0 && (!present || rotation_ca_is_of(sk_X509_value(own, 0), present)))
		*ret = TAKE(own);
	return rc;
}

/* For the key that is there, so that a reload is enough. */
static int rotation_ca_issue_one(struct rotation_ca *rotation, size_t row)
{
	CLEANUP(rotation_ca_stack_freep) STACK_OF(X509) *own = NULL;
	const char *program = rotation_ca_rows[row].program;
	struct site_ca_reach reach;
	char certificate[PATH_MAX];
	char key[PATH_MAX];
	char name[128] = "";
	int rc = rotation_ca_read_own(rotation, row, &own);

	if (rc || !own || rotation_ca_is_of(sk_X509_value(own, 0), rotation->next))
		return rc;
	if (!rotation_ca_certificate(rotation, row, certificate) ||
	    !text_format(key, sizeof(key), "%s/etc/haas/secret/%s/tls.key", rotation->root,
			 program))
		return problem_set(&rotation->problem, -ENAMETOOLONG, "the path of %s is too long",
				   program);
	if (!site_ca_reach(sk_X509_value(own, 0), &reach))
		return problem_set(&rotation->problem, E_UNSUPPORTED,
				   "%s names more than ca issue can name again", certificate);
	(void)X509_NAME_get_text_by_NID(X509_get_subject_name(sk_X509_value(own, 0)),
					NID_commonName, name, sizeof(name));
	rc = site_ca_issue(&(struct site_ca_request){.ca = rotation->folder,
						     .name = name,
						     .role = rotation_ca_rows[row].role,
						     /* They were compared when it was made. */
						     .shared = reach.addresses,
						     .names = reach.names,
						     .days = SITE_CA_DAYS,
						     .key = key,
						     .certificate = certificate},
			   &rotation->problem);
	if (rc == 0)
		printf("%s has a certificate of the new CA\n", program);
	return rc;
}

static int rotation_ca_issue(struct rotation_ca *rotation)
{
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(rotation_ca_rows) && rc == 0; i++)
		rc = rotation_ca_issue_one(rotation, i);
	return rc;
}

static void rotation_ca_reload_all(const struct rotation_ca *rotation)
{
	char path[PATH_MAX];

	if (rotation->root[0])
		return;
	for (size_t i = 0; i < COUNT_OF(rotation_ca_rows); i++) {
		if (rotation_ca_certificate(rotation, i, path) && access(path, F_OK) == 0)
			rotation_ca_reload(rotation_ca_rows[i].program);
	}
}

/* --- the event --- */

/* On a relay there is no portald: the controller's event is enough. */
static void rotation_ca_tell(struct haasctl *haasctl, const struct rotation_ca *rotation,
			     const char *done)
{
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	unsigned char digest[EVP_MAX_MD_SIZE];
	char fingerprint[2 * EVP_MAX_MD_SIZE + 1];
	struct problem problem = {0};
	unsigned size = 0;

	if (rotation->root[0])
		return;
	(void)X509_digest(sk_X509_value(rotation->next, 0), EVP_sha256(), digest, &size);
	hex_encode(digest, size, fingerprint);
	json_begin_object(&body, NULL);
	json_put_string(&body, "step", done);
	json_put_string(&body, "fingerprint", fingerprint);
	json_end_object(&body);
	if (haasctl_call(haasctl, rotation->input,
			 &(struct haasctl_call){.method = "POST",
						.target = "/rotations/ca",
						.body = text_get(&body),
						.problem = &problem},
			 &reply) != EXIT_OK)
		fprintf(stderr, "haasctl: no event was written: %s\n", problem.message);
}

/* --- commands --- */

static int rotation_ca_begin(void *context, const struct command_input *input)
{
	CLEANUP(rotation_ca_done) struct rotation_ca rotation = {0};
	char certificate[PATH_MAX];
	int status = rotation_ca_open(&rotation, context, input);
	int rc;

	if (status != EXIT_OK)
		return status;
	rc = rotation_ca_create(&rotation);
	if (rc == 0 && !text_format(certificate, sizeof(certificate), "%s/ca.crt", rotation.folder))
		rc = problem_set(&rotation.problem, -ENAMETOOLONG, "the path is too long");
	if (rc == 0)
		rc = site_ca_trust(rotation.bundle, certificate, &rotation.problem);
	if (rc)
		return haasctl_told(&rotation.problem);
	rotation_ca_reload_all(&rotation);
	rotation_ca_tell(context, &rotation, "believed");
	haasctl_say_done(input, input->command->done, NULL, NULL);
	if (!rotation_ca_boot_knows(&rotation)) {
		fprintf(stderr,
			"Now: boot files with both (haasctl site init; ipxe/build); copy\n"
			"%s\n"
			"to each controller and relay. When running nodes have booted since, this\n"
			"again.\n",
			rotation.bundle);
		return EXIT_OK;
	}
	rc = rotation_ca_issue(&rotation);
	if (rc)
		return haasctl_told(&rotation.problem);
	rotation_ca_reload_all(&rotation);
	rotation_ca_tell(context, &rotation, "issued");
	fprintf(stderr,
		"Now: this on each controller and relay.\n"
		"Then: haasctl rotation ca-end %s\n",
		rotation.folder);
	return EXIT_OK;
}

/* The old one is believed as long as a certificate of this machine is of it. */
static int rotation_ca_end(void *context, const struct command_input *input)
{
	CLEANUP(rotation_ca_done) struct rotation_ca rotation = {0};
	int status = rotation_ca_open(&rotation, context, input);
	int rc;

	if (status != EXIT_OK)
		return status;
	rc = rotation_ca_read_next(&rotation);
	for (size_t i = 0; i < COUNT_OF(rotation_ca_rows) && rc == 0; i++) {
		CLEANUP(rotation_ca_stack_freep) STACK_OF(X509) *own = NULL;

		rc = rotation_ca_read_own(&rotation, i, &own);
		if (own && !rotation_ca_is_of(sk_X509_value(own, 0), rotation.next)) {
			rc = problem_set(&rotation.problem, E_CONFLICT,
					 "the certificate of %s is of the old CA",
					 rotation_ca_rows[i].program);
			problem_hint(&rotation.problem, "haasctl rotation ca %s makes one",
				     rotation.folder);
		}
	}
	if (rc == 0)
		rc = site_ca_believe(rotation.bundle, rotation.next, &rotation.problem);
	if (rc)
		return haasctl_told(&rotation.problem);
	rotation_ca_reload_all(&rotation);
	rotation_ca_tell(context, &rotation, "ended");
	haasctl_say_done(input, input->command->done, NULL, NULL);
	fprintf(stderr, "Now: boot files without the old one (haasctl site init; ipxe/build)\n");
	return EXIT_OK;
}

static const struct option_row rotation_ca_options[] = {
	{"--root", 0, OPTION_VALUE, "FOLDER", "a machine that is mounted there, not this one"},
};

static const struct command rotation_ca_commands[] = {
	{"rotation", "ca", "FOLDER", "a new CA of the site, made if FOLDER has none",
	 OPTIONS(rotation_ca_options), 1, 1, rotation_ca_begin,
	 .example = "rotation ca /media/key/ca2", .done = "the CA in {1} is believed, too"},
	{"rotation", "ca-end", "FOLDER", "only the CA in FOLDER is believed any more",
	 OPTIONS(rotation_ca_options), 1, 1, rotation_ca_end,
	 .example = "rotation ca-end /media/key/ca2", .done = "only the CA in {1} is believed"},
};
const struct command_group rotation_ca_group = {rotation_ca_commands,
						COUNT_OF(rotation_ca_commands)};
