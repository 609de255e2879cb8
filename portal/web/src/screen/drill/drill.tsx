// Traffic from a link down to a flow: one click a level, each level an address that is the same text in a ticket, in haasctl drill and in the API.
import {useState} from "preact/hooks";
import {useSource} from "../../api/source";
import type {Alert, Capture, Drill as Answer} from "../../api/types";
import {go, query} from "../../app/route";
import {isSite, me} from "../../app/session";
import {Command, quote} from "../../part/command";
import {useDialog} from "../../part/dialog";
import {lazy} from "../../part/lazy";
import {Empty, Head, Numbers, Shown, type KeyNumber} from "../../part/screen";
import {bytes, clock} from "../../part/time";
import {captures} from "../captures/sources";
import {Beside, FlowFacts, Packets} from "./beside";
import {boundOf, rate, speed} from "./rate";
import {beforeOf, Rows} from "./rows";
import {alertsOf, before as beforeSource, level as levelSource, portSpeed} from "./sources";
import {Timeline} from "./timeline";
import {above, drillUrl, named, partsOf, pasted, ROWS, spotOf, type Spot} from "./url";
import {lengthText, spanText, Times} from "./window";

const Split = lazy(() => import("./sankey").then((module) => module.Split));
const KEPT = "drill compare";
/** Levels with more than one below. */
const PICTURED = ["all", "link", "owner", "vlan"];
const NONE: Alert[] = [];
const NO_CAPTURES: Capture[] = [];

function Crumbs({spot, level}: {spot: Spot; level: Answer | undefined}) {
  const parts = partsOf(spot.path);
  return (
    <nav class="crumbs" aria-label="Where">
      {spot.path ? <a href={drillUrl({...spot, path: ""})}>links</a> : <b>{level ? ROWS[level.level] : "links"}</b>}
      {parts.map((part) => (
        <span key={part.path}>
          <i aria-hidden="true">›</i>
          {part.path === spot.path ? <>{part.word} <b class="mono">{part.name}</b></> : <a href={drillUrl({...spot, path: part.path})}>{part.word} <span class="mono">{part.name}</span></a>}
        </span>
      ))}
      {spot.path && level && <span><i aria-hidden="true">›</i><b>{ROWS[level.level]}</b></span>}
    </nav>
  );
}

/** A reference from a ticket or a terminal. */
function Paste() {
  const [wrong, setWrong] = useState(false);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const url = pasted(new FormData(event.currentTarget as HTMLFormElement).get("reference") as string);
        setWrong(!url);
        if (url) go(url);
      }}
    >
      <input
        id="filter" class="filter" name="reference" aria-label="Open a reference" placeholder="Open /drill?path=… or link:leaf1:17" spellcheck={false} autocomplete="off"
        aria-invalid={wrong} onInput={() => setWrong(false)}
      />
      {wrong && <p class="fail small" role="alert">neither a reference nor a path</p>}
    </form>
  );
}

function numbersOf(level: Answer, alerts: number | undefined, bps: number): KeyNumber[] {
  const total = level.total;
  const where = level.path === "" ? "all links, each frame on every link that it takes" : partsOf(level.path).map((part) => part.name).slice(-1)[0];
  const out = named(level.path, "link").length > 0 && level.level === "link" ? " out" : "";
  const bound = level.total.bytes ? `, ± ${rate(boundOf(total))}` : "";
  const used = bps > 0 ? (100 * total.bits_per_second) / bps : undefined;
  return [
    {value: rate(total.bits_per_second), label: `${where}${out}${bound}`},
    ...(used === undefined ? [] : [{value: `${used.toFixed(0)} %`, label: `of ${speed(bps)}`, tone: used >= 90 ? ("fail" as const) : used >= 75 ? ("wait" as const) : undefined}]),
    {value: bytes(total.bytes), label: spanText(level.from, level.to)},
    ...(alerts === undefined ? [] : [{value: alerts, label: alerts === 1 ? "open alert here" : "open alerts here", tone: "fail" as const}]),
  ];
}

