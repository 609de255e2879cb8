#include "portal/cli/site_ca.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
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

/* --- create --- */

int site_ca_create(const char *folder, const char *site, int years, struct problem *problem)
{
	const struct site_ca_subject subject = {.site = site, .name = "haas site CA"};
	CLEANUP(site_ca_pkey_freep) EVP_PKEY *key = NULL;
	CLEANUP(site_ca_x509_freep) X509 *certificate = NULL;
	char key_path[PATH_MAX];
	char path[PATH_MAX];
	int rc = site_ca_check_name("site", site, problem);

	if (rc == 0)
		rc = site_ca_path(key_path, folder, "ca", ".key", problem);
	if (rc == 0)
		rc = site_ca_path(path, folder, "issued", "", problem);
	if (rc)
		return rc;
	rc = file_make_folder(path, 0700);
	if (rc)
		return site_ca_cannot("make the folder", path, rc, problem);
	rc = site_ca_key(SITE_CA_BITS, &key);
	if (rc == 0)
		rc = site_ca_sign(&subject, key, NULL, NULL, years * 365, &certificate);
	if (rc)
		return problem_set(problem, rc, "the certificate of the CA cannot be made");
	rc = site_ca_write_key(key_path, key, false, problem);
	if (rc == 0)
		rc = site_ca_path(path, folder, "ca", ".crt", problem);
	return rc ? rc : site_ca_write_one(path, certificate, problem);
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
	(void)X509_NAME_get_text_by_NID(X509_get_subject_name(ret->certificate),
					NID_organizationName, ret->site, sizeof(ret->site));
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
	for (const char *const *each = request->addresses; *each; each++) {
		if (site_ca_days_left(certificate) < 0 ||
		    X509_check_ip_asc(certificate, *each, 0) != 1)
			continue;
		(void)problem_set(problem, E_CONFLICT, "%s is the address of %s already", *each,
				  other);
		problem_hint(problem,
			     "each site has a CA of its own; of a machine that is gone remove %s",
			     path);
		return E_CONFLICT;
	}
	return 0;
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
		if (rc == 0 && strcmp(entry->d_name, request->name) != 0)
			rc = site_ca_compare(request, path, entry->d_name, problem);
	}
	(void)closedir(open);
	return rc;
}

/* A certificate is renewed for the same key, so that a reload is enough to use it. */
static int site_ca_own_key(const struct site_ca_request *request, EVP_PKEY **ret,
			   struct problem *problem)
{
	char path[PATH_MAX];
	int rc = site_ca_path(path, request->out, request->name, ".key", problem);

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
						.addresses = request->addresses};
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
		rc = site_ca_path(path, request->out, request->name, ".crt", problem);
	/* The CA remembers it first: what it has signed it must know of. */
	if (rc == 0)
		rc = site_ca_write_one(kept, certificate, problem);
	return rc ? rc : site_ca_write_one(path, certificate, problem);
}

int site_ca_issue(const struct site_ca_request *request, struct problem *problem)
{
	CLEANUP(site_ca_done) struct site_ca ca = {0};
	int rc = site_ca_check_name(site_ca_roles[request->role], request->name, problem);

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
