#include "portal/cli/site_ca.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#define SITE_CA_BITS     3072
#define SITE_CA_OWN_BITS 2048
#define SITE_CA_NAME_MAX 63

/* --- files --- */

static void site_ca_bio_freep(BIO **bio)
{
	BIO_free_all(*bio); /* wipes nothing, but the memory of a secure BIO is its own */
}
static void site_ca_pkey_freep(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}
static void site_ca_x509_freep(X509 **certificate)
{
	X509_free(*certificate);
}
static void site_ca_stack_freep(STACK_OF(X509) * *stack)
{
	sk_X509_pop_free(*stack, X509_free);
}

static int site_ca_cannot(const char *verb, const char *path, int rc, struct problem *problem)
{
	return problem_set(problem, rc, "cannot %s %s: %s", verb, path, error_text(rc));
}

static int site_ca_path(char ret[PATH_MAX], const char *folder, const char *name,
			const char *ending, struct problem *problem)
{
	return text_format(ret, PATH_MAX, "%s/%s%s", folder, name, ending)
		       ? 0
		       : problem_set(problem, -ENAMETOOLONG, "the path %s is too long", folder);
}

/* The key is on no disk before its file has the right mode. */
static int site_ca_write_key(const char *path, EVP_PKEY *key, bool replace, struct problem *problem)
{
	CLEANUP(site_ca_bio_freep) BIO *bio = BIO_new(BIO_s_secmem());
	char *text = NULL;
	long size;
	int rc;

	if (!bio || PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
		return problem_set(problem, -ENOMEM, "no memory for the key %s", path);
	size = BIO_get_mem_data(bio, &text);
	rc = replace ? file_write_atomic(path, text, (size_t)size, 0600)
		     : file_write_new(path, text, (size_t)size, 0600);
	OPENSSL_cleanse(text, (size_t)size);
	if (rc == -EEXIST) {
		(void)problem_set(problem, E_CONFLICT, "the key file %s is there already", path);
		problem_hint(problem, "a key is never overwritten; choose another folder");
		return E_CONFLICT;
	}
	return rc ? site_ca_cannot("write", path, rc, problem) : 0;
}

static int site_ca_write(const char *path, const STACK_OF(X509) * certificates,
			 struct problem *problem)
{
	CLEANUP(site_ca_bio_freep) BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL;
	long size;
	int rc;

	for (int i = 0; bio && i < sk_X509_num(certificates); i++) {
		if (PEM_write_bio_X509(bio, sk_X509_value(certificates, i)) != 1)
			return problem_set(problem, -ENOMEM, "no memory for %s", path);
	}
	if (!bio)
		return problem_set(problem, -ENOMEM, "no memory for %s", path);
	size = BIO_get_mem_data(bio, &text);
	rc = file_write_atomic(path, text, (size_t)size, 0644);
	return rc ? site_ca_cannot("write", path, rc, problem) : 0;
}

static int site_ca_write_one(const char *path, X509 *certificate, struct problem *problem)
{
	CLEANUP(site_ca_stack_freep) STACK_OF(X509) *stack = sk_X509_new_null();

	if (!stack || X509_up_ref(certificate) != 1)
		return problem_set(problem, -ENOMEM, "no memory for %s", path);
	(void)sk_X509_push(stack, certificate);
	return site_ca_write(path, stack, problem);
}

int site_ca_read(const char *path, STACK_OF(X509) * *ret, struct problem *problem)
{
	STACK_OF(X509) *stack = sk_X509_new_null();
	FILE *file = fopen(path, "re");
	X509 *certificate;
	int rc = file ? 0 : errno == ENOENT ? E_NOT_FOUND : -errno;

	while (stack && file && (certificate = PEM_read_X509(file, NULL, NULL, NULL)))
		(void)sk_X509_push(stack, certificate);
	if (file)
		(void)fclose(file);
	ERR_clear_error(); /* the end of the file is an error to OpenSSL */
	if (rc == 0 && sk_X509_num(stack) < 1)
		rc = E_MALFORMED;
	if (rc) {
		sk_X509_free(stack);
		(void)problem_set(problem, rc, "no certificate can be read from %s", path);
		problem_detail(problem, "%s",
			       rc == E_MALFORMED ? "it holds none in PEM" : error_text(rc));
		return rc;
	}
	*ret = stack;
	return 0;
}

static int site_ca_read_key(const char *path, EVP_PKEY **ret, struct problem *problem)
{
	FILE *file = fopen(path, "re");
	struct stat status;

	if (!file)
		return site_ca_cannot("read", path, errno == ENOENT ? E_NOT_FOUND : -errno,
				      problem);
	if (fstat(fileno(file), &status) != 0 || status.st_mode & (S_IRWXG | S_IRWXO)) {
		(void)fclose(file);
		(void)problem_set(problem, E_DENIED, "the key %s may be read by others", path);
		problem_hint(problem, "chmod 600 %s; if others had it, make a new one", path);
		return E_DENIED;
	}
	*ret = PEM_read_PrivateKey(file, NULL, NULL, NULL);
	(void)fclose(file);
	if (*ret)
		return 0;
	ERR_clear_error();
	return problem_set(problem, E_MALFORMED, "%s holds no private key", path);
}

/* --- what a certificate says --- */

int site_ca_days_left(const X509 *certificate)
{
	int seconds = 0;
	int days = 0;

	(void)ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(certificate));
	return days == 0 && seconds < 0 ? -1 : days;
}

