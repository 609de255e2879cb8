// The three tables of this screen.
import {isSite} from "../../app/session";
import {Segments} from "../../part/list";

const KINDS = [["", "Shared"], ["local", "Local disks"], ["storages", "Storages"]] as const;

export function Kinds({show}: {show: string}) {
  return <Segments label="Which table" rows={KINDS.filter(([word]) => word !== "storages" || isSite.value).map(([word, title]) => [`/volumes${word && `?show=${word}`}`, title, show === word])} />;
}
