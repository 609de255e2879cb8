// Tenants, and what one has.
import {read, readAll} from "../../api/client";
import {sourceOf} from "../../api/source";
import type {Tenant} from "../../api/types";

export const tenants = () =>
  sourceOf<Tenant[]>("tenants", () => ({load: () => readAll("/api/v1/tenants", {}), touches: (event) => event.kind.startsWith("tenant."), every: () => 60000}));

export const tenant = (name: string) =>
  sourceOf(`tenant ${name}`, () => ({load: () => read("/api/v1/tenants/{tenant}", {tenant: name}), touches: (event) => event.tenant === name, every: () => 15000}));

export const siteLimits = () => sourceOf("limits of the site", () => ({load: () => read("/api/v1/limits"), touches: (event) => event.kind === "tenant.limited", every: () => 60000}));

export const limits = (name: string) =>
  sourceOf(`limits ${name}`, () => ({load: () => read("/api/v1/tenants/{tenant}/limits", {tenant: name}), touches: (event) => event.tenant === name, every: () => 15000}));
