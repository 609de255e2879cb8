// Nodes from a sheet.
import {sendTable} from "../../api/client";
import {nodes as nodesSource} from "../../api/sources";
import {quote} from "../../part/command";
import {Import as Form} from "../../part/import";
import {count} from "../../part/time";

const EXAMPLE = "name,class,rack,unit,nic,mac,bmc_driver,bmc_address,bmc_username,bmc_password\ngpu-0001,gpu8,r01,1,eth0,52:54:00:00:00:01,redfish,10.1.0.1,admin,secret\n";

async function send(text: string, dryRun: boolean) {
  const {created, updated, rows} = await sendTable("POST /api/v1/nodes/import", dryRun ? {dry_run: true} : {}, text);
  return {told: `${count(created)} would be new, ${count(updated)} changed`, does: new Map(rows.map((one) => [one.row, one.result]))};
}

export function Import({close}: {close: () => void}) {
  return <Form title="Import nodes" file="nodes.csv" example={EXAMPLE} send={send} written={() => void nodesSource().reload()} line={(file) => `haasctl node import ${quote(file)}`} close={close} />;
}
