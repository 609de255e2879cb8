// A list by pages, the newest first: the first page is a source, older ones come when they are asked for.
import {useState} from "preact/hooks";
import {Refusal} from "../../api/client";
import {useSource, type Source} from "../../api/source";
import {Shown} from "../../part/screen";

interface Page<T> {
  items: T[];
  next: string | null;
}

interface Props<T> {
  source: Source<Page<T>>;
  older: (cursor: string) => Promise<Page<T>>;
  what: string;
  none: string;
  keyOf: (row: T) => string | number;
  row: (row: T) => preact.ComponentChildren;
}

export function Paged<T>({source, older, what, none, keyOf, row}: Props<T>) {
  const held = useSource(source);
  const [more, setMore] = useState<Page<T>>();
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const first = held.value;
  // Rows that came since the older pages were read move into the first one: none twice.
  const seen = new Set(first?.items.map(keyOf));
  const rows = [...(first?.items ?? []), ...(more?.items.filter((one) => !seen.has(keyOf(one))) ?? [])];
  const next = more ? more.next : first?.next;
  const ask = async (cursor: string) => {
    setBusy(true);
    setRefusal(undefined);
    try {
      const page = await older(cursor);
      // What the first page pushes out while one reads on is kept.
      setMore({items: [...(more?.items ?? first?.items ?? []), ...page.items], next: page.next});
    } catch (error) {
      setRefusal(error as Refusal);
    }
    setBusy(false);
  };
  return (
    <Shown held={held} what={what} again={() => void source.reload()}>
      {() =>
        rows.length === 0 ? <p class="quiet small pad">{none}</p> : (
          <>
            <ul class="lines">{rows.map((one) => <li key={keyOf(one)}>{row(one)}</li>)}</ul>
            {next && <div class="pad"><button type="button" class="button" disabled={busy} onClick={() => void ask(next)}>{busy ? `Reading, ${rows.length} shown` : "Older"}</button></div>}
            {refusal && <p class="note fail pad" role="alert"><b>{refusal.problem.title ?? "refused"}</b> {refusal.problem.detail}</p>}
          </>
        )
      }
    </Shown>
  );
}
