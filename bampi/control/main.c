#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "bampi/control/bampid.h"

int main(int argc, char **argv)
{
	return daemon_main(&bampid_daemon, argc, argv);
}
