// The picture on a canvas. How near one is decides what is drawn: pods, then switches, then leaves with their nodes. One stroke for each link: one path with all
// of them is ten times slower.
import {paint, thin} from "../../part/paint";
import {BOX, LEAF, SEAT, type Cable, type Layout, type Seat, type Spot} from "./layout";
import type {TopologySwitch} from "../../api/types";

/** Where one looks: the world's point in the corner, and pixels to a unit. A wide fabric seen from afar is stretched, so that its tiers stay apart. */
export interface View {
  x: number;
  y: number;
  scale: number;
  tall: number;
}

/** Pixels to a unit upwards, at a scale. */
export function tallOf(layout: Layout, scale: number, height: number): number {
  return Math.max(scale, Math.min(0.9, (height - 76) / layout.height));
}

export interface Overlay {
  /** Links of one tenant; all else is dimmed. */
  links: Set<number>;
  tenant: string;
  hue: string;
  /** Of a path: its nodes, and SWITCH:PORT of its cables. Without them all nodes of the tenant are its own. */
  nodes?: Set<string>;
  ports?: Set<string>;
}

export interface Chosen {
  link?: number | undefined;
  switch?: string | undefined;
  node?: string | undefined;
}

export type Level = "pods" | "switches" | "nodes";

export const NEAR = {switches: 0.16, labels: 0.5, halves: 0.5, nodes: 0.9};

export function levelOf(scale: number): Level {
  return scale < NEAR.switches ? "pods" : scale < NEAR.nodes ? "switches" : "nodes";
}

const STEPS = 10;

export interface Colours {
  /** Load in tenths; the first is nothing, the last is full. */
  ramp: string[];
  unknown: string;
  text: string;
  quiet: string;
  panel: string;
  line: string;
  edge: string;
  work: string;
  wait: string;
  fail: string;
  /** Of nodes that are another's than the overlay's. */
  dim: string;
  hues: Record<string, string>;
}

function parts(colour: string): number[] {
  return (colour.match(/[\d.]+/g) ?? ["0", "0", "0"]).slice(0, 3).map(Number);
}

function between(from: string, to: string, share: number): string {
  const [a, b] = [parts(from), parts(to)];
  return `rgb(${a.map((value, at) => Math.round(value + (b[at]! - value) * share)).join(", ")})`;
}

export const HUES = ["hue1", "hue2", "hue3", "hue4", "hue5", "hue6"];

/** From the quiet of a line over work to failed. */
export function coloursOf(): Colours {
  const [none, work, fail] = [paint("edge"), paint("work"), paint("fail")];
  const ramp = Array.from({length: STEPS + 1}, (_, at) => (at < 5 ? between(none, work, at / 5) : between(work, fail, (at - 5) / 5)));
  return {
    ramp, unknown: paint("line"), text: paint("text"), quiet: paint("quiet"), panel: paint("panel"), line: paint("line"), edge: paint("edge"),
    work, wait: paint("wait"), fail, dim: thin("edge", 0.2), hues: Object.fromEntries(HUES.map((name) => [name, paint(name)])),
  };
}

export function rampAt(colours: Colours, load: number): string {
  return load < 0 ? colours.unknown : colours.ramp[Math.min(STEPS, Math.round((load / 100) * STEPS))]!;
}

/** 1 to 6 pixels: each fourfold of 1 Gbit/s is one more. */
export function widthOf(speed: number | null): number {
  return speed ? Math.max(1, Math.min(6, 1 + Math.log(speed / 1e9) / Math.log(4))) : 1;
}

interface Sheet {
  ctx: CanvasRenderingContext2D;
  layout: Layout;
  view: View;
  colours: Colours;
  overlay?: Overlay | undefined;
  chosen: Chosen;
  width: number;
  height: number;
}

function inSight({view, width, height}: Sheet, x0: number, y0: number, x1: number, y1: number): boolean {
  return x1 >= view.x && y1 >= view.y && x0 <= view.x + width / view.scale && y0 <= view.y + height / view.tall;
}

function drawCable(sheet: Sheet, cable: Cable, thick: number) {
  const {ctx, view, colours, overlay, chosen} = sheet;
  const {a, b, of, shift} = cable;
  const [ax, bx] = [(a.x + shift - view.x) * view.scale, (b.x + shift - view.x) * view.scale];
  const [ay, by] = [(a.y - view.y) * view.tall, (b.y - view.y) * view.tall];
  const mine = overlay?.links.has(of.id);
  const width = Math.max(0.5, widthOf(of.speed_bps) * thick) + (chosen.link === of.id ? 2 : 0);
  ctx.lineWidth = width;
  ctx.globalAlpha = overlay && !mine ? 0.12 : 1;
  if (!of.up) {
    ctx.setLineDash([4, 4]);
    ctx.strokeStyle = colours.fail;
  } else if (mine) {
    ctx.strokeStyle = colours.hues[overlay!.hue]!;
  } else if (chosen.link === of.id) {
    ctx.strokeStyle = colours.text;
  } else if (view.scale >= NEAR.halves && of.forward && of.back) {
    // each direction is the half at the end that it leaves
    const [mx, my] = [(ax + bx) / 2, (ay + by) / 2];
    ctx.strokeStyle = rampAt(colours, of.forward.percent ?? -1);
    ctx.beginPath();
    ctx.moveTo(ax, ay);
    ctx.lineTo(mx, my);
    ctx.stroke();
    ctx.strokeStyle = rampAt(colours, of.back.percent ?? -1);
    ctx.beginPath();
    ctx.moveTo(mx, my);
    ctx.lineTo(bx, by);
    ctx.stroke();
    return;
  } else {
    ctx.strokeStyle = rampAt(colours, cable.load);
  }
  ctx.beginPath();
  ctx.moveTo(ax, ay);
  ctx.lineTo(bx, by);
  ctx.stroke();
  if (!of.up) ctx.setLineDash([]);
}

