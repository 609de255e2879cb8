// The plan of cables from a sheet: added to what is planned, or in its place.
import {useRef, useState} from "preact/hooks";
import {readVersion, Refusal, write} from "../../api/client";
import {quote} from "../../part/command";
import {Import as Form} from "../../part/import";
import {cellsOf} from "../../part/sheet";
import {count} from "../../part/time";
import {cabling} from "./sources";

const COLUMNS = ["switch", "port", "node", "nic", "peer_switch", "peer_port"];
const EXAMPLE = "switch,port,node,nic,peer_switch,peer_port\nleaf1,Ethernet1/7,gpu-0007,eth0,,\nleaf1,Ethernet1/49,,,spine1,Ethernet1/1\n";

/** As haasctl reads it: a row of the body has the number of its line. */
function rowsOf(text: string) {
  const [head = [], ...lines] = cellsOf(text).map((cells) => cells.map((cell) => cell.trim()));
  const wrong = head.filter((name) => !COLUMNS.includes(name));
  if (wrong.length) throw new Refusal(422, {title: "there are columns of other names", errors: wrong.map((column) => ({row: 1, column, message: "is no column", allowed: COLUMNS.join(", ")}))});
  return lines.flatMap((cells, at) => {
    if (cells.every((cell) => cell === "")) return [];
    const told = Object.fromEntries(head.flatMap((name, place) => (cells[place] ? [[name, cells[place]]] : [])));
    return [{row: at + 2, switch: "", port: "", ...told}];
  });
}

export function ImportCables({close}: {close: () => void}) {
  const [replace, setReplace] = useState(false);
  const [stale, setStale] = useState(false);
  const [tries, setTries] = useState(0);
  const version = useRef(0); // of the plan that the sheet was tried against
  const send = async (text: string, dry_run: boolean) => {
    if (dry_run) ({version: version.current} = await readVersion("/api/v1/wiring/plan", {}));
    const {rows} = await write("PUT /api/v1/wiring", {body: {rows: rowsOf(text), dry_run, ...(replace ? {replace} : {})}, version: version.current}).catch((error: unknown) => {
      setStale(error instanceof Refusal && error.status === 412);
      throw error;
    });
    return {told: `${count(rows)} ${rows === 1 ? "cable" : "cables"} would be planned${replace ? ", all others dropped from the plan" : ""}`};
  };
  return (
    <Form title="Import planned cables" file="cables.csv" example={EXAMPLE} send={send} written={() => void cabling().reload()} how={`${replace} ${tries}`} line={(file) => `haasctl wiring import ${quote(file)}${replace ? " --replace" : ""}`} close={close}>
      <label class="check"><input type="checkbox" checked={replace} onChange={() => setReplace(!replace)} />In place of the whole plan</label>
      {stale && <button type="button" class="button" onClick={() => (setStale(false), setTries(tries + 1))}>Try it against the plan of now</button>}
    </Form>
  );
}
