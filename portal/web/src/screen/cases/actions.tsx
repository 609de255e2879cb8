// What one may do about a complaint.
import {signal} from "@preact/signals";
import {write} from "../../api/client";
import type {Case, CaseNote} from "../../api/types";
import {workedOn, workOn} from "../../app/case";
import {go} from "../../app/route";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";
import {readCasesAgain} from "./sources";

export const caseHref = (id: number) => `/cases/${id}`;

/** A person complained to an operator: its clock runs, and this tab writes what it looks at into it. */
export function openCase(of: {tenant?: string | undefined; alert?: number | undefined; text?: string; stay?: boolean}): Ask {
  const more = `${of.tenant ? ` --tenant ${of.tenant}` : ""}${of.alert ? ` --alert ${of.alert}` : ""}`;
  return {
    title: "Open a case", noun: "tenant", names: of.tenant ? [of.tenant] : [], button: "Open case", reason: "required", text: {label: "The complaint, in its own words", value: of.text ?? ""},
    children: <p>Its clock runs from now. What you look at in this tab is written into it, until it is closed or you leave it.</p>,
    line: (text) => `haasctl case open ${quote(text || "...")}${more}`,
    act: async (text) => {
      const made = await write("POST /api/v1/cases", {body: {text, ...(of.tenant ? {tenant: of.tenant} : {}), ...(of.alert ? {alert: of.alert} : {})}});
      workOn(made.id);
      await readCasesAgain(made.id);
      if (!of.stay) go(caseHref(made.id));
    },
  };
}

/** A tenant complains: the operators are told at once. */
export function complain(alert?: number): Ask {
  return {
    title: "Complain", noun: "tenant", names: [], button: "Complain", reason: "required", text: {label: "What is wrong, since when, and between which nodes"},
    children: <p>The operators are told at once, and a clock runs until they answer. You read here what they found.</p>,
    line: (text) => `haasctl case open ${quote(text || "...")}${alert ? ` --alert ${alert}` : ""}`,
    act: async (text) => {
      const made = await write("POST /api/v1/cases", {body: {text, ...(alert ? {alert} : {})}});
      await readCasesAgain(made.id);
      go(caseHref(made.id));
    },
  };
}

export async function note(id: number, kind: CaseNote["kind"], text: string) {
  await write("POST /api/v1/cases/{case}/entries", {place: {case: id}, body: {kind, text}});
  await readCasesAgain(id);
}

export function close(one: Case): Ask {
  const publish = signal(!!one.tenant);
  return {
    title: "Close the case", noun: "case", names: [`case ${one.id}${one.tenant ? ` of ${one.tenant}` : ""}`], button: "Close it", reason: "required", text: {label: "The answer, as the tenant reads it"},
    children: (
      <>
        <p>Its clock stops. Nothing is written into it any more.</p>
        {one.tenant && <label class="check"><input type="checkbox" checked={publish.value} onChange={(event) => (publish.value = event.currentTarget.checked)} />{one.tenant} may read the report: answer and findings, no notes, no other tenant's name</label>}
      </>
    ),
    line: (text) => `haasctl case close ${one.id} ${quote(text || "...")}${publish.value ? " --publish" : ""}`,
    act: async (text) => {
      await write("POST /api/v1/cases/{case}/close", {place: {case: one.id}, body: {answer: text, publish: publish.value}});
      if (workedOn.value === one.id) workOn(undefined);
      await readCasesAgain(one.id);
    },
  };
}

export function publish(one: Case): Ask {
  return {
    title: "Publish the report", noun: "tenant", names: [one.tenant ?? ""], button: "Publish",
    children: <p>Its tenant reads the answer and the findings, no notes and no other tenant's name. What is published does not change any more.</p>,
    line: () => `haasctl case publish ${one.id}`,
    act: async () => {
      await write("POST /api/v1/cases/{case}/publish", {place: {case: one.id}});
      await readCasesAgain(one.id);
    },
  };
}
