// Around every screen: the side bar with its counts, who is logged in, the palette, the keys.
import {useEffect, useState} from "preact/hooks";
import {useSource} from "../api/source";
import {alerts, deployments, nodes, pdcis} from "../api/sources";
import {keyOf, moving} from "../api/stream";
import {Empty} from "../part/screen";
import {count} from "../part/time";
import {cases} from "../screen/cases/sources";
import {isOpen} from "../screen/deployments/actions";
import {startKeys} from "./keys";
import {Help, Palette} from "./palette";
import {nextScheme} from "./own";
import {place} from "./route";
import {scheme} from "./scheme";
import {GROUPS, myScreens, showAt} from "./screens";
import {isSite, logOut, me, stays} from "./session";

const SCHEMES = {machine: "Auto colours", light: "Light", dark: "Dark"};

/** Red only for what needs a person. */
function useCounts(): Record<string, {value: number; fail?: boolean} | undefined> {
  const open = useSource(alerts("open")).value;
  const under = useSource(deployments()).value;
  const rented = useSource(pdcis(true)).value;
  const waiting = useSource(cases(false)).value;
  const fleet = nodes().held.value;
  const told = moving.value.get(keyOf("alerts", me.value?.tenant ?? ""))?.value?.["waiting"];
  const hot = typeof told === "number" ? told : open?.filter((one) => !one.acknowledged_by).length;
  return {
    "/cases": waiting && {value: waiting.length},
    "/alerts": hot === undefined ? undefined : {value: hot, fail: hot > 0},
    "/deployments": under && {value: under.filter(isOpen).length},
    "/pdcis": rented && {value: rented.length},
    "/nodes": fleet.value && fleet.at > 0 ? {value: fleet.value.length} : undefined,
  };
}

/** On a narrow screen the side bar is a bar at the bottom with these; More opens all of it. */
const BAR = () => (isSite.value ? ["/overview", "/alerts", "/nodes", "/deployments"] : ["/pdcis", "/nodes", "/alerts", "/cases"]);

function Side({open}: {open: (what: "palette" | "help") => void}) {
  const counts = useCounts();
  const who = me.value;
  const screens = myScreens();
  const [more, setMore] = useState(false);
  const bar = BAR();
  const path = place.value.path;
  useEffect(() => {
    setMore(false);
    document.querySelector(".side [aria-current]")?.scrollIntoView({block: "nearest"});
  }, [path]);
  return (
    <nav class={`side ${more ? "more" : ""}`} aria-label="Screens" onKeyDown={(event) => event.key === "Escape" && setMore(false)}>
      <p class="site">{location.hostname}</p>
      {[undefined, ...GROUPS].filter((group) => screens.some((one) => one.group === group)).map((group) => (
        <div class="group" key={group ?? ""}>
          {group && <h3>{group}</h3>}
          <ul>
            {screens.filter((one) => one.group === group).map((one) => {
              const number = counts[one.path];
              const here = path === one.path || path.startsWith(`${one.path}/`);
              return (
                <li key={one.path} class={bar.includes(one.path) ? "often" : ""}>
                  <a href={one.path} aria-current={here ? "page" : undefined}>
                    <span>{isSite.value ? one.title : one.own ?? one.title}</span>
                    {number && <span class={`count ${number.fail ? "fail" : ""}`}>{count(number.value)}</span>}
                  </a>
                </li>
              );
            })}
          </ul>
        </div>
      ))}
      <div class="who">
        <p><b>{who?.account ?? who?.actor}</b><br /><span class="quiet">{who?.role}</span></p>
        <div class="row">
          <button type="button" class="button" onClick={() => open("palette")}>Find</button>
          <button type="button" class="button" onClick={() => open("help")}>Keys</button>
        </div>
        <div class="row">
          <button type="button" class="button" onClick={nextScheme}>{SCHEMES[scheme.value]}</button>
          <button type="button" class="button" onClick={() => void logOut()}>Log out</button>
        </div>
      </div>
      <button type="button" class="all" aria-expanded={more} onClick={() => setMore(!more)}>{more ? "Less" : "More"}</button>
    </nav>
  );
}

/** A logout that failed is no logout: whoever walks away has to know. */
function StillIn() {
  const no = stays.value;
  if (!no) return null;
  return (
    <div class="note fail still" role="alert">
      <p><b>You are still logged in:</b> {no.problem.title}</p>
      {no.problem.hint && <p>{no.problem.hint}</p>}
      <div class="row">
        <button type="button" class="button" onClick={() => void logOut()}>Log out</button>
        <button type="button" class="button" onClick={() => (stays.value = undefined)}>Stay</button>
      </div>
    </div>
  );
}

export function Shell() {
  const [opened, open] = useState<"palette" | "help">();
  useEffect(() => startKeys(open), []);
  const shown = showAt(place.value.path);
  const close = () => open(undefined);
  return (
    <div class="shell">
      <Side open={open} />
      <main>
        <StillIn />
        {shown ?? (
          <div class="screen"><h1>Not here</h1><Empty title="No screen is at this address"><p class="mono">{place.value.path}</p></Empty></div>
        )}
      </main>
      {opened === "palette" && <Palette close={close} />}
      {opened === "help" && <Help close={close} />}
    </div>
  );
}
