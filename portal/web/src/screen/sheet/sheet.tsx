// The OS sheet of a PDCI: edited here or as CSV, tried, compared with what is set, and written.
import {useEffect, useMemo, useState} from "preact/hooks";
import {pathOf, read, Refusal, saveFile, sendCsv, write} from "../../api/client";
import {sourceOf, useSource} from "../../api/source";
import type {Pdci, Sheet, SheetChanges, SheetRow} from "../../api/types";
import {isSite, may} from "../../app/session";
import {Changed, type Members} from "../../part/changed";
import {Command, quote} from "../../part/command";
import {Shown} from "../../part/screen";
import {SheetEditor} from "./editor";
import {CELLS, draftOf, errorsByCell, membersOf, mergedOf, rowsOf, saidOf, type PlaceDraft} from "./rows";

const sheet = (name: string, tenant?: string) =>
  sourceOf(`sheet ${tenant ?? ""} ${name}`, () => ({
    load: () => read("/api/v1/pdcis/{pdci}/sheet", {pdci: name}, {tenant}),
    touches: (event) => event.subject_kind === "pdci" && event.subject === name,
  }));

const text = (value: unknown) => (value === null || value === undefined ? "–" : Array.isArray(value) ? value.join(" ") : String(value));

function Changes({changes}: {changes: SheetChanges["changes"]}) {
  if (changes.length === 0) return <p class="quiet">As it is, nothing changes.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Changes">
      <table class="plain">
        <thead><tr><th class="number">Place</th><th>Cell</th><th>Set now</th><th>Then</th></tr></thead>
        <tbody>
          {changes.slice(0, 200).map((one) => (
            <tr key={`${one.place} ${one.member}`}><td class="number">{one.place}</td><td>{one.member}</td><td class="mono cut">{text(one.from)}</td><td class="mono cut">{text(one.to)}</td></tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What is tried: the rows of the form, or a file. */
type Tried = {rows: SheetRow[]} | {csv: string; file: string};

/** Somebody wrote the sheet after it was read: what it was, what it is, and what was to be written. */
interface Overtaken {
  before: PlaceDraft[];
  now: Sheet;
  mine: Members;
  what: Tried;
}

function useSheet(pdci: Pdci, held: Sheet | undefined, again: () => Promise<void>) {
  const [places, setPlaces] = useState<PlaceDraft[]>();
  const [base, setBase] = useState<Sheet>();
  const [overtaken, setOvertaken] = useState<Overtaken>();
  const [tried, setTried] = useState<{what: Tried; changes: SheetChanges["changes"]}>();
  const [refusal, setRefusal] = useState<{refusal: Refusal; rows: SheetRow[]}>();
  const [busy, setBusy] = useState(false);
  const [written, setWritten] = useState(false);
  const reset = () => {
    setPlaces(held?.rows.map(draftOf));
    setBase(held);
    setOvertaken(undefined);
    setTried(undefined);
    setRefusal(undefined);
  };
  useEffect(() => {
    if (held && base === undefined) reset();
  }, [held]);
  /** As it is now, whatever was read before. */
  const takeNow = async () => {
    setBase(undefined);
    await again();
  };
  const tenant = isSite.value ? pdci.tenant : undefined;
  /** Cells as they were, as they are now, and as this would write them. */
  const compare = async (what: Tried): Promise<Overtaken> => {
    const before = base?.rows.map(draftOf) ?? [];
    const file = Object.fromEntries((tried?.changes ?? []).map((one) => [`${one.place} ${one.member}`, one.to === null ? "" : text(one.to)]));
    return {before, now: await read("/api/v1/pdcis/{pdci}/sheet", {pdci: pdci.name}, {tenant}), mine: "rows" in what ? membersOf(places ?? []) : {...membersOf(before), ...file}, what};
  };
  /** Tried again over what is now. */
  const keepMine = ({before, now, what}: Overtaken) => {
    const merged = mergedOf(before, now.rows.map(draftOf), places ?? []);
    setBase(now);
    setOvertaken(undefined);
    if ("rows" in what) setPlaces(merged);
    void send("rows" in what ? {rows: rowsOf(merged)} : what, true, now.version);
  };
  const send = async (what: Tried, dry_run: boolean, version = base?.version ?? 0) => {
    const query = {dry_run, tenant};
    setBusy(true);
    setRefusal(undefined);
    setWritten(false);
    try {
      const answer = "rows" in what
        ? await write("PUT /api/v1/pdcis/{pdci}/sheet", {place: {pdci: pdci.name}, query, body: {rows: what.rows}, version})
        : await sendCsv("POST /api/v1/pdcis/{pdci}/sheet/import", {pdci: pdci.name}, query, what.csv, version);
      const {changes} = answer as SheetChanges;
      if (dry_run) setTried({what, changes});
      else {
        setWritten(true);
        await takeNow();
      }
    } catch (error) {
      const other = (error as Refusal).status === 412 && await compare(what).catch(() => undefined);
      setTried(undefined);
      if (other) setOvertaken(other);
      else setRefusal({refusal: error as Refusal, rows: "rows" in what ? what.rows : []});
    }
    setBusy(false);
  };
  return {places: places ?? [], setPlaces, tried, refusal, overtaken, keepMine, busy, written, takeNow, send};
}

async function download(pdci: Pdci) {
  const answer = await fetch(pathOf("/api/v1/pdcis/{pdci}/sheet", {pdci: pdci.name}, {tenant: isSite.value ? pdci.tenant : undefined}), {headers: {Accept: "text/csv"}, credentials: "same-origin"});
  if (answer.ok) saveFile(await answer.blob(), "text/csv", `${pdci.name}-sheet.csv`);
}

function Refused({refusal}: {refusal: Refusal}) {
  const {title, detail, hint, errors} = refusal.problem;
  const cells = errors?.filter((one) => one.row) ?? [];
  return (
    <div class="note fail" role="alert">
      <p><b>{title}</b></p>
      {detail && <p>{detail}</p>}
      {cells.slice(0, 50).map((one) => <p key={`${one.row}${one.column}${one.message}`}>line {one.row}, <span class="mono">{one.column}</span>: {saidOf(one)}</p>)}
      {hint && <p class="quiet">{hint}</p>}
    </div>
  );
}

const cellNames = (places: number) => Object.fromEntries(Array.from({length: places}, (_, at) => CELLS.map((one) => [`${at + 1} ${one.member}`, `Place ${at + 1}, ${one.title.toLowerCase()}`])).flat());

function Body({pdci, held, again}: {pdci: Pdci; held: Sheet; again: () => Promise<void>}) {
  const state = useSheet(pdci, held, again);
  const {places, setPlaces, tried, refusal, overtaken, busy, send} = state;
  const errors = useMemo(() => errorsByCell(refusal?.refusal.problem.errors ?? [], refusal?.rows ?? []), [refusal]);
  const upload = async (files: FileList | null) => {
    const file = files?.[0];
    if (file) await send({csv: await file.text(), file: file.name}, true);
  };
  const owner = isSite.value ? ` --tenant ${quote(pdci.tenant)}` : "";
  const edit = may("pdci") && pdci.wanted === "present";
  return (
    <>
      <p class="quiet">What the OS of each place is told, apart from what the PDCI says for all. The next install, reinstall or replacement takes it; an OS that runs stays as it is.</p>
      <SheetEditor names={held.rows} places={places} set={(next) => edit && setPlaces(next)} errors={errors} />
      {refusal && <Refused refusal={refusal.refusal} />}
      {overtaken && (
        <Changed
          what={`The OS sheet of ${pdci.name}`} names={cellNames(overtaken.before.length)} before={membersOf(overtaken.before)} now={membersOf(overtaken.now.rows.map(draftOf))} mine={overtaken.mine}
          by={{kind: "pdci.sheet", subject_kind: "pdci", subject: pdci.name, tenant: isSite.value ? pdci.tenant : undefined}} merge={() => state.keepMine(overtaken)} take={() => void state.takeNow()}
        />
      )}
      {state.written && <p class="ok" role="status">The sheet is written.</p>}
      {tried && (
        <section class="panel flush" aria-label="What would change">
          <header><h2>{"file" in tried.what ? `${tried.what.file} would change` : "This would change"}</h2></header>
          <Changes changes={tried.changes} />
        </section>
      )}
      <div class="actions">
        {edit && !tried && <button type="button" class="button main" disabled={busy} onClick={() => void send({rows: rowsOf(places)}, true)}>Check</button>}
        {edit && tried && <button type="button" class="button main" disabled={busy || tried.changes.length === 0} onClick={() => void send(tried.what, false)}>Write {tried.changes.length} {tried.changes.length === 1 ? "cell" : "cells"}</button>}
        {edit && <button type="button" class="button" onClick={() => void state.takeNow()}>Take what is set now</button>}
        <button type="button" class="button" onClick={() => void download(pdci)}>Save as CSV</button>
        {edit && (
          <label class="button">
            <input class="hidden" type="file" accept=".csv,text/csv" onChange={(event) => void upload(event.currentTarget.files)} />
            Read CSV
          </label>
        )}
      </div>
      <Command line={`haasctl pdci sheet set ${quote(pdci.name)} sheet.csv${owner}`} />
    </>
  );
}

export function PdciSheet({pdci}: {pdci: Pdci}) {
  const source = sheet(pdci.name, isSite.value ? pdci.tenant : undefined);
  const held = useSource(source);
  return (
    <Shown held={held} what="the OS sheet" again={() => void source.reload()}>
      {(value) => <Body pdci={pdci} held={value} again={() => source.reload()} />}
    </Shown>
  );
}