function drawCables(sheet: Sheet) {
  const thick = Math.max(0.3, Math.min(1, sheet.view.scale * 1.6));
  const last: Cable[] = []; // what shall be seen is drawn over the rest
  for (const cable of sheet.layout.cables) {
    const {a, b} = cable;
    if (!inSight(sheet, Math.min(a.x, b.x) - 8, Math.min(a.y, b.y), Math.max(a.x, b.x) + 8, Math.max(a.y, b.y))) continue;
    if (sheet.overlay?.links.has(cable.of.id) || cable.of.id === sheet.chosen.link || cable.load >= 70) last.push(cable);
    else drawCable(sheet, cable, thick);
  }
  for (const cable of last) drawCable(sheet, cable, thick);
  sheet.ctx.globalAlpha = 1;
}

function drawPods(sheet: Sheet) {
  const {ctx, layout, view, colours} = sheet;
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (const pod of layout.pods) {
    const [x, width] = [(pod.x - view.x) * view.scale, pod.width * view.scale];
    if (x + width < 0 || x > sheet.width || width < 28) continue;
    const y = (layout.height - view.y) * view.tall + 10;
    ctx.fillStyle = colours.quiet;
    ctx.font = "12px system-ui, sans-serif";
    ctx.fillText(pod.name, x + width / 2, y);
    if (width > 76) ctx.fillText(`${pod.leaves} leaves, ${pod.nodes} nodes`, x + width / 2, y + 16);
  }
}

function drawSwitch(sheet: Sheet, spot: Spot<TopologySwitch>, mine: boolean) {
  const {ctx, view, colours, overlay, chosen} = sheet;
  const scale = view.scale;
  const [x, y] = [(spot.x - view.x) * scale, (spot.y - view.y) * view.tall];
  const [width, height] = [Math.max(3, BOX.width * scale), Math.max(3, BOX.height * scale)];
  ctx.globalAlpha = overlay && !mine ? 0.25 : 1;
  ctx.fillStyle = colours.panel;
  ctx.fillRect(x - width / 2, y - height / 2, width, height);
  const silent = spot.of.state === "silent";
  ctx.strokeStyle = chosen.switch === spot.of.name ? colours.work : silent ? colours.wait : mine ? colours.hues[overlay!.hue]! : colours.edge;
  ctx.lineWidth = chosen.switch === spot.of.name ? 3 : mine ? 2 : 1;
  if (silent) ctx.setLineDash([3, 2]);
  ctx.strokeRect(x - width / 2, y - height / 2, width, height);
  if (silent) ctx.setLineDash([]);
  if (scale >= NEAR.labels) {
    ctx.fillStyle = colours.text;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.font = `${Math.min(13, 11 * Math.max(0.9, scale))}px ui-monospace, "DejaVu Sans Mono", monospace`;
    ctx.fillText(spot.of.name, x, y + 0.5, width - 4);
  }
}

function drawSwitches(sheet: Sheet) {
  const {layout, overlay} = sheet;
  const mine = new Set<string>();
  if (overlay) for (const cable of layout.cables) if (overlay.links.has(cable.of.id)) mine.add(cable.of.a_switch).add(cable.of.b_switch);
  for (const spot of layout.switches.values()) {
    if (!inSight(sheet, spot.x - LEAF / 2, spot.y - BOX.height, spot.x + LEAF / 2, spot.y + BOX.height)) continue;
    drawSwitch(sheet, spot, mine.has(spot.of.name));
  }
  sheet.ctx.globalAlpha = 1;
}

/** NICs of the nodes of a leaf that one looks at, or of a node that is chosen. */
function drawNics(sheet: Sheet, seat: Seat) {
  const {ctx, view, colours, chosen, overlay} = sheet;
  for (const {of, leaf} of seat.nics) {
    if (chosen.node !== seat.node && chosen.switch !== of.switch && !overlay?.ports?.has(`${of.switch}:${of.port}`)) continue;
    ctx.strokeStyle = !of.up ? colours.fail : of.found ? colours.work : colours.edge;
    ctx.lineWidth = 1;
    if (!of.found) ctx.setLineDash([3, 3]);
    ctx.beginPath();
    ctx.moveTo((seat.x - view.x) * view.scale, (seat.y - view.y) * view.tall);
    ctx.lineTo((leaf.x - view.x) * view.scale, (leaf.y - view.y) * view.tall + (BOX.height / 2) * view.scale);
    ctx.stroke();
    if (!of.found) ctx.setLineDash([]);
  }
}

