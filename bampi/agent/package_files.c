#include "bampi/agent/package_files.h"

#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"

#define SIZE_LIMIT (INT64_C(1) << 40)

static const char *const package_files_kind_words[PACKAGE_KIND_COUNT + 1] = {
	[PACKAGE_DEB] = "deb",
	[PACKAGE_BUNDLE] = "bundle",
};

/* After a failure the others still come; at the next boot what is left is tried again. Names have
 * no underscore (package_list_read), so what is before the first one is the name. What failed is
 * told on the console with the callback's nonce, at its time and again at the end, then that it is
 * the end: bampid reads it there (step verify). */
const char package_installer_text[] =
	"#!/bin/sh\n"
	"# Installs the packages that this node was given, in the order of the list, each once.\n"
	"# Written when the node was installed; haas-packages.service runs it at boot.\n"
	"cd \"${0%/*}\" || exit 1\n"
	"failed=''\n"
	"url=''\n"
	"[ ! -s /etc/haas/callback ] || read -r url </etc/haas/callback\n"
	"say() {\n"
	"\techo \"haas-packages: $*\"\n"
	"}\n"
	"tell() {\n"
	"\t[ -z \"$url\" ] || printf '\\r\\n%s\\r\\n' \"haas-packages ${url##*/} $*\" 2>/dev/null >>/dev/console\n"
	"}\n"
	"install_bundle() {\n"
	"\thook=/usr/lib/haas/install/${1%%_*}\n"
	"\ttar -xpf \"$1\" -C / || return 1\n"
	"\t[ ! -x \"$hook\" ] || \"$hook\"\n"
	"}\n"
	"while read -r kind file; do\n"
	"\t[ -e \"$file\" ] || continue\n"
	"\tsay \"$file is being installed\"\n"
	"\tcase $kind in\n"
	"\tdeb) DEBIAN_FRONTEND=noninteractive dpkg --force-confdef --force-confold -i \"$file\" </dev/null ;;\n"
	"\tbundle) install_bundle \"$file\" </dev/null ;;\n"
	"\tesac\n"
	"\tstatus=$?\n"
	"\tif [ \"$status\" -eq 0 ]; then\n"
	"\t\trm -f \"$file\"\n"
	"\t\tsay \"$file is installed\"\n"
	"\telse\n"
	"\t\tsay \"$file could not be installed (status $status)\"\n"
	"\t\tfailed=\"$failed $file\"\n"
	"\t\ttell \"failed $file\"\n"
	"\tfi\n"
	"done <list\n"
	"for file in $failed; do\n"
	"\ttell \"failed $file\"\n"
	"done\n"
	"tell end\n"
	"[ -n \"$failed\" ] || rm -f list\n"
	"[ -z \"$failed\" ]\n";

/* Before the OS says that it is up, and before the tenant's own program. */
const char package_unit_text[] = "[Unit]\n"
				 "Description=Install the packages that this node was given\n"
				 "ConditionPathExists=" PACKAGE_DIR "/list\n"
				 "Before=haas-callback.service haas-user-data.service\n"
				 "\n"
				 "[Service]\n"
				 "Type=oneshot\n"
				 "ExecStart=/bin/sh " PACKAGE_DIR "/install\n"
				 "TimeoutStartSec=30min\n"
				 "StandardOutput=journal+console\n"
				 "\n"
				 "[Install]\n"
				 "WantedBy=multi-user.target\n";

/* It becomes a part of a file's name and of a line. */
static bool package_files_is_word(const char *text, const char *more)
{
	size_t size = strlen(text);

	if (size == 0 || size > 63 || strchr("._+-", text[0]))
		return false;
	for (size_t i = 0; i < size; i++) {
		char c = text[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      strchr(more, c)))
			return false;
	}
	return true;
}

static bool package_files_is_target(const char *target)
{
	static const char prefix[] = "/boot/image/";
	uint8_t digest[DIGEST_SIZE];

	return strncmp(target, prefix, strlen(prefix)) == 0 &&
	       hex_decode(target + strlen(prefix), digest, sizeof(digest)) == 0;
}

static int read_package(const json_t *object, size_t index, struct package_file *ret,
			struct problem *problem)
{
	struct json_reader reader = json_reader(object);
	const char *digest = json_get_string(&reader, "digest", true);
	const char *kind = json_get_string(&reader, "kind", true);
	int word;

	ret->name = json_get_string(&reader, "name", true);
	ret->version = json_get_string(&reader, "version", true);
	ret->url = json_get_string(&reader, "url", true);
	ret->size_bytes = (uint64_t)json_get_int(&reader, "size_bytes", 1, SIZE_LIMIT, 0, true);
	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	word = enum_value(package_files_kind_words, PACKAGE_KIND_COUNT, kind);
	if (word < 0 || !package_files_is_word(ret->name, ".-") ||
	    !package_files_is_word(ret->version, "._+-") || !package_files_is_target(ret->url) ||
	    hex_decode(digest, ret->digest, sizeof(ret->digest)) != 0)
		return problem_set(problem, E_MALFORMED,
				   "packages[%zu] has a wrong name, version, kind, digest or url",
				   index);
	ret->kind = (enum package_kind)word;
	(void)text_format(ret->file, sizeof(ret->file), "%s_%s.%s", ret->name, ret->version,
			  ret->kind == PACKAGE_DEB ? "deb" : "tar");
	return 0;
}

int package_list_read(const json_t *params, struct package_list *ret, struct problem *problem)
{
	struct json_reader reader = json_reader(params);
	const json_t *packages = json_object_get(params, "packages");
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	ret->disk = json_get_string(&reader, "disk", true);
	ret->root_partition = (uint32_t)json_get_int(&reader, "root_partition", 1, 128, 0, true);
	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	if (json_array_size(packages) == 0 || json_array_size(packages) > PACKAGE_LIMIT)
		return problem_set(problem, E_LIMIT, "packages has to list 1 to %d packages",
				   PACKAGE_LIMIT);
	for (size_t i = 0; rc == 0 && i < json_array_size(packages); i++) {
		rc = read_package(json_array_get(packages, i), i, &ret->packages[i], problem);
		for (size_t j = 0; rc == 0 && j < i; j++) {
			if (strcmp(ret->packages[j].file, ret->packages[i].file) == 0)
				rc = problem_set(problem, E_MALFORMED,
						 "packages[%zu] is there twice", i);
		}
		ret->size_bytes += ret->packages[i].size_bytes;
	}
	ret->count = json_array_size(packages);
	return rc;
}

void package_list_text(const struct package_list *list, struct text *ret)
{
	for (size_t i = 0; i < list->count; i++)
		text_addf(ret, "%s %s\n", package_files_kind_words[list->packages[i].kind],
			  list->packages[i].file);
}
