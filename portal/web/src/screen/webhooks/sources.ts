// Webhooks, and what was sent to one.
import {read, readAll} from "../../api/client";
import {sourceOf} from "../../api/source";
import type {Delivery, Webhook} from "../../api/types";

const LOG = 200;

export const webhooks = () =>
  sourceOf<Webhook[]>("webhooks", () => ({load: () => readAll("/api/v1/webhooks", {}), touches: (event) => event.kind.startsWith("webhook."), every: () => 5000}));

export const deliveries = (webhook: number) =>
  sourceOf<Delivery[]>(`deliveries ${webhook}`, () => ({
    load: async () => (await read("/api/v1/webhooks/{webhook}/deliveries", {webhook}, {limit: LOG})).items,
    touches: (event) => event.kind.startsWith("webhook."),
    every: () => 3000,
  }));