const char *site_ca_fault(X509 *certificate, const STACK_OF(X509) * bundle)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *context = X509_STORE_CTX_new();
	const char *fault = "no memory";

	for (int i = 0; store && i < sk_X509_num(bundle); i++)
		(void)X509_STORE_add_cert(store, sk_X509_value(bundle, i));
	if (store && context && X509_STORE_CTX_init(context, store, certificate, NULL) == 1)
		fault = X509_verify_cert(context) == 1
				? NULL
				: X509_verify_cert_error_string(X509_STORE_CTX_get_error(context));
	X509_STORE_CTX_free(context);
	X509_STORE_free(store);
	ERR_clear_error();
	return fault;
}

bool site_ca_reach(const X509 *certificate, struct site_ca_reach *ret)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	int count = sk_GENERAL_NAME_num(all); /* -1: there are none */
	bool known = count <= SITE_CA_REACH_MAX;
	size_t addresses = 0;
	size_t names = 0;

	for (int i = 0; known && i < count; i++) {
		const GENERAL_NAME *each = sk_GENERAL_NAME_value(all, i);
		const bool is_name = each->type == GEN_DNS;
		const ASN1_STRING *bytes = is_name                   ? each->d.dNSName
					   : each->type == GEN_IPADD ? each->d.iPAddress
								     : NULL;
		const unsigned char *at = bytes ? ASN1_STRING_get0_data(bytes) : NULL;
		int size = bytes ? ASN1_STRING_length(bytes) : 0;

		if (is_name)
			known = text_format(ret->texts[i], sizeof(ret->texts[i]), "%.*s", size, at);
		else
			known = size == 4 && text_format(ret->texts[i], sizeof(ret->texts[i]),
							 "%u.%u.%u.%u", at[0], at[1], at[2], at[3]);
		if (is_name)
			ret->names[names++] = ret->texts[i];
		else
			ret->addresses[addresses++] = ret->texts[i];
	}
	GENERAL_NAMES_free(all);
	ret->addresses[addresses] = ret->names[names] = NULL;
	return known;
}

static bool site_ca_name_fits(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= SITE_CA_NAME_MAX && name[0] != '.' && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") ==
		       length;
}

static int site_ca_check_name(const char *what, const char *name, struct problem *problem)
{
	if (site_ca_name_fits(name))
		return 0;
	(void)problem_set(problem, E_INVALID, "\"%s\" is no name of a %s", name, what);
	problem_hint(problem, "letters, digits, \".\" and \"-\", at most %d", SITE_CA_NAME_MAX);
	return E_INVALID;
}

static int site_ca_check_host(const char *name, struct problem *problem)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
	size_t length = strlen(name);

	if (length > 0 && length <= 253 && strspn(name, letters) == length && !strstr(name, "..") &&
	    !strchr(".-", name[0]) && !strchr(".-", name[length - 1]))
		return 0;
	(void)problem_set(problem, E_INVALID, "\"%.100s\" is no name of a host", name);
	problem_hint(problem, "as people type it after https://, like haas.example");
	return E_INVALID;
}

/* --- create --- */

/* A key without its certificate was left by a command that was stopped between the two: it is used. */
static int site_ca_create_key(const char *folder, EVP_PKEY **ret, struct problem *problem)
{
	char certificate[PATH_MAX];
	char path[PATH_MAX];
	int rc = site_ca_path(path, folder, "ca", ".key", problem);

	if (rc == 0)
		rc = site_ca_path(certificate, folder, "ca", ".crt", problem);
	if (rc)
		return rc;
	if (access(certificate, F_OK) == 0) {
		(void)problem_set(problem, E_CONFLICT, "the CA %s is there already", certificate);
		problem_hint(problem, "a CA is never overwritten; choose another folder");
		return E_CONFLICT;
	}
	if (access(path, F_OK) == 0)
		return site_ca_read_key(path, ret, problem);
	rc = site_ca_key(SITE_CA_BITS, ret);
	return rc ? problem_set(problem, rc, "no key can be made")
		  : site_ca_write_key(path, *ret, false, problem);
}

