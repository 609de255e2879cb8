// A PDCI is asked for in steps; each is checked as it is typed. The draft stays in this browser until it is asked for or thrown away.
import {useEffect, useState} from "preact/hooks";
import {Refusal, write} from "../../api/client";
import {pdcis} from "../../api/sources";
import type {Pdci} from "../../api/types";
import {go, query, withWords} from "../../app/route";
import {isSite, may} from "../../app/session";
import {Command} from "../../part/command";
import {Mark} from "../../part/mark";
import {Facts} from "../../part/panel";
import {Empty, Refused} from "../../part/screen";
import {pdciHref} from "../pdcis/pdcis";
import {checked, lacks, useCheck, verdictOf, type Step} from "./check";
import {bodyOf, draft, forgetDraft, isEmpty, loadDraft, sheetOf} from "./draft";
import {lineOf} from "./line";
import {NetworksStep} from "./networks";
import {NodesStep} from "./nodes";
import {SoftwareStep} from "./software";
import {PlacesStep} from "./places";
import {SHAPES, VerdictPanel} from "./verdict";
import {VolumesStep} from "./volumes";

const STEPS: {name: Step; title: string; show: () => preact.JSX.Element}[] = [
  {name: "nodes", title: "Nodes", show: NodesStep},
  {name: "networks", title: "Networks", show: NetworksStep},
  {name: "volumes", title: "Volumes", show: VolumesStep},
  {name: "software", title: "Software", show: SoftwareStep},
  {name: "places", title: "Places", show: PlacesStep},
  {name: "review", title: "Review", show: ReviewStep},
];

const stepAt = () => Math.max(0, STEPS.findIndex((one) => one.name === query.value.get("step")));
const hrefOf = (at: number) => withWords({step: at === 0 ? undefined : STEPS[at]?.name});

function ReviewStep() {
  const one = draft.value;
  const total = one.groups.reduce((sum, group) => sum + (group.count || 0), 0);
  return (
    <section class="panel" aria-label="What is asked for">
      <Facts
        rows={[
          ["PDCI", one.name ? <span class="mono">{one.name}</span> : <span class="fail">it has no name yet</span>],
          ["Tenant", isSite.value ? one.tenant : null],
          ["Nodes", `${total}: ${one.groups.map((group) => `${group.count} of ${group.class || "any class"} with ${group.image || "no image yet"}`).join("; ")}`],
          ["Networks", one.networks.map((network) => `${network.name}${network.prefix ? ` (${network.prefix})` : ""}`).join(", ") || "none"],
          ["Volumes", one.volumes.map((volume) => `${volume.name || volume.archive}${volume.kind === "new" ? ` (${volume.size})` : ""}`).join(", ") || "none"],
          ["Packages", one.packages.join(", ") || "none"],
          ["SSH keys", one.keys.split("\n").filter((line) => line.trim()).length || "none: nobody logs in by SSH"],
          ["User data", one.user_data ? `${one.user_data.length} characters` : "none"],
          ["Places of their own", sheetOf(one).length || "none"],
          ["Placed", one.spread === "near" ? "near each other" : "over many racks"],
          ["A node that fails", one.spare === "none" ? "is replaced when I say so" : "is replaced by itself, once"],
        ]}
      />
    </section>
  );
}

function Steps({at}: {at: number}) {
  return (
    <nav class="steps" aria-label="Steps">
      <ol>
        {STEPS.map((one, i) => (
          <li key={one.name}>
            <a href={hrefOf(i)} aria-current={i === at ? "step" : undefined}><Mark shape={SHAPES[verdictOf(one.name)]}>{i + 1}. {one.title}</Mark></a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

function useCreate(): [busy: boolean, refusal: Refusal | undefined, create: () => Promise<void>] {
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const create = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      const made = (await write("POST /api/v1/pdcis", {body: bodyOf(draft.value, draft.value.name)})) as unknown as Pdci;
      forgetDraft();
      void pdcis(true).reload();
      go(pdciHref(made));
    } catch (error) {
      setRefusal(error as Refusal);
    }
    setBusy(false);
  };
  return [busy, refusal, create];
}

export function Wizard() {
  useState(loadDraft); // before the first field is drawn
  useEffect(() => {
    document.title = "New PDCI - HaaS";
  }, []);
  useCheck();
  const at = stepAt();
  const [busy, refusal, create] = useCreate();
  const last = at === STEPS.length - 1;
  const Here = STEPS[at]!.show;
  const {answer, of} = checked.value;
  const waits = answer && !answer.feasible;
  const ready = last && !busy && draft.value.name !== "" && !lacks(draft.value) && of === draft.value && !!answer && answer.volumes.every((one) => one.possible);
  if (!may("pdci")) return <div class="screen"><h1>New PDCI</h1><Empty title="This account asks for no PDCI" /></div>;
  const submit = (event: Event) => {
    event.preventDefault();
    if (!last) go(hrefOf(at + 1));
    else if (ready) void create();
  };
  return (
    <div class="screen">
      <header class="head">
        <div class="title"><h1>New PDCI</h1><span class="about"><a href="/pdcis">{isSite.value ? "PDCIs" : "My PDCIs"}</a></span></div>
        {!isEmpty(draft.value) && <div class="tools"><button type="button" class="button" onClick={forgetDraft}>Throw the draft away</button></div>}
      </header>
      <Steps at={at} />
      <form class="wizard" onSubmit={submit} noValidate>
        <div class="stack">
          <Here />
          {refusal && <Refused refusal={refusal} />}
          <div class="actions">
            {at > 0 && <a class="button" href={hrefOf(at - 1)}>Back</a>}
            {last ? <button class="button main" disabled={!ready}>{busy ? "Asked" : waits ? "Ask for it, and wait" : "Ask for it"}</button> : <button class="button main">Next: {STEPS[at + 1]?.title}</button>}
          </div>
        </div>
        <VerdictPanel />
      </form>
      <Command line={lineOf(draft.value)} />
      {sheetOf(draft.value).length > 0 && <Command line={`haasctl pdci sheet set ${draft.value.name || "NAME"} sheet.csv`} label="then" />}
    </div>
  );
}
