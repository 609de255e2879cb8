// The three tables of this screen.
import {isSite} from "../../app/session";

const KINDS = [["", "Shared"], ["local", "Local disks"], ["storages", "Storages"]] as const;

export function Kinds({show}: {show: string}) {
  return (
    <nav class="segments" aria-label="Which table">
      {KINDS.filter(([word]) => word !== "storages" || isSite.value).map(([word, title]) => <a key={word} href={`/volumes${word && `?show=${word}`}`} aria-current={show === word ? "true" : undefined}>{title}</a>)}
    </nav>
  );
}
