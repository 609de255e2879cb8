// What the table shows, as a file: its filter, order and columns are asked of the API, so the file has what portald says, not what this browser drew.
import {useState} from "preact/hooks";
import {saveCsv, type Refusal} from "../../api/client";

export function Export({words, sort, columns}: {words: string; sort: string; columns: string[]}) {
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const save = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      await saveCsv("/api/v1/nodes", {q: words.trim() || undefined, sort: sort || undefined, columns: columns.join(",")}, "nodes.csv");
    } catch (error) {
      setRefusal(error as Refusal);
    }
    setBusy(false);
  };
  return (
    <>
      {refusal && <span class="fail small" role="alert">{refusal.problem.title}</span>}
      <button type="button" class="button" disabled={busy} onClick={() => void save()} title="What is shown: this filter, this order, these columns">{busy ? "Reading" : "Export CSV"}</button>
    </>
  );
}
