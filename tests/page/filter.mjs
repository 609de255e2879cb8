// The filter's words as the page reads them: filter.mjs FILTER.js CASES.json. One line of what differs, or how many were good.
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";
import assert from "node:assert/strict";

const {wordsOf, matches} = await import(pathToFileURL(process.argv[2]));
const cases = JSON.parse(readFileSync(process.argv[3], "utf8"));
for (const one of cases) assert.deepEqual(wordsOf(one.text), one.words, one.text);

const old = new Date(Date.now() - 3 * 3600e3).toISOString();
const rows = [
  {name: "gpu-1", state: "free", unit: 2, since: old, dirty: false, tenant: null},
  {name: "gpu-10", state: "held", unit: 10, since: new Date().toISOString(), dirty: true, tenant: "acme"},
];
const columns = Object.keys(rows[0]).map((name) => ({name, value: (row) => row[name]}));
const wanted = {
  "": "gpu-1 gpu-10", "gpu-1": "gpu-1 gpu-10", "name=gpu-1": "gpu-1", "name=gpu*": "gpu-1 gpu-10", "name=gpu-1?": "gpu-10", "-state:fr": "gpu-10",
  "state:fr,hel": "gpu-1 gpu-10", "unit<10": "gpu-1", "unit>=10": "gpu-10", "unit=2": "gpu-1", "unit:x": "", "since>2h": "gpu-1", "since<2h": "gpu-10",
  "since<2020-01-01": "", "tenant=": "gpu-1", "-tenant=": "gpu-10", "dirty=yes": "gpu-10", "dirty:no": "gpu-1", "stat=free": "", "HELD": "gpu-10", "no:such": "",
  "tenant:": "gpu-1 gpu-10", "-acme": "gpu-1",
};
for (const [text, names] of Object.entries(wanted)) {
  assert.equal(rows.filter((row) => matches(text, row, columns)).map((row) => row.name).join(" "), names, text);
}
console.log(`${cases.length} filters read, ${Object.keys(wanted).length} tried`);
