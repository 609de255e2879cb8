/* HTTPS of the boot chain: certificates, their keys, the CAs that are believed, iPXE that knows them. */
#include <errno.h>
#include <openssl/pem.h>
#include <string.h>

#include "common/base/text.h"

#include "portal/cli/site_ca.h"
#include "portal/cli/site_check.h"

#define SITE_CHECK_HTTPS_DAYS \
	90 /* of a CA: ramdisks and iPXE have to be made anew before it ends */

struct site_check_https {
	const char *program;
	enum site_package package;
	enum site_ca_role role;
};

static const struct site_check_https site_check_https_rows[] = {
	{"bampi-bootd", SITE_CONTROLLER, SITE_CA_CONTROLLER},
	{"bampi-relay", SITE_RELAY, SITE_CA_RELAY},
};

/* NULL, and told: it cannot be read. */
static STACK_OF(X509) * site_check_https_read(struct site_check *check, const char *path)
{
	STACK_OF(X509) *all = NULL;
	struct problem problem = {0};
	char whole[PATH_MAX];

	if (site_check_path(check, whole, "%s", path) && site_ca_read(whole, &all, &problem) != 0)
		site_check_wrong(check, path, "%s", problem.detail);
	return all;
}

static void site_check_https_key(struct site_check *check, const char *program, X509 *certificate)
{
	char path[PATH_MAX];
	char whole[PATH_MAX];
	EVP_PKEY *key = NULL;
	FILE *file;

	if (!text_format(path, sizeof(path), "/etc/haas/secret/%s/tls.key", program) ||
	    !site_check_path(check, whole, "%s", path))
		return;
	file = fopen(whole, "re");
	if (file) {
		key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
		(void)fclose(file);
	}
	if (!file)
		site_check_wrong(check, path, "the key of its certificate: %s", strerror(errno));
	else if (!key || X509_check_private_key(certificate, key) != 1)
		site_check_wrong(check, path, "it is not the key of the certificate");
	if (!key || X509_check_private_key(certificate, key) != 1)
		site_check_hint(check, "install -m 0600 NAME.key %s; systemctl restart %s", path,
				program);
	EVP_PKEY_free(key);
}

static void site_check_https_certificate(struct site_check *check,
					 const struct site_check_https *row, const char *path,
					 const STACK_OF(X509) * bundle)
{
	STACK_OF(X509) *all = site_check_https_read(check, path);
	X509 *certificate = all ? sk_X509_value(all, 0) : NULL;
	char role[64] = "";
	const char *fault;

	if (!certificate)
		return;
	fault = bundle ? site_ca_fault(certificate, bundle) : NULL;
	(void)X509_NAME_get_text_by_NID(X509_get_subject_name(certificate),
					NID_organizationalUnitName, role, sizeof(role));
	if (fault)
		site_check_wrong(check, path, "nodes refuse it: %s", fault);
	else if (strcmp(role, site_ca_roles[row->role]) != 0)
		site_check_wrong(check, path, "%s needs one of role %s, and this is \"%s\"",
				 row->program, site_ca_roles[row->role], role);
	site_check_https_key(check, row->program, certificate);
	sk_X509_pop_free(all, X509_free);
}

static void site_check_https_cas(struct site_check *check, const char *path,
				 const STACK_OF(X509) * bundle)
{
	for (int i = 0; i < sk_X509_num(bundle); i++) {
		int days = site_ca_days_left(sk_X509_value(bundle, i));

		if (days >= SITE_CHECK_HTTPS_DAYS)
			continue;
		if (days < 0)
			site_check_wrong(check, path, "CA %d in it ended %d days ago", i + 1,
					 -days);
		else
			site_check_wrong(check, path, "CA %d in it ends in %d days", i + 1, days);
		site_check_hint(check,
				"haasctl ca create makes another, ca trust %s adds it; then new "
				"boot files",
				path);
	}
}

/* Scripts come by HTTPS alone: then nodes need an iPXE that believes the CA that we show. */
static void site_check_https_ipxe(struct site_check *check, X509 *certificate)
{
	STACK_OF(X509) *known = NULL;
	struct problem problem = {0};
	char folder[PATH_MAX];
	char path[PATH_MAX];
	char shown[PATH_MAX];
	const char *fault;

	(void)site_check_setting(check, "bampi-bootd", "boot_dir", "/var/lib/haas/boot", folder);
	if (!text_format(shown, sizeof(shown), "%s/ipxe-ca.crt", folder) ||
	    !site_check_path(check, path, "%s", shown))
		return;
	fault = site_ca_read(path, &known, &problem) == 0 ? site_ca_fault(certificate, known)
							  : "it is not of ipxe/build";
	if (fault) {
		site_check_wrong(check, folder, "iPXE there refuses our certificate: %s", fault);
		site_check_hint(check, "/usr/lib/haas/bampi/bootd/ipxe/build --help; or tls.mode = "
				       "\"offered\"");
	}
	sk_X509_pop_free(known, X509_free);
}

/* True: it has a certificate. */
static bool site_check_https_program(struct site_check *check, const struct site_check_https *row)
{
	STACK_OF(X509) * bundle;
	STACK_OF(X509) *own = NULL;
	struct problem problem = {0};
	char certificate[PATH_MAX];
	char whole[PATH_MAX];
	char mode[PATH_MAX];
	char ca[PATH_MAX];

	(void)site_check_setting(check, row->program, "tls.certificate", "", certificate);
	(void)site_check_setting(check, row->program, "tls.ca", "/etc/haas/tls/ca.crt", ca);
	(void)site_check_setting(check, row->program, "tls.mode", "required", mode);
	if (!certificate[0])
		return false;
	bundle = site_check_https_read(check, ca);
	site_check_https_cas(check, ca, bundle);
	site_check_https_certificate(check, row, certificate, bundle);
	if (row->package == SITE_CONTROLLER && strcmp(mode, "required") == 0 &&
	    site_check_path(check, whole, "%s", certificate) &&
	    site_ca_read(whole, &own, &problem) == 0)
		site_check_https_ipxe(check, sk_X509_value(own, 0));
	sk_X509_pop_free(own, X509_free);
	sk_X509_pop_free(bundle, X509_free);
	return true;
}

void site_check_boot_https(struct site_check *check)
{
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(site_check_https_rows); i++) {
		const struct site_check_https *row = &site_check_https_rows[i];

		if (site_check_has(check, row->package))
			count += site_check_https_program(check, row);
	}
	if (count == 0)
		site_check_say(check, "not used: nodes boot by plain HTTP (docs/site.md, HTTPS)");
	else
		site_check_say(check, "%zu programs have a certificate", count);
}
