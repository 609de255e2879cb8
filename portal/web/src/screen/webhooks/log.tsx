// The log of a webhook: what was sent, what the receiver answered, and what is tried again when.
import {useState} from "preact/hooks";
import type {Refusal} from "../../api/client";
import {useSource} from "../../api/source";
import type {Delivery} from "../../api/types";
import {may} from "../../app/session";
import {Mark, type Shape} from "../../part/mark";
import {Empty, Refused, Shown} from "../../part/screen";
import {since, when} from "../../part/time";
import {redeliver} from "./actions";
import {deliveries} from "./sources";

const shapeOf = (one: Delivery): Shape => (one.state === "delivered" ? "ok" : one.state === "failed" ? "fail" : one.problem ? "wait" : "work");
const saidOf = (one: Delivery) => (one.status !== null ? `answered ${one.status}` : one.attempts > 0 ? "no answer" : "not sent yet");

export function Log({webhook}: {webhook: number}) {
  const source = deliveries(webhook);
  const held = useSource(source);
  const [refusal, setRefusal] = useState<Refusal>();
  const again = (one: Delivery) => {
    setRefusal(undefined);
    redeliver(webhook, one).catch(setRefusal);
  };
  return (
    <Shown held={held} what="deliveries" again={() => void source.reload()}>
      {(rows) => (
        <div>
          <h3>The last {rows.length} deliveries</h3>
          {refusal && <Refused refusal={refusal} />}
          {rows.length === 0 ? <Empty title="Nothing was sent yet" /> : (
            <ul class="lines bare">
              {rows.map((one) => (
                <li key={one.id}>
                  <span class="grow">
                    <Mark shape={shapeOf(one)}>{one.state}</Mark> <span class="mono">{one.kind}</span> <span class="quiet">{one.subject}</span><br />
                    <span class="small quiet">
                      {saidOf(one)}{one.duration_ms !== null && ` in ${one.duration_ms} ms`}{one.attempts > 1 && `, ${one.attempts} times`}{one.attempted_at && `, ${since(one.attempted_at)} ago`}{one.problem?.message && one.status === null && `: ${one.problem.message}`}
                      {one.next_at && one.attempts > 0 && `; again at ${when(one.next_at)}`}
                    </span>
                  </span>
                  {may("webhook") && <button type="button" class="button small" aria-label={`Send again delivery ${one.id}`} title={`haasctl webhook redeliver ${webhook} ${one.id}`} onClick={() => again(one)}>Send again</button>}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </Shown>
  );
}