/** Where one may also begin: what entered of a tenant, at all its ports, counted once. */
function Entered({spot}: {spot: Spot}) {
  const own = me.value?.tenant;
  if (!own) return null;
  return <p class="quiet">What entered at your own ports, counted once: <a class="mono" href={drillUrl({...spot, path: `tenant:${own}`})}>tenant {own}</a></p>;
}

function commandOf(spot: Spot): string {
  return `haasctl drill${spot.path ? ` ${quote(spot.path)}` : ""}${spot.at ? ` --at ${spot.at}` : ""} --window ${spot.window}`;
}

function Level({level, spot, ask}: {level: Answer; spot: Spot; ask: ReturnType<typeof useDialog>[1]}) {
  const [compare, setCompare] = useState(localStorage.getItem(KEPT) !== "no");
  const then = useSource(beforeSource(spot, level.from));
  const [name = "", port = ""] = named(level.path, "link");
  const here = useSource(alertsOf(name && `${name}:${port}`)).value;
  const alerts = here?.open ?? [];
  const taken = useSource(captures(true)).value ?? [];
  const pair = named(level.path, "pair");
  const bps = useSource(portSpeed(name, port)).value ?? 0;
  const length = lengthText(spot.window);
  const nothing = level.total.bytes === 0;
  return (
    <>
      <Numbers rows={numbersOf(level, name ? alerts.length : undefined, level.level === "link" ? bps : 0)} />
      <Times spot={spot} level={level} />
      <Timeline spot={spot} alerts={here?.all ?? NONE} captures={pair.length ? taken.filter((one) => pair.includes(one.node)) : NO_CAPTURES} most={level.level === "link" ? bps : 0} />
      <div class="body split">
        <div class="stack">
          {level.level === "flow" && !nothing ? (
            <>
              <FlowFacts path={spot.path} />
              {named(spot.path, "tenant").length > 0 && <Packets path={spot.path} ask={ask} />}
            </>
          ) : nothing && level.rows.length === 0 ? (
            <Empty title={level.seconds > 0 ? "No traffic was seen here then" : "Nothing was collected then"}>
              {spot.path && <a href={drillUrl({...spot, path: above(spot.path)})}>One level up</a>}
            </Empty>
          ) : (
            <Rows level={level} spot={spot} length={length} before={compare && then.value ? beforeOf(then.value) : undefined} />
          )}
          {level.rows.length > 0 && (
            <div class="bar">
              <label class="check">
                <input
                  type="checkbox" checked={compare}
                  onChange={(event) => (setCompare(event.currentTarget.checked), localStorage.setItem(KEPT, event.currentTarget.checked ? "yes" : "no"))}
                />
                compare with the {length} before
              </label>
            </div>
          )}
          {!nothing && PICTURED.includes(level.level) && <Split spot={spot} />}
          {level.path === "" && <Entered spot={spot} />}
          <ul class="limits" aria-label="Limits of this answer">{level.notes.map((note) => <li key={note}>{note}</li>)}</ul>
        </div>
        <Beside level={level} spot={spot} alerts={alerts} ask={ask} />
      </div>
      <Command line={commandOf(spot)} />
      <Command line={level.url} label="this place and time" />
    </>
  );
}

export function Drill() {
  const spot = spotOf(query.value);
  const source = levelSource(spot);
  const held = useSource(source);
  const [dialog, ask] = useDialog();
  return (
    <div class={`screen ${held.refusal ? "stale" : ""}`}>
      <Head title={isSite.value ? "Drill" : "Traffic"} about={<Crumbs spot={spot} level={held.value} />} held={held} until={spot.at && held.value ? `to ${clock(held.value.to)}` : undefined}>
        <Paste />
      </Head>
      <Shown held={held} what="this level" again={() => void source.reload()}>
        {(level) => <Level level={level} spot={spot} ask={ask} />}
      </Shown>
      {dialog}
    </div>
  );
}
