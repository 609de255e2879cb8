// The picture with a rim around it, drawn once: while it is only moved, each frame puts it elsewhere. Past the rim, or when anything else changes, it is drawn anew.
import {draw, type Chosen, type Colours, type Overlay, type View} from "./draw";
import type {Layout} from "./layout";

/** Pixels that it may be moved before it is drawn again. */
const RIM = 240;

export interface Scene {
  layout: Layout;
  colours: Colours;
  overlay: Overlay | undefined;
  chosen: Chosen;
}

export interface Kept {
  canvas: HTMLCanvasElement;
  scene: Scene;
  view: View;
  unit: number;
  width: number;
  height: number;
}

/** Nobody moves it: straight to the canvas, without a rim. */
export function drawStill(ctx: CanvasRenderingContext2D, {layout, colours, overlay, chosen}: Scene, view: View) {
  draw(ctx, layout, view, colours, overlay, chosen);
}

/** How far it was moved, in pixels of the canvas; undefined: what is kept is another picture, or too small. */
function moved(kept: Kept | undefined, ctx: CanvasRenderingContext2D, scene: Scene, view: View): [number, number] | undefined {
  if (!kept || kept.unit !== devicePixelRatio || kept.width !== ctx.canvas.width || kept.height !== ctx.canvas.height) return undefined;
  if (kept.view.scale !== view.scale || kept.view.tall !== view.tall) return undefined;
  const was = kept.scene;
  if (was.layout !== scene.layout || was.colours !== scene.colours || was.overlay !== scene.overlay || was.chosen !== scene.chosen) return undefined;
  const rim = RIM * kept.unit;
  const [right, down] = [Math.round((view.x - kept.view.x) * view.scale * kept.unit), Math.round((view.y - kept.view.y) * view.tall * kept.unit)];
  return Math.abs(right) <= rim && Math.abs(down) <= rim ? [right, down] : undefined;
}

function keep(old: HTMLCanvasElement | undefined, ctx: CanvasRenderingContext2D, scene: Scene, view: View): Kept {
  const unit = devicePixelRatio;
  const rim = Math.round(RIM * unit);
  const {width, height} = ctx.canvas;
  const canvas = old ?? document.createElement("canvas");
  canvas.width = width + 2 * rim;
  canvas.height = height + 2 * rim;
  const around = canvas.getContext("2d");
  if (around) drawStill(around, scene, {...view, x: view.x - rim / unit / view.scale, y: view.y - rim / unit / view.tall});
  return {canvas, scene, view, unit, width, height};
}

/** Returns what is kept for the next frame. */
export function drawMoved(ctx: CanvasRenderingContext2D, old: Kept | undefined, scene: Scene, view: View): Kept {
  const there = moved(old, ctx, scene, view);
  const kept = there && old ? old : keep(old?.canvas, ctx, scene, view);
  const [right, down] = there ?? [0, 0];
  const rim = Math.round(RIM * kept.unit);
  ctx.setTransform(1, 0, 0, 1, 0, 0);
  ctx.clearRect(0, 0, kept.width, kept.height);
  ctx.drawImage(kept.canvas, right + rim, down + rim, kept.width, kept.height, 0, 0, kept.width, kept.height);
  return kept;
}
