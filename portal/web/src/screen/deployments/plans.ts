// The steps of each plan, in their order: the columns of the wall. The rows are those of bampi/control/deploy/plan_table.c, which tests/lint/page compares.
import type {Plan} from "../../api/types";

export const PLANS: Record<Plan, string[]> = {
  inspect: ["detach", "stop", "isolate", "netboot", "agent", "inventory", "power_off", "park"],
  install: ["isolate", "netboot", "agent", "inventory", "write_image", "configure_os", "put_packages", "attach", "local_boot", "verify"],
  reinstall: ["detach", "stop", "isolate", "netboot", "agent", "inventory", "write_image", "configure_os", "put_packages", "attach", "local_boot", "verify"],
  release: ["detach", "stop", "isolate", "netboot", "agent", "scrub", "verify_scrubbed", "power_off", "free"],
};

/** What a node does while it is cancelled, whatever its plan was. */
export const CANCEL = ["power_off", "abandon"];
