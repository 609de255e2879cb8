// Images, packages and archives as one list.
import {readAll} from "../../api/client";
import {sourceOf} from "../../api/source";
import type {Archive, Grant, Image, Package} from "../../api/types";

export type Kind = Grant["kind"];

/** One of the three, with what they share. */
export interface Thing {
  kind: Kind;
  /** As a grant names it. */
  name: string;
  tenant: string | null;
  open: boolean;
  state: string;
  size: number | null;
  stored: number | null;
  received: number | null;
  about: [string, string | null][];
  at: string | null;
  /** Of an image: what an edit is held against. */
  version?: number;
}

export interface Held {
  things: Thing[];
  grants: Grant[];
}

const ofImage = (one: Image): Thing => ({
  kind: "image", name: `${one.name}:${one.version}`, tenant: one.tenant, open: one.public, state: one.state, size: one.size_bytes, stored: one.stored_bytes, received: one.received_bytes, at: one.created_at, version: one.version_number,
  about: [["Firmware", one.firmware.join(", ")], ["Signed by", one.key_id], ["Digest", one.digest]],
});
const ofPackage = (one: Package): Thing => ({
  kind: "package", name: `${one.name}:${one.version}`, tenant: one.tenant, open: one.public, state: one.state, size: one.size_bytes, stored: one.size_bytes, received: one.received_bytes, at: one.created_at,
  about: [["Form", one.kind], ["Digest", one.digest]],
});
const ofArchive = (one: Archive): Thing => ({
  kind: "archive", name: one.name, tenant: one.tenant, open: false, state: one.state, size: one.size_bytes, stored: one.stored_bytes, received: null, at: one.created_at,
  about: [["Storage", one.storage]],
});

export const source = () =>
  sourceOf<Held>("images", () => ({
    load: async () => {
      const [images, packages, archives, grants] = await Promise.all([readAll("/api/v1/images", {}), readAll("/api/v1/packages", {}), readAll("/api/v1/archives", {}), readAll("/api/v1/grants", {})]);
      return {things: [...images.map(ofImage), ...packages.map(ofPackage), ...archives.map(ofArchive)], grants};
    },
    touches: (event) => /^(image|package|archive|grant)\./.test(event.kind),
    every: (value) => (value?.things.some((one) => one.state === "uploading") ? 2000 : 30000),
  }));
