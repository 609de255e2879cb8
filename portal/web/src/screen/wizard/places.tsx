// What single places are told apart from the others: host names, addresses, keys, user data, packages, the disk.
import {useMemo} from "preact/hooks";
import {SheetEditor} from "../sheet/editor";
import {errorsByCell} from "../sheet/rows";
import {checked} from "./check";
import {change, draft, placesOf, sheetOf} from "./draft";

export function PlacesStep() {
  const one = draft.value;
  const names = placesOf(one).map((name, at) => ({place: at + 1, class: name}));
  const {refusal, of} = checked.value;
  const errors = useMemo(() => errorsByCell(refusal?.problem.errors ?? [], of ? sheetOf(of) : []), [refusal]);
  return (
    <div class="stack">
      <p class="quiet">Empty cells are as the PDCI says it. A node that is replaced leaves its row to the next one at its place. The sheet can be changed later.</p>
      <SheetEditor names={names} places={one.places} set={(places) => change({places})} errors={errors} />
    </div>
  );
}
