// Usage as CSV, as the API says it: of one tenant or of all that one may see.
import {useState} from "preact/hooks";
import {saveCsv, type Refusal} from "../../api/client";
import {Refused} from "../../part/screen";

const two = (value: number) => String(value).padStart(2, "0");
/** The first day of a month in UTC, as usage is cut: 0 is this one, -1 the one before. */
export function monthBegins(at: number): string {
  const now = new Date();
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + at, 1));
  return `${first.getUTCFullYear()}-${two(first.getUTCMonth() + 1)}-01`;
}

export function UsageCsv({tenant, from, to, children}: {tenant?: string | undefined; from: string; to?: string | undefined; children: string}) {
  const [refusal, setRefusal] = useState<Refusal>();
  const save = () => {
    setRefusal(undefined);
    saveCsv("/api/v1/usage", {tenant, from, to}, `usage-${tenant ?? "all"}-${from}.csv`).catch(setRefusal);
  };
  return (
    <>
      <button type="button" class="button" onClick={save}>{children}</button>
      {refusal && <Refused refusal={refusal} again={save} />}
    </>
  );
}
