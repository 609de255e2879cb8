// What can be chosen: classes with free nodes, images, packages, volumes, archives, networks, and what the tenant may have.
import {read, readAll} from "../../api/client";
import {sourceOf} from "../../api/source";

export const classes = (tenant: string) =>
  sourceOf(`classes ${tenant}`, () => ({
    load: () => read("/api/v1/classes", {}, {tenant: tenant || undefined}),
    touches: (event) => event.kind === "node.state" || event.subject_kind === "pdci",
  }));

export const limits = (tenant: string) =>
  sourceOf(`limits to ask within ${tenant}`, () => ({
    load: async () => (tenant ? (await read("/api/v1/tenants/{tenant}/limits", {tenant})).items : []),
    touches: (event) => event.subject_kind === "pdci" || event.subject_kind === "tenant",
  }));

export const images = () => sourceOf("images to choose", () => ({load: () => readAll("/api/v1/images", {}), touches: (event) => event.kind.startsWith("image.")}));
export const packages = () => sourceOf("packages to choose", () => ({load: () => readAll("/api/v1/packages", {}), touches: (event) => event.kind.startsWith("package.")}));
export const archives = (tenant: string) => sourceOf(`archives to choose ${tenant}`, () => ({load: () => readAll("/api/v1/archives", {tenant: tenant || undefined}), touches: (event) => event.kind.startsWith("archive.")}));
export const volumes = (tenant: string) =>
  sourceOf(`volumes to choose ${tenant}`, () => ({load: () => readAll("/api/v1/volumes", {tenant: tenant || undefined}), touches: (event) => event.kind.startsWith("volume.")}));
export const networks = (tenant: string) =>
  sourceOf(`networks there ${tenant}`, () => ({load: () => readAll("/api/v1/networks", {tenant: tenant || undefined}), touches: (event) => event.subject_kind === "network"}));
export const tenants = () => sourceOf("tenants to choose", () => ({load: () => readAll("/api/v1/tenants", {}), touches: (event) => event.subject_kind === "tenant"}));
