// Complaints: their clock, what was done about them.
import {read, readAll} from "../../api/client";
import {sourceOf} from "../../api/source";

const touches = (event: {kind: string}) => event.kind.startsWith("case.") || event.kind.startsWith("capture.");

export const cases = (all: boolean) => sourceOf(`cases ${all}`, () => ({load: () => readAll("/api/v1/cases", {state: all ? "all" : "open"}), touches, every: () => 10000}));

export const oneCase = (id: number) => sourceOf(`case ${id}`, () => ({load: () => read("/api/v1/cases/{case}", {case: id}), touches, every: (value) => (value?.state === "open" ? 3000 : 30000)}));

export const report = (id: number) => sourceOf(`case report ${id}`, () => ({load: () => read("/api/v1/cases/{case}/report", {case: id}), touches, every: () => 30000}));

export function readCasesAgain(id?: number) {
  return Promise.all([cases(false).reload(), cases(true).reload(), ...(id ? [oneCase(id).reload(), report(id).reload()] : [])]).then(() => undefined);
}
