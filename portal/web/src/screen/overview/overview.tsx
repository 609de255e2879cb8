// What the site needs, what moves in it, how full it is, how healthy: an operator's first look.
import type {ComponentChildren} from "preact";
import {useMemo} from "preact/hooks";
import {read} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import {alerts, deployments, nodes, pdcis} from "../../api/sources";
import type {Status, StatusItem} from "../../api/types";
import {subjectHref} from "../../app/subject";
import {Command} from "../../part/command";
import {lazy} from "../../part/lazy";
import {Mark, shapeOf} from "../../part/mark";
import {Empty, Head, Numbers, Shown} from "../../part/screen";
import {count, since, when} from "../../part/time";
import {isOpen} from "../deployments/actions";
import {pdciHref, Ready} from "../pdcis/pdcis";
import {classesOf, nodesOf} from "./fleet";

const Treemap = lazy(() => import("./treemap").then((module) => module.Treemap));
const NEEDS_MAX = 10;
const MOVES_MAX = 8;

const status = () =>
  sourceOf<Status>("status", () => ({
    load: () => read("/api/v1/status"),
    touches: (event) => event.kind.startsWith("alert.") || event.kind.startsWith("daemon."),
    every: () => 5000,
  }));

/** Where a section of the status is looked at. */
const PLACES: Record<string, string> = {nodes: "/nodes", bmcs: "/nodes", fabric: "/switches", deployments: "/deployments", pdcis: "/pdcis", traffic: "/drill", notices: "/webhooks"};

function Section({title, href, children}: {title: string; href?: string; children: ComponentChildren}) {
  return (
    <section class="panel flush" aria-label={title}>
      <header><h2>{title}</h2>{href && <a class="small" href={href}>All</a>}</header>
      {children}
    </section>
  );
}

/** One click from what is wrong to what says why. */
const needHref = (one: StatusItem) => (one.alert !== null ? `/alerts?at=${one.alert}` : subjectHref(one.subject_kind, one.subject));

function Needs({now}: {now: Status}) {
  const wrong = now.sections.flatMap((section) => section.items.filter((one) => one.state === "wrong").map((one) => ({...one, section: section.name})));
  if (wrong.length === 0) return <p class="pad quiet">Nothing waits for a person.</p>;
  return (
    <ul class="lines">
      {wrong.slice(0, NEEDS_MAX).map((one: StatusItem & {section: string}) => (
        <li key={`${one.section} ${one.subject} ${one.message}`}>
          <span class="grow"><Mark shape="fail">{one.section}</Mark> {needHref(one) ? <a href={needHref(one)}>{one.message}</a> : one.message}<br /><span class="small quiet">{one.hint}</span></span>
          {one.since ? <time class="small" title={when(one.since)}>{since(one.since)}</time> : <span />}
        </li>
      ))}
      {wrong.length > NEEDS_MAX && <li><a href="/alerts">{wrong.length - NEEDS_MAX} more</a></li>}
    </ul>
  );
}

function Moves() {
  const rented = useSource(pdcis(true)).value ?? [];
  const under = (useSource(deployments()).value ?? []).filter(isOpen);
  const moving = rented.filter((one) => one.state !== "ready");
  const plans = [...new Set(under.map((one) => one.plan))].sort();
  if (moving.length === 0 && under.length === 0) return <p class="pad quiet">Nothing is under way.</p>;
  return (
    <ul class="lines">
      {plans.map((plan) => {
        const of = under.filter((one) => one.plan === plan);
        return <li key={plan}><a class="grow" href="/deployments"><Mark shape="work">{plan}</Mark> of {of.length} {of.length === 1 ? "node" : "nodes"}</a><span class="quiet small">{of.filter((one) => shapeOf.deployment(one) === "wait").length} wait</span></li>;
      })}
      {moving.slice(0, MOVES_MAX).map((one) => (
        <li key={one.id}>
          <span class="grow"><Mark shape={shapeOf.pdci(one.state)}>{one.state}</Mark> <a class="mono" href={pdciHref(one)}>{one.name}</a> <span class="quiet">{one.tenant}</span>{one.problem && <><br /><span class="small quiet">{one.problem.message}</span></>}</span>
          <span class="ready"><Ready one={one} /></span>
        </li>
      ))}
      {moving.length > MOVES_MAX && <li><a href="/pdcis">{moving.length - MOVES_MAX} more</a></li>}
    </ul>
  );
}

function HowFull() {
  const held = useSource(nodes());
  const rows = useMemo(() => classesOf(held.value ?? []), [held.value]);
  if (!held.value) return <p class="pad quiet">Reading nodes</p>;
  if (rows.length === 0) return <p class="pad quiet">No node is known. <span class="mono">haasctl node import FILE.csv</span> adds them.</p>;
  return (
    <>
      <Treemap classes={rows} />
      <div class="scroll" tabIndex={0} role="region" aria-label="Nodes by class">
        <table class="plain">
          <thead><tr><th>Class</th><th class="number">Rented</th><th class="number">Free</th><th class="number">Not to be had</th><th class="number">All</th></tr></thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <td class="mono"><a href={`/nodes?q=${encodeURIComponent(row.words)}`}>{row.name}</a></td>
                {(["rented", "free", "out"] as const).map((use) => <td key={use} class="number">{count(nodesOf(row, use))}</td>)}
                <td class="number">{count(row.nodes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Healthy({now}: {now: Status}) {
  return (
    <ul class="lines">
      {now.sections.map((one) => (
        <li key={one.name}>
          <span class="health"><Mark shape={one.state === "ok" ? "ok" : "fail"}>{PLACES[one.name] ? <a href={PLACES[one.name]}>{one.name}</a> : one.name}</Mark></span>
          <span class="quiet grow">{one.summary}</span>
        </li>
      ))}
    </ul>
  );
}

export function Overview() {
  const source = status();
  const held = useSource(source);
  const open = useSource(alerts("open")).value;
  const fleet = useSource(nodes()).value;
  const under = useSource(deployments()).value;
  const wrong = held.value?.sections.flatMap((section) => section.items).filter((one) => one.state === "wrong").length ?? 0;
  return (
    <div class={`screen ${held.refusal ? "stale" : ""}`}>
      <Head title="Overview" about={held.value && (held.value.ok ? "the site is well" : "the site needs a person")} held={held} />
      <Shown held={held} what="the status" again={() => void source.reload()}>
        {(now) => (
          <>
            <Numbers
              rows={[
                {value: wrong, label: wrong === 1 ? "thing needs a person" : "things need a person", tone: "fail"},
                {value: open ? open.filter((one) => one.severity === "critical" && !one.acknowledged_by).length : "–", label: "critical alerts", tone: "fail", href: "/alerts"},
                {value: under ? under.filter(isOpen).length : "–", label: "deployments under way", tone: "work", href: "/deployments"},
                {value: fleet ? fleet.filter((one) => one.state === "free").length : "–", label: "nodes free", href: "/nodes?q=state:free"},
                {value: fleet?.length ?? "–", label: "nodes", href: "/nodes"},
              ]}
            />
            <div class="columns">
              <div class="stack">
                <Section title="What needs a person" href="/alerts"><Needs now={now} /></Section>
              </div>
              <div class="stack">
                <Section title="What moves" href="/deployments"><Moves /></Section>
                <Section title="How full" href="/nodes"><HowFull /></Section>
                <Section title="How healthy"><Healthy now={now} /></Section>
              </div>
            </div>
            {now.sections.length === 0 && <Empty title="No section" />}
            <Command line="haasctl status" />
          </>
        )}
      </Shown>
    </div>
  );
}
