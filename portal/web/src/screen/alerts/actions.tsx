// What one may do about an alert.
import {signal} from "@preact/signals";
import {write} from "../../api/client";
import {alerts, silences} from "../../api/sources";
import type {Alert, Silence} from "../../api/types";
import {quote} from "../../part/command";
import type {Ask} from "../../part/dialog";

const SILENCE_S = 7200;

const readAgain = () => Promise.all([alerts("open").reload(), alerts("silenced").reload(), alerts("all").reload(), silences().reload()]).then(() => undefined);

export function acknowledge(alert: Alert): Ask {
  return {
    title: "Acknowledge the alert", noun: "alert", names: [alert.subject], button: "Acknowledge",
    children: <p>{alert.message}. Others see that you take care of it. It stays open until it ends.</p>,
    line: () => `haasctl alert ack ${alert.id}`,
    act: async () => {
      await write("POST /api/v1/alerts/{alert}/acknowledge", {place: {alert: alert.id}});
      await readAgain();
    },
  };
}

const LENGTHS: [number, string, string][] = [[3600, "1h", "1 hour"], [7200, "2h", "2 hours"], [28800, "8h", "8 hours"], [86400, "1d", "1 day"], [604800, "7d", "7 days"]];

/** Of one alert, or for planned work: kind and subject are the begin of what is kept from people. */
export function silence(alert?: Alert): Ask {
  const fields = signal({kind: alert?.kind ?? "", subject: alert?.subject ?? "", length: SILENCE_S});
  const set = (change: Partial<typeof fields.value>) => (fields.value = {...fields.value, ...change});
  const word = () => LENGTHS.find(([seconds]) => seconds === fields.value.length)![1];
  return {
    title: "Silence alerts", noun: "subject", names: alert ? [alert.subject] : [], button: "Silence", reason: "required",
    children: (
      <>
        <p>They are kept, and told to nobody meanwhile. What still stands when the silence ends is told then.</p>
        <div class="fields">
          <div class="field"><label for="silence-kind">Kind that begins so (empty: any)</label><input id="silence-kind" class="mono" maxLength={63} value={fields.value.kind} placeholder="traffic." onInput={(event) => set({kind: event.currentTarget.value.trim()})} /></div>
          <div class="field"><label for="silence-subject">Subject that begins so (empty: any)</label><input id="silence-subject" class="mono" maxLength={160} value={fields.value.subject} placeholder="leaf1:" onInput={(event) => set({subject: event.currentTarget.value})} /></div>
          <div class="field">
            <label for="silence-length">For how long</label>
            <select id="silence-length" onChange={(event) => set({length: Number(event.currentTarget.value)})}>{LENGTHS.map(([seconds, , title]) => <option key={seconds} value={seconds} selected={seconds === SILENCE_S}>{title}</option>)}</select>
          </div>
        </div>
      </>
    ),
    line: (why) =>
      `haasctl alert silence${fields.value.kind ? ` --kind ${quote(fields.value.kind)}` : ""}${fields.value.subject ? ` --subject ${quote(fields.value.subject)}` : ""} --for ${word()} --reason ${quote(why || "...")}`,
    act: async (why) => {
      const {kind, subject, length} = fields.value;
      await write("POST /api/v1/silences", {body: {...(kind ? {kind} : {}), ...(subject ? {subject} : {}), reason: why, for_s: length}});
      await readAgain();
    },
  };
}

export function endSilence(one: Silence): Ask {
  return {
    title: "End the silence", noun: "silence", names: [`${one.kind} ${one.subject}`.trim()], button: "End it",
    children: <p>{one.silent === 1 ? "1 open alert is" : `${one.silent} open alerts are`} told again.</p>,
    line: () => `haasctl alert unsilence ${one.id}`,
    act: async () => {
      await write("DELETE /api/v1/silences/{silence}", {place: {silence: one.id}});
      await readAgain();
    },
  };
}
