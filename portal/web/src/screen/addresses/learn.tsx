// From a relay's text to a rule: one says which port it is, portald proposes rules, and each says what it would read.
import {useState} from "preact/hooks";
import {Refusal, write} from "../../api/client";
import type {Circuit, CircuitMeaning, ProposalList} from "../../api/types";
import {may} from "../../app/session";
import {Command, quote} from "../../part/command";
import {Facts, Panel} from "../../part/panel";
import {Refused} from "../../part/screen";
import {when} from "../../part/time";
import {circuits, rules} from "./sources";

type Proposal = ProposalList["items"][number];

export function textOf(circuit: Circuit): string {
  return circuit.circuit_text ?? (circuit.circuit.match(/../g) ?? []).join(" ");
}

function Proposed({circuit, one, meant, done}: {circuit: Circuit; one: Proposal; meant: CircuitMeaning; done: () => void}) {
  const [refusal, setRefusal] = useState<Refusal>();
  const name = (meant.switch.toLowerCase().match(/[a-z0-9-]+/g) ?? ["rule"]).join("-").slice(0, 40);
  const accept = () =>
    write("PUT /api/v1/circuit-rules/{rule}", {place: {rule: name}, body: one.rule})
      .then(() => {
        void circuits().reload();
        void rules().reload();
        done();
      })
      .catch((error: Refusal) => setRefusal(error));
  return (
    <li class="note work">
      <p><b>{one.help}</b></p>
      <p>It reads {one.reads_count} of the unknown texts{one.reads.length > 0 && <>: <span class="mono">{one.reads.slice(0, 3).map((read) => `${read.switch}:${read.port}`).join(", ")}</span></>}.</p>
      {refusal && <Refused refusal={refusal} />}
      <div class="actions"><button type="button" class="button" onClick={() => void accept()}>Make this rule</button></div>
      <Command line={`haasctl circuit learn ${circuit.id} ${quote(meant.switch)} ${quote(meant.port)} --family ${one.rule.family ?? ""} --accept`} />
    </li>
  );
}

export function ChosenCircuit({circuit, done, forget}: {circuit: Circuit; done: () => void; forget: () => void}) {
  const [meant, setMeant] = useState<CircuitMeaning>({switch: "", port: ""});
  const [answer, setAnswer] = useState<Proposal[] | Refusal | "busy">();
  const ask = (event: Event) => {
    event.preventDefault();
    setAnswer("busy");
    write("POST /api/v1/circuits/{circuit}/proposals", {place: {circuit: circuit.id}, body: meant}).then((list) => setAnswer(list.items)).catch((error: Refusal) => setAnswer(error));
  };
  return (
    <Panel title={<span class="mono">{textOf(circuit)}</span>}>
      <Facts
        rows={[
          ["Relay", <span class="mono">{circuit.relay}</span>],
          ["Circuit", <span class="mono">{circuit.circuit}</span>],
          ["Remote", <span class="mono">{circuit.remote_text ?? circuit.remote}</span>],
          ["Last from", <span class="mono">{circuit.mac}</span>],
          ["Node", circuit.node],
          ["Seen", `${circuit.seen} times, last ${when(circuit.last_at)}`],
        ]}
      />
      {may("circuit") ? (
        <form class="stack" onSubmit={ask}>
          <p>Which port is it? From that a rule is made that reads all texts like it.</p>
          <div class="field"><label for="meant-switch">Switch</label><input id="meant-switch" required maxLength={63} value={meant.switch} onInput={(event) => setMeant({...meant, switch: event.currentTarget.value})} /></div>
          <div class="field"><label for="meant-port">Port</label><input id="meant-port" required maxLength={63} value={meant.port} onInput={(event) => setMeant({...meant, port: event.currentTarget.value})} /></div>
          <div class="actions"><button class="button main" disabled={answer === "busy" || !meant.switch || !meant.port}>Propose rules</button><button type="button" class="button danger" onClick={forget}>Forget…</button></div>
        </form>
      ) : <p class="quiet">An operator can make a rule from it.</p>}
      {answer instanceof Refusal && <Refused refusal={answer} />}
      {Array.isArray(answer) && (answer.length === 0 ? <p class="note wait">No rule that is known makes this port of it.</p>
        : <ul class="stack" aria-label="Proposals">{answer.map((one) => <Proposed key={one.help} circuit={circuit} one={one} meant={meant} done={done} />)}</ul>)}
      <Command line={`haasctl circuit learn ${circuit.id} SWITCH PORT`} />
    </Panel>
  );
}
