// What an event changed: before and after side by side, member by member; what else it says below.
import type {ComponentChildren} from "preact";

const text = (value: unknown): string => (value === undefined || value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));

function membersOf(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown>) : {"": value};
}

export function Change({detail}: {detail: Record<string, unknown>}): ComponentChildren {
  const {before, after, why, ...rest} = detail;
  const old = membersOf(before);
  const made = membersOf(after);
  const names = "before" in detail || "after" in detail ? [...new Set([...Object.keys(old), ...Object.keys(made)])].filter((name) => name !== "" || before !== undefined || after !== undefined) : [];
  return (
    <>
      {why !== undefined && <div class="note"><p><b>Why</b> {text(why)}</p></div>}
      {names.length > 0 && (
        <table class="plain tight">
          <thead><tr><th>Member</th><th>Before</th><th>After</th></tr></thead>
          <tbody>
            {names.map((name) => {
              const same = text(old[name]) === text(made[name]);
              return <tr key={name} class={same ? "quiet" : ""}><td>{name || "value"}</td><td>{text(old[name])}</td><td>{same ? text(made[name]) : <b>{text(made[name])}</b>}</td></tr>;
            })}
          </tbody>
        </table>
      )}
      {Object.keys(rest).length > 0 && <pre class="code" tabIndex={0}>{JSON.stringify(rest, null, 1)}</pre>}
    </>
  );
}
