#include "bampi/agent/power.h"

#include <errno.h>
#include <sys/reboot.h>

int power_off_run(struct task *task, struct text *data, struct problem *problem)
{
	(void)problem;
	task_say(task, 0, 0, "powering off");
	text_add(data, "{}");
	return 0;
}

int power_off_now(void)
{
	return reboot(RB_POWER_OFF) < 0 ? -errno : 0;
}