int site_ca_check_unused(const char *folder, const STACK_OF(X509) * cas, struct problem *problem)
{
	CLEANUP(site_ca_pkey_freep) EVP_PKEY *key = NULL;
	char path[PATH_MAX];
	int rc = site_ca_path(path, folder, "ca", ".key", problem);

	if (rc == 0 && access(path, F_OK) != 0)
		return 0;
	if (rc == 0)
		rc = site_ca_read_key(path, &key, problem);
	for (int i = 0; rc == 0 && i < sk_X509_num(cas); i++) {
		if (X509_check_private_key(sk_X509_value(cas, i), key) != 1)
			continue;
		rc = problem_set(problem, E_CONFLICT, "%s is the key of a CA that is believed now",
				 path);
		problem_hint(
			problem,
			"bring its ca.crt back beside it; another CA goes into another folder");
	}
	ERR_clear_error(); /* a key that does not fit is an error to OpenSSL */
	return rc;
}

int site_ca_create(const char *folder, const char *site, int years, struct problem *problem)
{
	char name[SITE_CA_NAME_MAX + 1];
	const struct site_ca_subject subject = {.site = site, .name = name};
	CLEANUP(site_ca_pkey_freep) EVP_PKEY *key = NULL;
	CLEANUP(site_ca_x509_freep) X509 *certificate = NULL;
	char path[PATH_MAX];
	int rc = site_ca_check_name("site", site, problem);

	/* iPXE and OpenSSL look for an issuer by its name: two CAs of a site that are believed at
	 * once must not have the same. */
	(void)text_format(name, sizeof(name), "haas site CA %08x", randombytes_random());
	if (rc == 0)
		rc = site_ca_path(path, folder, "issued", "", problem);
	if (rc)
		return rc;
	rc = file_make_folder(path, 0700);
	if (rc)
		return site_ca_cannot("make the folder", path, rc, problem);
	rc = site_ca_create_key(folder, &key, problem);
	if (rc)
		return rc;
	rc = site_ca_sign(&subject, key, NULL, NULL, years * 365, &certificate);
	if (rc)
		return problem_set(problem, rc, "the certificate of the CA cannot be made");
	rc = site_ca_path(path, folder, "ca", ".crt", problem);
	return rc ? rc : site_ca_write_one(path, certificate, problem);
}

static void site_ca_site(const X509 *certificate, char ret[SITE_CA_NAME_MAX + 2])
{
	ret[0] = '\0';
	(void)X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_organizationName,
					ret, SITE_CA_NAME_MAX + 2);
}

int site_ca_of(const char *folder, const char *site, struct problem *problem)
{
	CLEANUP(site_ca_stack_freep) STACK_OF(X509) *all = NULL;
	char found[SITE_CA_NAME_MAX + 2];
	char path[PATH_MAX];
	int rc = site_ca_path(path, folder, "ca", ".crt", problem);

	if (rc == 0)
		rc = site_ca_read(path, &all, problem);
	if (rc)
		return rc;
	site_ca_site(sk_X509_value(all, 0), found);
	if (strcmp(found, site) == 0)
		return 0;
	(void)problem_set(problem, E_CONFLICT, "the CA in %s is of site \"%s\", not of \"%s\"",
			  folder, found, site);
	problem_hint(problem, "each site has a CA of its own: correct site, or another keys");
	return E_CONFLICT;
}

/* --- issue --- */

struct site_ca {
	X509 *certificate;
	EVP_PKEY *key;
	char site[SITE_CA_NAME_MAX + 2];
};

static void site_ca_done(struct site_ca *ca)
{
	X509_free(ca->certificate);
	EVP_PKEY_free(ca->key);
}

