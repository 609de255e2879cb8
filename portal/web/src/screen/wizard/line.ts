// The haasctl line that asks for the same as the draft.
import {quote} from "../../part/command";
import {linesOf, nicsOf, type Draft, type GroupDraft} from "./draft";

function parts(group: GroupDraft, draft: Draft): [string, string][] {
  return [
    ...(group.class ? [["class", group.class] as [string, string]] : []),
    ["nodes", String(group.count)],
    ["image", group.image || "IMAGE"],
    ...(group.disks ? [["disks", group.disks] as [string, string]] : []),
    ...(group.min_disk ? [["min-disk", group.min_disk.replace(/\s/g, "")] as [string, string]] : []),
    ...(group.disk_kind ? [["disk-kind", group.disk_kind] as [string, string]] : []),
    ...group.bonds.map((bond): [string, string] => ["bond", `${bond.name}=${bond.nics.join("+")}`]),
    ...(group.wired || group.bonds.length ? nicsOf(group, draft.networks) : []).map((one): [string, string] => ["nic", `${one.nic}:${one.network}${one.mode === "access" ? "" : `:${one.mode}`}`]),
  ];
}

/** One group is options of its own; of several each is one --group. */
function groups(draft: Draft): string[] {
  const [first] = draft.groups;
  if (draft.groups.length === 1 && first) return parts(first, draft).map(([name, value]) => `--${name} ${quote(value)}`);
  return draft.groups.map((group) => `--group ${quote(parts(group, draft).map(([name, value]) => `${name}=${value}`).join(","))}`);
}

function volume(one: Draft["volumes"][number]): string {
  if (one.kind === "there") return `name=${one.name}`;
  const from = one.kind === "archive" ? `archive=${one.archive}` : `size=${one.size.replace(/\s/g, "") || "SIZE"}`;
  return `${from}${one.name ? `,name=${one.name}` : ""}${one.keep ? "" : ",delete"}`;
}

export function lineOf(draft: Draft): string {
  const words = [
    quote(draft.name || "NAME"),
    ...(draft.tenant ? [`--tenant ${quote(draft.tenant)}`] : []),
    ...groups(draft),
    ...draft.networks.map((one) => `--network ${quote(one.name + (one.prefix ? `=${one.prefix}` : ""))}`),
    ...draft.volumes.map((one) => `--volume ${quote(volume(one))}`),
    ...(draft.spread === "near" ? [] : [`--spread ${draft.spread}`]),
    ...(draft.spare === "none" ? [] : [`--spare ${draft.spare}`]),
    ...(linesOf(draft.keys).length ? ["--ssh-key keys.pub"] : []),
    ...(draft.user_data ? ["--user-data user-data"] : []),
    ...draft.packages.map((one) => `--package ${quote(one)}`),
  ];
  return `haasctl pdci create ${words.join(" ")}`;
}
