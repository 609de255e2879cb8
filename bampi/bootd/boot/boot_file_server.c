#include "bampi/bootd/boot/boot_file_server.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/log.h"
#include "common/io/served_file.h"

#include "bampi/bootd/boot/boot_answer.h"
#include "bampi/bootd/boot/boot_client.h"
#include "bampi/bootd/boot/boot_range_wire.h"
#include "bampi/bootd/boot/script_table.h"

static const struct {
	const char *suffix, *type;
} content_types[] = {
	{".efi", "application/efi"}, /* EDK2's HTTP boot looks at it before the name */
	{".ipxe", "text/plain; charset=utf-8"},
};

static const struct {
	const char *name;
	enum observation_kind kind;
} observed_files[] = {
	{BOOT_KERNEL, OBSERVATION_KERNEL},
	{BOOT_RAMDISK, OBSERVATION_RAMDISK},
	{BOOT_IPXE, OBSERVATION_LOADER},
	{BOOT_SIGNED, OBSERVATION_LOADER},
};

static const char *content_type(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < COUNT_OF(content_types); i++) {
		size_t suffix = strlen(content_types[i].suffix);

		if (length > suffix && strcmp(name + length - suffix, content_types[i].suffix) == 0)
			return content_types[i].type;
	}
	return "application/octet-stream";
}

/* The bytes that an answer of this status holds: with 200 all of them, whatever was asked for. */
static struct boot_range part_of(const struct http_request *request, int status, uint64_t size)
{
	return boot_range_decode(status == 200 ? NULL : http_request_header(request, "Range"),
				 size);
}

bool boot_file_send(struct boot_counters *counters, struct http_request *request,
		    const char *folder, const char *name)
{
	CLEANUP(closep) int fd = -1;
	char clean[SERVED_NAME_MAX + 1];
	char path[32];
	uint64_t size;
	int rc = served_file_name(name, clean);

	if (!rc)
		rc = served_file_open(folder, clean, &fd, &size);
	if (rc) {
		if (rc != E_NOT_FOUND && rc != E_MALFORMED && rc != E_LIMIT)
			log_error("boot http", "file %s cannot be opened: %s", clean,
				  error_text(rc));
		boot_answer_not_found(request);
		return false;
	}
	/* The open descriptor is the confined one; http_answer_file opens the same file through it.
	 */
	(void)text_format(path, sizeof(path), "/proc/self/fd/%d", fd);
	http_answer_file(request, path, content_type(clean));
	if (http_request_method(request) == HTTP_GET)
		counters->bytes_offered += part_of(request, http_answer_status(request), size).size;
	return true;
}

/* What a relay sent from its cache, as it tells; at most the whole. */
static bool told_by_relay(const struct boot_options *options, const struct http_request *request,
			  uint64_t size, uint64_t *ret)
{
	const char *fetched = http_request_header(request, BOOT_FETCHED_FIELD);
	char *end = NULL;
	unsigned long long bytes;

	if (!fetched || fetched[0] < '0' || fetched[0] > '9' ||
	    !boot_client_is_relayed(options, request))
		return false;
	bytes = strtoull(fetched, &end, 10);
	*ret = bytes < size ? bytes : size;
	return *end == '\0';
}

/* A file whose fetching is evidence for a step. */
struct observed_file {
	enum observation_kind kind;
	const char *folder;
	const char *name;
};

static void boot_file_server_observe(const struct boot_options *options,
				     const struct http_request *request, int status,
				     const struct inventory_node *node,
				     const struct observed_file *file)
{
	CLEANUP(closep) int fd = -1;
	struct boot_range range;
	uint64_t size;
	uint64_t fetched = 0;

	if (!node || served_file_open(file->folder, file->name, &fd, &size))
		return;
	range = part_of(request, status, size);
	if (http_request_method(request) == HTTP_GET)
		fetched = range.first + range.size;
	else if (!told_by_relay(options, request, size, &fetched))
		return;
	observation_record(options->observations, node, file->kind, file->name, fetched);
}

void boot_file_observe(const struct boot_options *options, const struct contents *contents,
		       const struct http_request *request, int status)
{
	const char *route = http_request_route(request);
	const char *token = http_request_bearer(request);
	uint32_t client = boot_client_address(options, request);
	const char *name;

	if (!route || (status != 200 && status != 206))
		return;
	if (strcmp(route, BOOT_ROUTE_IMAGE) == 0 && token) {
		const char *digest = http_request_param(request, "digest");
		const char *folder = contents_folder(contents, digest);

		boot_file_server_observe(
			options, request, status, inventory_by_token(options->inventory, token),
			&(struct observed_file){.kind = OBSERVATION_IMAGE,
						.folder = folder ? folder : options->image_dir,
						.name = digest});
		return;
	}
	if (strcmp(route, BOOT_ROUTE_FILE) != 0)
		return;
	name = http_request_param(request, "name");
	for (size_t i = 0; i < COUNT_OF(observed_files); i++)
		if (strcmp(observed_files[i].name, name) == 0)
			boot_file_server_observe(
				options, request, status,
				inventory_by_address(options->inventory, client),
				&(struct observed_file){.kind = observed_files[i].kind,
							.folder = options->boot_dir,
							.name = name});
}