static int site_ca_load(const char *folder, struct site_ca *ret, struct problem *problem)
{
	CLEANUP(site_ca_stack_freep) STACK_OF(X509) *all = NULL;
	char path[PATH_MAX];
	int rc = site_ca_path(path, folder, "ca", ".crt", problem);

	if (rc == 0)
		rc = site_ca_read(path, &all, problem);
	if (rc == E_NOT_FOUND)
		problem_hint(problem,
			     "haasctl ca create %s --site NAME makes a CA, or give its folder",
			     folder);
	if (rc)
		return rc;
	ret->certificate = sk_X509_shift(all);
	rc = site_ca_path(path, folder, "ca", ".key", problem);
	if (rc == 0)
		rc = site_ca_read_key(path, &ret->key, problem);
	if (rc)
		return rc;
	if (X509_check_private_key(ret->certificate, ret->key) != 1)
		return problem_set(problem, E_CONFLICT, "%s is not the key of the ca.crt beside it",
				   path);
	site_ca_site(ret->certificate, ret->site);
	if (site_ca_days_left(ret->certificate) >= 0)
		return 0;
	(void)problem_set(problem, E_CONFLICT, "the CA in %s ended %d days ago", folder,
			  -site_ca_days_left(ret->certificate));
	problem_hint(problem,
		     "haasctl ca create makes another; ca trust has both believed for a while");
	return E_CONFLICT;
}

/* One CA for two sites, or one address given twice: then a node would take one for the other. */
static int site_ca_compare(const struct site_ca_request *request, const char *path,
			   const char *other, struct problem *problem)
{
	CLEANUP(site_ca_stack_freep) STACK_OF(X509) *all = NULL;
	struct problem unread = {0};
	X509 *certificate;

	if (site_ca_read(path, &all, &unread) != 0)
		return problem_set(problem, unread.code, "%s", unread.message);
	certificate = sk_X509_value(all, 0);
	for (const char *const *each = request->addresses; each && *each; each++) {
		if (site_ca_days_left(certificate) < 0 ||
		    X509_check_ip_asc(certificate, *each, 0) != 1)
			continue;
		(void)problem_set(problem, E_CONFLICT, "%s is the address of %s already", *each,
				  other);
		problem_hint(
			problem,
			"if both controllers have it: --shared-address\n"
			"        another site has another CA; of a machine that is gone remove\n"
			"        %s",
			path);
		return E_CONFLICT;
	}
	return 0;
}

/* Who renews a certificate would else take the name away from a holder of another role. */
static int site_ca_check_role(const struct site_ca_request *request, const char *path,
			      struct problem *problem)
{
	CLEANUP(site_ca_stack_freep) STACK_OF(X509) *all = NULL;
	const char *wanted = site_ca_roles[request->role];
	char role[64] = "";
	int rc = site_ca_read(path, &all, problem);

	if (rc)
		return rc;
	(void)X509_NAME_get_text_by_NID(X509_get_subject_name(sk_X509_value(all, 0)),
					NID_organizationalUnitName, role, sizeof(role));
	if (strcmp(role, wanted) == 0)
		return 0;
	(void)problem_set(problem, E_CONFLICT, "%s is the name of a %s already", request->name,
			  role);
	problem_hint(problem, "choose another name for the %s; if the %s is gone remove %s", wanted,
		     role, path);
	return E_CONFLICT;
}

static int site_ca_check_others(const struct site_ca_request *request, struct problem *problem)
{
	char folder[PATH_MAX];
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *open;
	int rc = site_ca_path(folder, request->ca, "issued", "", problem);

	if (rc)
		return rc;
	open = opendir(folder);
	if (!open)
		return site_ca_cannot("read", folder, -errno, problem);
	// NOLINTNEXTLINE(concurrency-mt-unsafe): a directory stream of our own
	while (rc == 0 && (entry = readdir(open))) {
		char *ending = strrchr(entry->d_name, '.');

		if (!ending || strcmp(ending, ".crt") != 0)
			continue;
		*ending = '\0';
		rc = site_ca_path(path, folder, entry->d_name, ".crt", problem);
		if (rc)
			break;
		rc = strcmp(entry->d_name, request->name) == 0
			     ? site_ca_check_role(request, path, problem)
			     : site_ca_compare(request, path, entry->d_name, problem);
	}
	(void)closedir(open);
	return rc;
}

/* A certificate is renewed for the same key, so that a reload is enough to use it. */
static int site_ca_own_key(const struct site_ca_request *request, EVP_PKEY **ret,
			   struct problem *problem)
{
	char path[PATH_MAX];
	int rc = request->key ? site_ca_path(path, "", request->key, "", problem)
			      : site_ca_path(path, request->out, request->name, ".key", problem);

	if (rc)
		return rc;
	if (!request->new_key && access(path, F_OK) == 0)
		return site_ca_read_key(path, ret, problem);
	rc = site_ca_key(SITE_CA_OWN_BITS, ret);
	if (rc)
		return problem_set(problem, rc, "no key can be made");
	return site_ca_write_key(path, *ret, request->new_key, problem);
}

