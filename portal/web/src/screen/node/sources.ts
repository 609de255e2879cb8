// What the screen of one node asks for beyond the shared sources.
import {read} from "../../api/client";
import {ofNode} from "../../api/sources";
import type {EventPage, SelPage} from "../../api/types";

/** Pages of a list that grows at its newest end: the first is kept fresh, older ones are asked for. */
export const STORY_ROWS = 30;
export const LOG_ROWS = 25;

export const nodeDrives = (name: string) => ofNode("drives", name, () => read("/api/v1/nodes/{node}/drives", {node: name}), 60000);
export const nodeSeries = (name: string) => ofNode("series", name, () => read("/api/v1/nodes/{node}/sensors", {node: name}, {points: 144}), 60000);
export const nodeLog = (name: string) => ofNode("log", name, () => olderLog(name), 60000);
export const nodeStory = (name: string) => ofNode("story", name, () => olderStory(name));

export const olderLog = (name: string, cursor?: string): Promise<SelPage> => read("/api/v1/nodes/{node}/sel", {node: name}, {limit: LOG_ROWS, cursor});
export const olderStory = (name: string, cursor?: string): Promise<EventPage> => read("/api/v1/nodes/{node}/events", {node: name}, {order: "newest", limit: STORY_ROWS, cursor});
