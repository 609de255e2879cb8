// What may be the cause of an alert, each a place of the drill at the alert's second.
import type {AlertDetail} from "../../api/types";
import {drillUrl} from "./url";

/** Where an alert's traffic is seen: the 5 minutes around the second in which it began, or now while it is younger than that. */
export function alertAt(alert: {raised_at: string; drill_at: string | null}): string | undefined {
  if (alert.drill_at) return alert.drill_at;
  const end = Date.parse(alert.raised_at) + 4 * 60000;
  return end < Date.now() ? new Date(end).toISOString().replace(/\.\d+Z$/, "Z") : undefined;
}

export function Suspects({alert}: {alert: AlertDetail}) {
  if (alert.suspects.length === 0) return null;
  return (
    <div>
      <h3>Suspects, most suspect first</h3>
      <ol class="suspects">
        {alert.suspects.map((one) => (
          <li key={one.kind + one.name}>
            <p><span class="quiet">{one.kind}</span> {one.drill ? <a class="mono" href={drillUrl({path: one.drill, at: alertAt(alert), window: "5m"})}>{one.name}</a> : <span class="mono">{one.name}</span>} <span class="quiet small">{one.score} of 100</span></p>
            <p class="small quiet">{one.reasons}</p>
          </li>
        ))}
      </ol>
    </div>
  );
}