static int site_ca_issue_with(const struct site_ca *ca, const struct site_ca_request *request,
			      struct problem *problem)
{
	const struct site_ca_subject subject = {.site = ca->site,
						.role = site_ca_roles[request->role],
						.name = request->name,
						.addresses = request->addresses,
						.shared = request->shared,
						.names = request->names};
	CLEANUP(site_ca_pkey_freep) EVP_PKEY *key = NULL;
	CLEANUP(site_ca_x509_freep) X509 *certificate = NULL;
	char kept[PATH_MAX];
	char path[PATH_MAX];
	char folder[PATH_MAX];
	int rc = site_ca_own_key(request, &key, problem);

	if (rc)
		return rc;
	rc = site_ca_sign(&subject, key, ca->certificate, ca->key, request->days, &certificate);
	if (rc) {
		ERR_clear_error();
		return problem_set(problem, rc, "no certificate can be made for %s", request->name);
	}
	rc = site_ca_path(folder, request->ca, "issued", "", problem);
	if (rc == 0)
		rc = site_ca_path(kept, folder, request->name, ".crt", problem);
	if (rc == 0)
		rc = request->certificate
			     ? site_ca_path(path, "", request->certificate, "", problem)
			     : site_ca_path(path, request->out, request->name, ".crt", problem);
	/* The CA remembers it first: what it has signed it must know of. */
	if (rc == 0)
		rc = site_ca_write_one(kept, certificate, problem);
	return rc ? rc : site_ca_write_one(path, certificate, problem);
}

int site_ca_issue(const struct site_ca_request *request, struct problem *problem)
{
	CLEANUP(site_ca_done) struct site_ca ca = {0};
	int rc = site_ca_check_name(site_ca_roles[request->role], request->name, problem);

	for (const char *const *each = request->names; rc == 0 && each && *each; each++)
		rc = site_ca_check_host(*each, problem);
	if (rc == 0)
		rc = site_ca_load(request->ca, &ca, problem);
	if (rc == 0)
		rc = site_ca_check_others(request, problem);
	return rc ? rc : site_ca_issue_with(&ca, request, problem);
}

/* --- trust --- */

static bool site_ca_holds(const STACK_OF(X509) * stack, const X509 *certificate)
{
	for (int i = 0; i < sk_X509_num(stack); i++) {
		if (X509_cmp(sk_X509_value(stack, i), certificate) == 0)
			return true;
	}
	return false;
}

/* Those of `from` that may be believed and are not there yet. */
static int site_ca_collect(STACK_OF(X509) * into, const STACK_OF(X509) * from,
			   struct problem *problem)
{
	for (int i = 0; i < sk_X509_num(from); i++) {
		X509 *certificate = sk_X509_value(from, i);

		if (site_ca_days_left(certificate) < 0 || site_ca_holds(into, certificate))
			continue;
		if (X509_up_ref(certificate) != 1 || sk_X509_push(into, certificate) < 1)
			return problem_set(problem, -ENOMEM, "no memory for certificates");
	}
	return 0;
}

int site_ca_trust(const char *bundle, const char *certificate, struct problem *problem)
{
	CLEANUP(site_ca_stack_freep) STACK_OF(X509) *added = NULL;
	CLEANUP(site_ca_stack_freep) STACK_OF(X509) *before = NULL;
	CLEANUP(site_ca_stack_freep) STACK_OF(X509) *whole = sk_X509_new_null();
	int rc = site_ca_read(certificate, &added, problem);

	if (rc)
		return rc;
	for (int i = 0; i < sk_X509_num(added); i++) {
		X509 *each = sk_X509_value(added, i);

		if (X509_check_ca(each) != 1)
			return problem_set(problem, E_INVALID, "%s is not the certificate of a CA",
					   certificate);
		if (site_ca_days_left(each) < 0)
			return problem_set(problem, E_CONFLICT, "the CA of %s ended %d days ago",
					   certificate, -site_ca_days_left(each));
	}
	if (access(bundle, F_OK) == 0)
		rc = site_ca_read(bundle, &before, problem);
	if (rc == 0 && !whole)
		rc = problem_set(problem, -ENOMEM, "no memory for certificates");
	if (rc == 0 && before)
		rc = site_ca_collect(whole, before, problem);
	if (rc == 0)
		rc = site_ca_collect(whole, added, problem);
	return rc ? rc : site_ca_write(bundle, whole, problem);
}

int site_ca_believe(const char *bundle, const STACK_OF(X509) * certificates,
		    struct problem *problem)
{
	return site_ca_write(bundle, certificates, problem);
}
