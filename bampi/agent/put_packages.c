#include "bampi/agent/put_packages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/log.h"

#include "bampi/agent/download.h"
#include "bampi/agent/os_mount.h"
#include "bampi/agent/rooted.h"

#define AGENT_PUT_PACKAGES_SUBJECT "package"
#define UNITS                      "/etc/systemd/system"
#define UNIT                       "haas-packages.service"

/* --- the OS --- */

static int agent_put_packages_cannot(struct problem *problem, const char *path, int rc)
{
	return problem_set(problem, rc, "%s in the image cannot be written: %s", path,
			   error_text(rc));
}

/* They are installed by a unit of systemd; where nobody would start it, that is told now. */
static int check_os(int root_fd, struct problem *problem)
{
	static const char *const programs[] = {"/lib/systemd/systemd", "/usr/lib/systemd/systemd"};

	for (size_t i = 0; i < COUNT_OF(programs); i++) {
		if (rooted_exists(root_fd, programs[i]))
			return 0;
	}
	(void)problem_set(problem, E_UNSUPPORTED,
			  "the image has no systemd, which installs the packages");
	problem_hint(problem, "choose an image with systemd, or ask without packages");
	return problem->code;
}

int put_packages_folder(int root_fd, struct problem *problem)
{
	int rc = check_os(root_fd, problem);

	if (rc)
		return rc;
	rc = rooted_make_folder(root_fd, PACKAGE_DIR, 0700);
	return rc ? agent_put_packages_cannot(problem, PACKAGE_DIR, rc) : 0;
}

/* The list comes last: without it nothing is installed. */
int put_packages_files(int root_fd, const struct package_list *list, struct problem *problem)
{
	CLEANUP(text_done) struct text lines = {0};
	const struct {
		const char *path, *content;
		mode_t mode;
	} files[] = {
		{PACKAGE_DIR "/install", package_installer_text, 0700},
		{UNITS "/" UNIT, package_unit_text, 0644},
		{PACKAGE_DIR "/list", NULL, 0600},
	};
	int rc = rooted_make_folder(root_fd, UNITS "/multi-user.target.wants", 0755);

	package_list_text(list, &lines);
	if (rc == 0 && lines.failed)
		rc = -ENOMEM;
	if (rc == 0)
		rc = rooted_link(root_fd, UNITS "/multi-user.target.wants/" UNIT, "../" UNIT);
	if (rc)
		return agent_put_packages_cannot(problem, UNITS, rc);
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		const char *content = files[i].content ? files[i].content : text_get(&lines);

		rc = rooted_write(root_fd, files[i].path, content, strlen(content), files[i].mode);
		if (rc)
			return agent_put_packages_cannot(problem, files[i].path, rc);
	}
	return 0;
}

static int agent_put_packages_flush(int root_fd, struct problem *problem)
{
	CLEANUP(closep) int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || syncfs(fd) < 0
		       ? problem_set(problem, -errno, "the root partition cannot be flushed: %s",
				     error_text(-errno))
		       : 0;
}

/* --- fetching --- */

struct agent_put_packages_fetch {
	struct task *task;
	const struct package_list *list;
	const struct package_file *package;
	struct package_sink *sink;
	uint64_t before; /* of the packages before this one */
	uint64_t came;
};

static int agent_put_packages_take_bytes(void *context, const void *data, size_t size,
					 struct problem *problem)
{
	struct agent_put_packages_fetch *fetch = context;
	int rc = package_sink_feed(fetch->sink, data, size, problem);

	fetch->came += size;
	task_say(fetch->task, (int64_t)(fetch->before + fetch->came),
		 (int64_t)fetch->list->size_bytes, "fetching package %s %s", fetch->package->name,
		 fetch->package->version);
	return rc;
}

static int fetch_one(struct agent_put_packages_fetch *fetch, int root_fd, uint64_t *room,
		     struct problem *problem)
{
	CLEANUP(package_sink_freep) struct package_sink *sink = NULL;
	const struct package_file *package = fetch->package;
	uint64_t bytes = 0;
	int rc = package_sink_new(root_fd, package, *room, &sink, problem);

	if (rc)
		return rc;
	fetch->sink = sink;
	fetch->came = 0;
	rc = download_run(fetch->task, package->url, package->size_bytes,
			  agent_put_packages_take_bytes, fetch, problem);
	if (!rc)
		rc = package_sink_finish(sink, &bytes, problem);
	if (rc)
		return rc;
	*room -= bytes < *room ? bytes : *room;
	log_info(AGENT_PUT_PACKAGES_SUBJECT, "%s %s is on the disk (file=%s bytes=%llu)",
		 package->name, package->version, package->file, (unsigned long long)bytes);
	return 0;
}

static int fetch_all(struct task *task, const struct package_list *list, int root_fd,
		     struct problem *problem)
{
	struct agent_put_packages_fetch fetch = {.task = task, .list = list};
	struct statvfs disk;
	uint64_t room;
	int rc = 0;

	if (fstatvfs(root_fd, &disk) < 0)
		return problem_set(problem, -errno,
				   "the free space of the root partition cannot be read: %s",
				   error_text(-errno));
	room = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (list->size_bytes > room) {
		(void)problem_set(problem, -ENOSPC, "the packages do not fit: %llu bytes",
				  (unsigned long long)list->size_bytes);
		problem_detail(problem, "there is room for %llu bytes on the root partition",
			       (unsigned long long)room);
		problem_hint(problem, "choose an image with a larger root partition");
		return problem->code;
	}
	for (size_t i = 0; rc == 0 && i < list->count; i++) {
		fetch.package = &list->packages[i];
		rc = fetch_one(&fetch, root_fd, &room, problem);
		fetch.before += list->packages[i].size_bytes;
	}
	return rc;
}

int put_packages_run(struct task *task, struct text *data, struct problem *problem)
{
	CLEANUP(freep) struct package_list *list = calloc(1, sizeof(*list));
	CLEANUP(closep) int root_fd = -1;
	char partition[SYSFS_PATH_SIZE];
	int rc;

	if (!list)
		return -ENOMEM;
	rc = package_list_read(task->params, list, problem);
	if (!rc)
		rc = os_partition_find(task, list->disk, list->root_partition, partition, problem);
	if (!rc)
		rc = os_mount(partition, &root_fd, problem);
	if (!rc)
		rc = put_packages_folder(root_fd, problem);
	if (!rc)
		rc = fetch_all(task, list, root_fd, problem);
	if (!rc && !task_wanted(task))
		rc = -ECANCELED;
	if (!rc)
		rc = put_packages_files(root_fd, list, problem);
	if (!rc)
		rc = agent_put_packages_flush(root_fd, problem);
	if (rc)
		return rc;
	json_begin_object(data, NULL);
	json_put_int(data, "packages", (int64_t)list->count);
	json_put_int(data, "bytes", (int64_t)list->size_bytes);
	json_end_object(data);
	return 0;
}