function drawSeats(sheet: Sheet) {
  const {ctx, layout, view, colours, overlay, chosen} = sheet;
  const scale = view.scale;
  const [width, height] = [Math.max(1, SEAT.width * scale), Math.max(1, SEAT.height * view.tall)];
  const label = scale >= 3;
  for (const seat of layout.seats.values()) {
    const x = (seat.x - view.x) * scale - width / 2;
    const y = (seat.y - view.y) * view.tall;
    if (x + width < 0 || x > sheet.width || y + height < 0 || y > sheet.height) continue;
    const mine = overlay && (overlay.nodes ? overlay.nodes.has(seat.node) : seat.tenant === overlay.tenant);
    if (scale >= NEAR.switches || chosen.node === seat.node || overlay?.nodes?.has(seat.node)) drawNics(sheet, seat);
    ctx.fillStyle = chosen.node === seat.node ? colours.work : overlay ? (mine ? colours.hues[overlay.hue]! : colours.dim) : seat.nics.some((one) => !one.of.up) ? colours.fail : colours.edge;
    ctx.fillRect(x, y, width, height);
    if (!label) continue;
    ctx.fillStyle = colours.panel;
    ctx.font = "10px ui-monospace, monospace";
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillText(seat.node, x + width / 2, y + height / 2, width - 4);
  }
}

export function draw(ctx: CanvasRenderingContext2D, layout: Layout, view: View, colours: Colours, overlay: Overlay | undefined, chosen: Chosen) {
  const unit = devicePixelRatio;
  const [width, height] = [ctx.canvas.width / unit, ctx.canvas.height / unit];
  const sheet: Sheet = {ctx, layout, view, colours, overlay, chosen, width, height};
  ctx.setTransform(unit, 0, 0, unit, 0, 0);
  ctx.clearRect(0, 0, width, height);
  drawCables(sheet);
  drawSeats(sheet);
  drawSwitches(sheet);
  if (levelOf(view.scale) !== "nodes" || layout.pods.length > 1) drawPods(sheet);
}

/** All of it, as large as it fits. */
export function fit(layout: Layout, width: number, height: number): View {
  const scale = Math.max(0.005, Math.min(1.6, (width - 32) / (layout.width + LEAF), (height - 76) / layout.height));
  const tall = tallOf(layout, scale, height);
  return {scale, tall, x: layout.width / 2 - width / 2 / scale, y: layout.height / 2 - (height - 20) / 2 / tall};
}

/** Nearer or farther, with the point under the pointer where it is. */
export function zoom(layout: Layout, view: View, by: number, px: number, py: number, height: number): View {
  const scale = Math.max(0.005, Math.min(6, view.scale * by));
  const tall = tallOf(layout, scale, height);
  return {scale, tall, x: view.x + px / view.scale - px / scale, y: view.y + py / view.tall - py / tall};
}

/** With a thing in the middle, near enough to read it. */
export function lookAt(layout: Layout, view: View, x: number, y: number, width: number, height: number): View {
  const scale = Math.max(view.scale, NEAR.labels);
  const tall = tallOf(layout, scale, height);
  return {scale, tall, x: x - width / 2 / scale, y: y - height / 2 / tall};
}

/** What is under a point of the canvas: a switch before a node before a link. */
export function under(layout: Layout, view: View, px: number, py: number): Chosen {
  const left = (x: number) => (x - view.x) * view.scale;
  const top = (y: number) => (y - view.y) * view.tall;
  for (const spot of layout.switches.values())
    if (Math.abs(px - left(spot.x)) <= (BOX.width / 2) * view.scale + 3 && Math.abs(py - top(spot.y)) <= (BOX.height / 2) * view.scale + 3) return {switch: spot.of.name};
  for (const seat of layout.seats.values()) {
    const down = py - top(seat.y);
    if (Math.abs(px - left(seat.x)) <= Math.max(2, (SEAT.width / 2) * view.scale) && down >= 0 && down <= Math.max(3, SEAT.height * view.tall)) return {node: seat.node};
  }
  let nearest: Cable | undefined;
  let least = 7;
  for (const cable of layout.cables) {
    const [ax, ay] = [left(cable.a.x + cable.shift), top(cable.a.y)];
    const [dx, dy] = [left(cable.b.x + cable.shift) - ax, top(cable.b.y) - ay];
    const share = Math.max(0, Math.min(1, ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy || 1)));
    const far = Math.hypot(px - ax - share * dx, py - ay - share * dy);
    if (far >= least) continue;
    least = far;
    nearest = cable;
  }
  return nearest ? {link: nearest.of.id} : {};
}
