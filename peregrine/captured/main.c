#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "peregrine/captured/captured.h"

int main(int argc, char **argv)
{
	return daemon_main(&captured_daemon, argc, argv);
}
