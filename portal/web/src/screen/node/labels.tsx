// Health labels with what they hold back; an operator adds, acknowledges, silences and clears them.
import {signal} from "@preact/signals";
import {write} from "../../api/client";
import type {Held} from "../../api/source";
import {nodeHealth} from "../../api/sources";
import type {Effect, Label, LabelRequest, NodeHealth, Severity} from "../../api/types";
import {may} from "../../app/session";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {Mark, shapeOf} from "../../part/mark";
import {since, when} from "../../part/time";

const EFFECTS: Record<Effect, string> = {no_allocation: "is given to nobody", no_automation: "no step goes on by itself"};
const FOR: [string, number][] = [["1h", 3600], ["8h", 28800], ["1d", 86400], ["7d", 604800]];

interface Form {
  label: string;
  severity: Severity;
  effects: Effect[];
  /** A key of FOR; empty: without an end. */
  until: string;
}

const form = signal<Form>({label: "", severity: "warning", effects: [], until: ""});
const put = (change: Partial<Form>) => (form.value = {...form.value, ...change});

function Until({needed}: {needed: boolean}) {
  return (
    <div class="field">
      <label for="label-until">For</label>
      <select id="label-until" value={form.value.until} onChange={(event) => put({until: event.currentTarget.value})}>
        {!needed && <option value="">without an end</option>}
        {FOR.map(([word]) => <option key={word} value={word}>{word}</option>)}
      </select>
    </div>
  );
}

function Fields() {
  return (
    <>
      <div class="field">
        <label for="label-word">Label, like hands_off</label>
        <input id="label-word" required pattern="[a-z][a-z0-9_]*" maxLength={48} autocomplete="off" value={form.value.label} onInput={(event) => put({label: event.currentTarget.value})} />
      </div>
      <div class="field">
        <label for="label-severity">Severity</label>
        <select id="label-severity" value={form.value.severity} onChange={(event) => put({severity: event.currentTarget.value as Severity})}>
          {(["info", "warning", "critical"] as const).map((word) => <option key={word} value={word}>{word}</option>)}
        </select>
      </div>
      <fieldset class="field">
        <legend>Effects</legend>
        {(Object.keys(EFFECTS) as Effect[]).map((effect) => (
          <label key={effect} class="check">
            <input
              type="checkbox" checked={form.value.effects.includes(effect)}
              onChange={(event) => put({effects: event.currentTarget.checked ? [...form.value.effects, effect] : form.value.effects.filter((one) => one !== effect)})}
            />
            {effect}: {EFFECTS[effect]}
          </label>
        ))}
      </fieldset>
      <Until needed={false} />
    </>
  );
}

type Action = LabelRequest["action"];

const SAYS: Record<Action, string> = {
  add: "", acknowledge: "Somebody knows; it changes nothing else.", silence: "Its effects are suspended; it stays to be seen.",
  clear: "A rule sets it again when its cause goes on.",
};
const TITLES: Record<Action, string> = {add: "Add a label", acknowledge: "Acknowledge", silence: "Silence", clear: "Clear"};

function ask(action: Action, node: string, label?: Label): Ask {
  form.value = {label: label?.label ?? "", severity: "warning", effects: [], until: action === "silence" ? "8h" : ""};
  const added = action === "add";
  const seconds = () => FOR.find(([word]) => word === form.value.until)?.[1];
  return {
    title: label ? `${TITLES[action]} ${label.label}` : TITLES[action], noun: "node", names: [node], button: TITLES[action], reason: "required",
    children: <>{SAYS[action] && <p>{SAYS[action]}</p>}{added ? <Fields /> : action !== "clear" && <Until needed={action === "silence"} />}</>,
    line: (why) => [
      `haasctl health ${action} ${quote(form.value.label || "LABEL")} ${quote(node)} --reason ${quote(why || "...")}`,
      ...(added ? [`--severity ${form.value.severity}`, ...form.value.effects.map((one) => `--effect ${one}`)] : []),
      ...(form.value.until ? [`--for ${form.value.until}`] : []),
    ].join(" "),
    act: async (why) => {
      const {label: word, severity, effects} = form.value;
      const for_s = seconds();
      await write("POST /api/v1/labels/actions", {body: {nodes: [node], action, label: word, reason: why, ...(added ? {severity, effects} : {}), ...(for_s ? {for_s} : {})}});
      void nodeHealth(node).reload();
    },
  };
}

function One({one, node, open}: {one: Label; node: string; open: (ask: Ask) => void}) {
  const actions: Action[] = [...(one.acknowledged ? [] : ["acknowledge" as const]), ...(one.silenced || one.effects.length === 0 ? [] : ["silence" as const]), "clear"];
  return (
    <li>
      <Mark shape={shapeOf.severity(one.severity)}>{one.label}</Mark>
      <span class="grow">
        {one.reason}<span class="quiet"> {one.hint}</span>
        <span class="block small">
          <b>{one.effective.map((effect) => EFFECTS[effect]).join(", ") || "no effect now"}</b>
          <span class="quiet">
            {one.effective.length < one.effects.length && `, suspended: ${one.effects.filter((effect) => !one.effective.includes(effect)).map((effect) => EFFECTS[effect]).join(", ")}`}
            , for {since(one.raised_at)}{one.source === "operator" && `, said by ${one.actor.replace(/^account /, "")}`}{one.expires_at && `, until ${when(one.expires_at)}`}
            {one.acknowledged && `; ${one.acknowledged.actor.replace(/^account /, "")} knows: ${one.acknowledged.reason}`}
            {one.silenced && `; silenced by ${one.silenced.actor.replace(/^account /, "")}${one.silenced.until ? ` until ${when(one.silenced.until)}` : ""}: ${one.silenced.reason}`}
          </span>
        </span>
      </span>
      {may("label") && <span class="tight">{actions.map((action) => <button key={action} type="button" class="button" onClick={() => open(ask(action, node, one))}>{TITLES[action]}</button>)}</span>}
    </li>
  );
}

export function Labels({held, name, open}: {held: Held<NodeHealth>; name: string; open: (ask: Ask) => void}) {
  if (!held.value || (held.value.labels.length === 0 && !may("label"))) return null;
  return (
    <section class="panel flush" aria-label={`Labels of ${name}`}>
      <header><h2>Labels</h2>{may("label") && <button type="button" class="button" onClick={() => open(ask("add", name))}>Add a label</button>}</header>
      {held.value.labels.length === 0 ? <p class="quiet small pad">No rule and nobody says anything of its health.</p> : (
        <ul class="lines">{held.value.labels.map((one) => <One key={`${one.label} ${one.source}`} one={one} node={name} open={open} />)}</ul>
      )}
    </section>
  );
}
