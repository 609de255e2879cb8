// Cancel, retry and clear: of one deployment, of a lane, or of all that failed.
import {write} from "../../api/client";
import {deployments} from "../../api/sources";
import type {Deployment, DeploymentAction} from "../../api/types";
import {may} from "../../app/session";
import type {Ask} from "../../part/dialog";

interface Row {
  action: DeploymentAction["action"];
  title: string;
  says: string;
  destructive?: boolean;
  for: (one: Deployment) => boolean;
}

/** Deployments of one request, which is one transaction. */
const MANY = 1000;

export const isOpen = (one: Deployment) => one.ended_at === null && one.state !== "failed";

export const ROWS: Row[] = [
  {action: "retry", title: "Retry", says: "It goes on at the step that failed.", for: (one) => one.state === "failed"},
  {action: "clear", title: "Clear", says: "It is put aside; its node stays as it is.", for: (one) => one.state === "failed" || one.state === "cancelled"},
  {action: "cancel", title: "Cancel", says: "The node is powered off within a minute, and stays not erased.", destructive: true, for: (one) => isOpen(one) && one.state !== "cancelling"},
];

/** One transaction: a refusal of one is told with its node, and the others are done. */
export function act(row: Row, list: Deployment[]): Ask {
  return {
    title: list.length === 1 ? `${row.title} deployment ${list[0]?.id}` : `${row.title} ${list.length} deployments`,
    noun: "deployment", names: list.map((one) => one.node), button: row.title, destructive: row.destructive ?? false, reason: "kept",
    children: <p>{row.says}</p>,
    line: () => `haasctl deployment ${row.action} ${list.map((one) => one.id).join(" ")}`,
    act: async (why) => {
      const refused: {message: string; node: string}[] = [];
      for (let from = 0; from < list.length; from += MANY) {
        const body = {deployments: list.slice(from, from + MANY).map((one) => one.id), action: row.action};
        const answer = await write("POST /api/v1/deployments/actions", {body, why});
        for (const one of answer.deployments) if (one.refused !== null) refused.push({node: one.node, message: one.refused});
      }
      void deployments().reload();
      return refused;
    },
  };
}

/** Buttons for what these can all take together; `only` those of one word. */
export function DeploymentActions({list, ask}: {list: Deployment[]; ask: (ask: Ask) => void}) {
  if (!may("deployment")) return null;
  const rows = ROWS.map((row) => ({row, meant: list.filter(row.for)})).filter(({meant}) => meant.length > 0);
  if (rows.length === 0) return null;
  return (
    <div class="actions">
      {rows.map(({row, meant}) => (
        <button key={row.action} type="button" class={`button ${row.destructive ? "danger" : ""}`} onClick={() => ask(act(row, meant))}>
          {row.title}{meant.length > 1 ? ` ${meant.length}` : ""}{row.destructive && "…"}
        </button>
      ))}
    </div>
  );
}
